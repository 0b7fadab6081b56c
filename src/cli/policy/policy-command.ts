// `trustrank policy show | set FILE | vouch | unvouch`: the policy of a tenant. Works on the files when no server holds
// them; otherwise the server activates a new policy at once.
import type { Policy, Vouching } from "../../contract/policy.ts";
import { CommandFailure } from "../../service/failure.ts";
import { type DataAccess, runOnFilesOrServer } from "../data-access.ts";
import { printNote, print, printJson, printTable, type OutputFlags } from "../output.ts";
import { readFile } from "node:fs/promises";
import { TenantPolicies } from "../../bureau/policies.ts";
import { ServiceFault } from "../../contract/faults.ts";
import { parsePolicy } from "../../contract/parse/policy.ts";
import type { PolicyDocument } from "../../contract/schemas/policy.ts";
import { TOOL_LEVELS } from "../../contract/vocabulary.ts";
import { OPERATOR_CALL } from "../../service/import/local-sink.ts";
import { withCoreOnFiles } from "../file-core.ts";

export interface PolicyFlags extends OutputFlags {
  readonly tenant: string;
}

/** Prints the policy in force. */
export async function showPolicy(access: DataAccess, flags: PolicyFlags): Promise<void> {
  printPolicy(await readActivePolicy(access, flags.tenant), flags);
}

/** The policy in force for a tenant. */
function readActivePolicy(access: DataAccess, tenant: string): Promise<PolicyDocument> {
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
async function activatePolicy(
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

function withPoliciesOnFiles<T>(
  dataDir: string,
  run: (policies: TenantPolicies) => T | Promise<T>,
): Promise<T> {
  const onPolicy = () => undefined;
  return withCoreOnFiles(dataDir, ({ ledger: log, policies: book }) =>
    run(new TenantPolicies({ log, book, onPolicy, clock: Date.now })),
  );
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
const OPTIONAL_RULES = ["audit_one_in", "audit_max_stakes", "broken_evidence"] as const;

function printPolicy(shown: PolicyDocument, { json }: PolicyFlags): void {
  if (json === true) return printJson(shown);
  const { tenant, version, set_by: setBy, set_at: setAt, policy } = shown;
  const origin = setAt === null ? "as shipped" : `set by ${setBy} at ${setAt}`;
  printNote(`policy ${version} of ${tenant}, ${origin}`);
  const { levels } = policy;
  const given = OPTIONAL_RULES.filter((rule) => TOOL_LEVELS.some((name) => rule in levels[name]));
  const rows = [...COLUMNS, ...given].map((rule) => [
    rule,
    ...TOOL_LEVELS.map((level) => String(levels[level][rule] ?? "")),
  ]);
  const { minimum_scores_in_force: minimums } = shown;
  const thresholds = TOOL_LEVELS.map((level) => String(minimums[level].internal_score));
  printTable(["rule", ...TOOL_LEVELS], [...rows, ["threshold_met from", ...thresholds]]);
  printAmounts(shown);
  if (policy.vouched === undefined) return;
  print("");
  const words = policy.vouched.map((each) => {
    return [each.namespace, each.up_to, each.max_stakes, each.until];
  });
  printTable(["vouched for", "up to", "stakes", "until"], words);
}

/** The amounts that decide, by who asks. */
function printAmounts({
  stakes_in_force: { unit, is_set: isSet, ...terms },
}: PolicyDocument): void {
  print("");
  if (!isSet) {
    printNote(
      `stakes.review_cost is not set: a person's look counts for ${terms.connect.review_cost}, ` +
        `stakes are taken as units of account`,
    );
  }
  if (unit !== 1) printNote(`amounts in the tenant's unit, worth ${unit} units of account each`);
  const members = Object.keys(terms.connect) as (keyof typeof terms.connect)[];
  const rows = members.map((member) => [
    member,
    ...[terms.connect, terms.L2, terms.L3].map((each) => String(each[member])),
  ]);
  printTable(["amount", "check", "L2", "L3"], rows);
}

const DATE = /^\d{4}-\d\d-\d\d$/;

interface VouchFlags extends PolicyFlags {
  /** A date (its first moment, UTC) or an RFC 3339 date-time. */
  readonly until: string;
  readonly upTo?: Vouching["up_to"];
  readonly maxStakes?: string;
}

/**
 * Vouches for a namespace; an entry that it had is replaced, and those that have expired go.
 * @throws CommandFailure when the namespace or the time is not one.
 */
export async function vouch(
  access: DataAccess,
  namespace: string,
  flags: VouchFlags,
): Promise<void> {
  const until = DATE.test(flags.until) ? `${flags.until}T00:00:00Z` : flags.until;
  const { upTo, maxStakes } = flags;
  const given = {
    namespace,
    until,
    ...(upTo === undefined ? {} : { up_to: upTo }),
    ...(maxStakes === undefined ? {} : { max_stakes: Number(maxStakes) }),
  };
  const { policy } = await readActivePolicy(access, flags.tenant);
  const others = dropExpiredVouchings(policy).filter((each) => each.namespace !== namespace);
  const document = { ...policy, vouched: [given, ...others] };
  await activatePolicy(access, document, "the policy with this word", flags);
}

/**
 * Takes the word back.
 * @throws CommandFailure when the policy does not vouch for the namespace.
 */
export async function unvouch(
  access: DataAccess,
  namespace: string,
  flags: PolicyFlags,
): Promise<void> {
  const { policy } = await readActivePolicy(access, flags.tenant);
  const { vouched = [] } = policy;
  if (!vouched.some((each) => each.namespace === namespace)) {
    throw new CommandFailure(`the policy of ${flags.tenant} does not vouch for ${namespace}`);
  }
  const others = dropExpiredVouchings(policy).filter((each) => each.namespace !== namespace);
  const document = { ...policy, vouched: others };
  await activatePolicy(access, document, "the policy without this word", flags);
}

function dropExpiredVouchings({ vouched = [] }: Policy): Vouching[] {
  return vouched.filter(({ namespace, until }) => {
    const isInForce = Date.parse(until) > Date.now();
    if (!isInForce) printNote(`the word for ${namespace} expired at ${until}: left out`);
    return isInForce;
  });
}
