// `trustrank policy show | set FILE`: the policy of a tenant, and what the other commands on it share.
// Works on the files when no server holds them; otherwise the server puts a new policy in force at
// once.
import { readFile } from "node:fs/promises";
import { readEnvironment } from "../environment.ts";
import { TenantPolicies } from "../../bureau/policies.ts";
import { ServiceFault } from "../../contract/faults.ts";
import { parsePolicy } from "../../contract/parse/policy.ts";
import type { Policy } from "../../contract/policy.ts";
import type { PolicyDocument } from "../../contract/schemas/policy.ts";
import { TOOL_LEVELS } from "../../contract/vocabulary.ts";
import { createCommandLog } from "../logging/command-log.ts";
import { parseTableBytesMax } from "../../service/settings/config.ts";
import { openServiceCore } from "../../service/core.ts";
import { CommandFailure } from "../../service/failure.ts";
import { OPERATOR_CALL } from "../../service/import/bureau-sink.ts";
import type { DataAccess } from "../data-access.ts";
import { runOnFilesOrServer } from "../data-access.ts";
import { formatTable, printNote, print, printJson } from "../output.ts";

export interface PolicyFlags {
  readonly tenant: string;
  readonly json?: boolean;
}

/** Prints the policy in force. */
export async function showPolicy(access: DataAccess, flags: PolicyFlags): Promise<void> {
  printPolicy(await readActivePolicy(access, flags.tenant), flags);
}

/** The policy in force for a tenant. */
export function readActivePolicy(access: DataAccess, tenant: string): Promise<PolicyDocument> {
  return runOnFilesOrServer<PolicyDocument>(
    access,
    (dataDir) => withPoliciesOnFiles(dataDir, (policies) => policies.describePolicy(tenant)),
    (client) => client.sendJson("GET", buildPolicyRoute(tenant)),
  );
}

/**
 * Sets the policy in the file, and prints what is in force now.
 * @throws CommandFailure naming every member of the file that is wrong.
 */
export async function setPolicy(
  access: DataAccess,
  path: string,
  flags: PolicyFlags,
): Promise<void> {
  await activatePolicy(access, await readDocument(path), path, flags);
}

/**
 * Sets a policy, and prints what is in force now; `origin` names it in a failure.
 * @throws CommandFailure naming every member that is refused.
 */
export async function activatePolicy(
  access: DataAccess,
  document: unknown,
  origin: string,
  flags: PolicyFlags,
): Promise<void> {
  const { tenant } = flags;
  const set = await rethrowPolicyErrors(origin, () => {
    const policy = parsePolicy(document);
    return runOnFilesOrServer<PolicyDocument>(
      access,
      (dataDir) =>
        withPoliciesOnFiles(dataDir, (policies) =>
          policies.setPolicy(tenant, policy, OPERATOR_CALL.principal),
        ),
      (client) => client.sendJson("PUT", buildPolicyRoute(tenant), policy),
    );
  });
  printPolicy(set, flags);
}

function buildPolicyRoute(tenant: string): string {
  return `/v1/policy?tenant=${encodeURIComponent(tenant)}`;
}

/**
 * The policy in a file.
 * @throws CommandFailure naming every member that is wrong.
 */
export async function readPolicy(path: string): Promise<Policy> {
  const document = await readDocument(path);
  return rethrowPolicyErrors(path, async () => parsePolicy(document));
}

async function readDocument(path: string): Promise<unknown> {
  try {
    return JSON.parse(await readFile(path, "utf8"));
  } catch (error) {
    throw new CommandFailure(`${path}: ${(error as Error).message}`);
  }
}

async function rethrowPolicyErrors<T>(origin: string, run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (error) {
    if (!(error instanceof ServiceFault) || error.code !== "invalid_request") throw error;
    const lines = error.errors.map(({ pointer, detail }) => `  ${pointer || "/"}: ${detail}`);
    throw new CommandFailure(`${origin} is not a policy:\n${lines.join("\n")}`);
  }
}

async function withPoliciesOnFiles<T>(
  dataDir: string,
  run: (policies: TenantPolicies) => T,
): Promise<Awaited<T>> {
  const log = createCommandLog();
  let isBroken = false;
  const {
    ledger,
    policies: book,
    sources,
  } = await openServiceCore({
    dataDir,
    isReservedEnabled: false,
    tableBytesMax: parseTableBytesMax(readEnvironment()),
    onFatal: () => (isBroken = true),
    log,
  });
  try {
    const onPolicy = () => undefined;
    const result = await run(new TenantPolicies({ log: ledger, book, onPolicy, clock: Date.now }));
    if (isBroken) throw new CommandFailure("the journal could not be written");
    return result;
  } finally {
    await sources.close();
    await ledger.close();
  }
}

const COLUMNS = [
  "allow_up_to",
  "allow_handshake_up_to",
  "flag_above",
  "thin",
  "enforce",
  "deny_from",
  "minimum_score",
  "counts_stakes",
  "require_verified_sources",
  "shadow",
] as const;
/** Shown where a level has them. */
const AUDITS = ["audit_one_in", "audit_max_stakes"] as const;

function printPolicy(shown: PolicyDocument, { json }: PolicyFlags): void {
  if (json === true) {
    printJson(shown);
    return;
  }
  const { tenant, version, set_by: setBy, set_at: setAt, policy } = shown;
  const origin = setAt === null ? "as shipped" : `set by ${setBy} at ${setAt}`;
  printNote(`policy ${version} of ${tenant}, ${origin}`);
  const { levels } = policy;
  const audits = AUDITS.filter((rule) => TOOL_LEVELS.some((name) => rule in levels[name]));
  const rows = [...COLUMNS, ...audits].map((rule) => [
    rule,
    ...TOOL_LEVELS.map((level) => String(levels[level][rule] ?? "")),
  ]);
  for (const line of formatTable(["rule", ...TOOL_LEVELS], rows)) print(line);
  if (policy.vouched === undefined) return;
  print("");
  const words = policy.vouched.map((each) => {
    return [each.namespace, each.up_to, each.max_stakes, each.until];
  });
  for (const line of formatTable(["vouched for", "up to", "stakes", "until"], words)) print(line);
}
