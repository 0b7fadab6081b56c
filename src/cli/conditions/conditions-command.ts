// `trustrank conditions set | clear | list | import` and `trustrank stop`: an operator's word on agents and
// namespaces, and the stop for all agents. Works on the files when no server holds them; otherwise the server takes
// it, at once.
import { readFileSync } from "node:fs";
import { Conditions } from "../../bureau/conditions.ts";
import type { ConditionScope } from "../../contract/conditions/events.ts";
import { isNamespacePattern } from "../../contract/identifiers.ts";
import { parseConditionBatch, parseStop } from "../../contract/parse/conditions.ts";
import { parseConditionRows } from "../../contract/parse/condition-rows.ts";
import type { Principal } from "../../contract/principal.ts";
import type {
  AgentCondition,
  ConditionList,
  StopDescription,
} from "../../contract/schemas/conditions.ts";
import { CommandFailure, EXIT_USAGE } from "../../service/failure.ts";
import { OPERATOR_CALL } from "../../service/import/local-sink.ts";
import { type DataAccess, runOnFilesOrServer } from "../data-access.ts";
import { withCoreOnFiles } from "../file-core.ts";
import { print, printJson, printNote, printTable, type OutputFlags } from "../output.ts";

interface OwnerFlags extends OutputFlags {
  readonly bureau?: boolean;
  readonly tenant?: string;
}

interface WordFlags extends OwnerFlags {
  readonly reason: string;
  readonly text?: string;
  readonly case?: string;
  /** Epoch ms. */
  readonly until?: number;
}

interface SetFlags extends WordFlags {
  readonly levels?: string;
  readonly maxStakes?: string;
}

interface ListFlags extends OutputFlags {
  readonly state?: string;
  readonly agent?: string;
  readonly limit?: number;
  readonly after?: string;
}

const COLUMNS = ["subject", "state", "of", "levels", "until", "reason", "case"];
const PAGE_ROWS_MAX = 1000;

/** Suspends, watches or clears an agent or a namespace. */
export async function setCondition(
  access: DataAccess,
  subject: string,
  state: string,
  flags: SetFlags,
): Promise<void> {
  const { levels, maxStakes } = flags;
  const body = {
    state,
    ...buildWord(flags),
    levels: levels?.split(","),
    max_stakes: maxStakes === undefined ? undefined : Number(maxStakes),
  };
  const set = await runOnFilesOrServer<AgentCondition>(
    access,
    (dataDir) =>
      withConditionsOnFiles(dataDir, async (conditions) => {
        const orders = parseConditionBatch({ conditions: [{ subject, ...body }] }, Date.now());
        const [order] = orders;
        return conditions.set(subject, order!, buildPrincipal(flags));
      }),
    (client) => client.sendJson("PUT", buildRoute(subject, flags), body),
  );
  printCondition(set, flags);
}

/** Lifts a condition. */
export async function clearCondition(
  access: DataAccess,
  subject: string,
  flags: OwnerFlags,
): Promise<void> {
  const lifted = await runOnFilesOrServer<AgentCondition>(
    access,
    (dataDir) =>
      withConditionsOnFiles(dataDir, (conditions) =>
        conditions.lift(subject, selectScope(flags), buildPrincipal(flags)),
      ),
    (client) => client.sendJson("DELETE", buildRoute(subject, flags)),
  );
  if (flags.json === true) printJson(lifted);
  else print(`${lifted.subject} is no longer ${formatState(lifted.state)}`);
}

/** Conditions in force, by subject. */
export async function listConditions(access: DataAccess, flags: ListFlags): Promise<void> {
  const { json, state, agent, limit = PAGE_ROWS_MAX, after } = flags;
  const query = new URLSearchParams({ limit: String(limit) });
  for (const [name, value] of Object.entries({ state, agent, after })) {
    if (value !== undefined) query.set(name, value);
  }
  const page = await runOnFilesOrServer<Pick<ConditionList, "conditions" | "next">>(
    access,
    (dataDir) =>
      withConditionsOnFiles(dataDir, async (conditions) => {
        const { principal } = OPERATOR_CALL;
        const all =
          agent === undefined
            ? conditions.list(principal)
            : conditions.listCovering(agent, principal);
        const found = all.filter((each) => state === undefined || each.state === state);
        return { conditions: found.slice(0, limit), next: null };
      }),
    (client) => client.sendJson("GET", `/v1/conditions?${query.toString()}`),
  );
  if (json === true) return printJson(page);
  printTable(COLUMNS, page.conditions.map(formatConditionCells));
  if (page.next !== null) printNote(`more: --after ${page.next}`);
}

/** Sets the conditions of a JSON or CSV file, up to 1,000. */
export async function importConditions(
  access: DataAccess,
  file: string,
  flags: OwnerFlags,
): Promise<void> {
  const text = readFileSync(file, "utf8");
  const rows = parseConditionRows(text);
  const scope = selectScope(flags);
  const body = { conditions: rows.map((row) => ({ scope, ...row })) };
  const { set } = await runOnFilesOrServer<{ set: number }>(
    access,
    (dataDir) =>
      withConditionsOnFiles(dataDir, async (conditions) => {
        const orders = parseConditionBatch(body, Date.now());
        await conditions.setAll(orders, buildPrincipal(flags));
        return { set: orders.length };
      }),
    (client) => client.sendJson("POST", `/v1/conditions${buildQuery(flags)}`, body),
  );
  if (flags.json === true) printJson({ set });
  else print(`${set} conditions are set`);
}

/** Stops all agents above a level, or with `lift` lifts the stop, or with neither reason nor lift shows it. */
export async function stopAgents(
  access: DataAccess,
  flags: Partial<WordFlags> & { readonly above?: string; readonly lift?: boolean },
): Promise<void> {
  const { above, lift, reason } = flags;
  if (lift === true) return liftStop(access, flags);
  if (reason === undefined) {
    throw new CommandFailure("name why, with --reason, or --lift", EXIT_USAGE);
  }
  const body = { ...buildWord({ ...flags, reason }), above };
  const stopped = await runOnFilesOrServer<StopDescription>(
    access,
    (dataDir) =>
      withConditionsOnFiles(dataDir, (conditions) =>
        conditions.stop(parseStop(body, Date.now()), buildPrincipal(flags)),
      ),
    (client) => client.sendJson("PUT", `/v1/stop${buildQuery(flags)}`, body),
  );
  if (flags.json === true) return printJson(stopped);
  const held = stopped.above === null ? "all agents are" : `all agents above ${stopped.above} are`;
  print(`${held} stopped (${stopped.reason.code}) until ${stopped.until ?? "the stop is lifted"}`);
}

async function liftStop(access: DataAccess, flags: OwnerFlags): Promise<void> {
  const lifted = await runOnFilesOrServer<StopDescription>(
    access,
    (dataDir) =>
      withConditionsOnFiles(dataDir, (conditions) =>
        conditions.liftStop(selectScope(flags), buildPrincipal(flags)),
      ),
    (client) => client.sendJson("DELETE", `/v1/stop${buildQuery(flags)}`),
  );
  if (flags.json === true) printJson(lifted);
  else print("the stop is lifted");
}

function buildWord({ reason, text, case: of, until, ...flags }: WordFlags) {
  return { scope: selectScope(flags), reason: { code: reason, text }, case: of, until };
}

function selectScope({ bureau }: OwnerFlags): ConditionScope {
  return bureau === true ? "bureau" : "tenant";
}

function buildPrincipal({ tenant }: OwnerFlags): Principal {
  const { principal } = OPERATOR_CALL;
  return tenant === undefined ? principal : { ...principal, tenant };
}

function buildQuery(flags: OwnerFlags): string {
  const query = new URLSearchParams();
  if (flags.tenant !== undefined) query.set("tenant", flags.tenant);
  return query.size === 0 ? "" : `?${query.toString()}`;
}

function buildRoute(subject: string, flags: OwnerFlags): string {
  const isNamespace = isNamespacePattern(subject);
  const name = isNamespace ? subject.slice("agent://".length, -"/*".length) : subject;
  const path = `/v1/${isNamespace ? "namespaces" : "agents"}/${encodeURIComponent(name)}/condition`;
  const query = new URLSearchParams({ scope: selectScope(flags) });
  if (flags.tenant !== undefined) query.set("tenant", flags.tenant);
  return `${path}?${query.toString()}`;
}

function printCondition(set: AgentCondition, { json }: OutputFlags): void {
  if (json === true) return printJson(set);
  const end = set.until === null ? "until it is cleared" : `until ${set.until}`;
  print(`${set.subject} is ${formatState(set.state)} ${end} (${set.reason.code})`);
}

function formatState(state: AgentCondition["state"]): string {
  return state === "watch" ? "watched" : state;
}

function formatConditionCells(each: AgentCondition): string[] {
  const { subject, state, tenant, levels, until, reason } = each;
  const of = tenant ?? "the bureau";
  return [
    subject,
    state,
    of,
    levels?.join(" ") ?? "all",
    until ?? "",
    reason.code,
    each.case ?? "",
  ];
}

function withConditionsOnFiles<T>(
  dataDir: string,
  run: (conditions: Conditions) => Promise<T>,
): Promise<T> {
  return withCoreOnFiles(dataDir, ({ ledger: log, conditions: book, reviews }) =>
    run(new Conditions({ log, book, reviews, onEvent: () => undefined, clock: Date.now })),
  );
}
