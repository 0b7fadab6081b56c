// Reports of nodes about themselves, and whether they agree: the chain of a journal at a place of the log is
// the same on every node, or one of them is wrong.
import {
  CHECKPOINT_MESSAGES,
  FIRST_RULES,
  SEALED_RULES,
  type TableHash,
} from "../ledger/ordered/message.ts";
import {
  measureKeptAges,
  NODE_AWAY_MS,
  type ReportAges,
  type ReportWatch,
} from "./living-nodes.ts";
import type { LogState, NodeReports, OrderedLog } from "./ordered-log.ts";
import { retryUntilAvailable } from "./retries.ts";

/** The newest checkpoints told: others may lag behind. */
const CHECKPOINTS_MAX = 32;

/** `analytics`: keeps copies of all nodes' decisions. */
export const NODE_ROLES = ["serve", "analytics"] as const;
export type NodeRole = (typeof NODE_ROLES)[number];

export interface NodeReport {
  readonly generation: number;
  /** The bureau's public key, in hex. */
  readonly key: string;
  readonly seq: number;
  readonly lsn: number;
  readonly chain: string;
  readonly version: string;
  /** Base URL under which other nodes reach this one; undefined where it was not named. */
  readonly url?: string | undefined;
  readonly atMs: number;
  /** Jobs of the whole cluster that it does; left out by releases without leases. */
  readonly leads?: readonly string[];
  /** Highest rules of the log that it knows, and those in force where it is; left out: the first. */
  readonly rulesMax?: number | undefined;
  readonly rules?: number | undefined;
  /** When the log's rules began to demand seals, epoch ms by its servers; left out: they do not, or it is not known. */
  readonly sealedSinceMs?: number | undefined;
  /** What it does beside answering; left out: nothing. */
  readonly role?: NodeRole | undefined;
  /** Place of the log and chain of the journal there, oldest first. */
  readonly checkpoints: readonly (readonly [seq: number, chain: string])[];
  /** Name of what makes the agent table; left out by releases that do not tell of it. */
  readonly engine?: string | undefined;
  /** Place of the log and hash of the table there, oldest first; only those of one engine can be compared. */
  readonly tables?: readonly (readonly [seq: number, hash: string])[];
}

/** What one look at the cluster has found. */
export interface ClusterView {
  readonly generation: number;
  readonly state: LogState;
  readonly reports: readonly (readonly [node: string, report: NodeReport])[];
  /** Ms since each node's report changed, when this was read. */
  readonly ages: ReportAges;
  /** Nodes whose reports no release like this one has made. */
  readonly strangers?: readonly string[];
  /** Nodes in whose name stands a report that does not count: without a valid seal, or an old one written again. */
  readonly unsealed?: readonly string[];
  /** Higher generations of the log that no node of this cluster has written. */
  readonly inventedGenerations?: readonly number[];
}

type ViewedLog = Pick<
  OrderedLog,
  "generation" | "inventedGenerations" | "readReports" | "readState" | "unsealedReports"
>;

/**
 * Without a watch the ages are those of a single look.
 * @throws StreamUnavailable when no server answers.
 */
export async function readClusterView(log: ViewedLog, watch?: ReportWatch): Promise<ClusterView> {
  const [state, found] = await Promise.all([log.readState(), log.readReports()]);
  const ages = watch?.update(found) ?? measureKeptAges(found, state.toldMs ?? 0);
  const reports = listReadableReports(found);
  const strangers = [...found].flatMap(([node, { told }]) => (isNodeReport(told) ? [] : [node]));
  const { generation, unsealedReports: unsealed, inventedGenerations } = log;
  return { generation, state, reports, ages, strangers, unsealed, inventedGenerations };
}

function listReadableReports(found: NodeReports): ClusterView["reports"] {
  return [...found].flatMap(([node, { told }]) =>
    isNodeReport(told) ? [[node, told] as const] : [],
  );
}

/** Another release may tell more, or other things. */
function isNodeReport(value: unknown): value is NodeReport {
  const told = (value ?? {}) as Record<string, unknown>;
  const { generation, key, seq, lsn, chain, version, atMs, checkpoints, tables = [] } = told;
  const areNumbers = [generation, seq, lsn, atMs].every((each) => typeof each === "number");
  const areTexts = [key, chain, version].every((each) => typeof each === "string");
  return areNumbers && areTexts && Array.isArray(checkpoints) && Array.isArray(tables);
}

/** Whether another node than this one keeps copies of decisions. */
export function hasOtherCollector(node: string, { reports }: ClusterView): boolean {
  return reports.some(([name, { role }]) => name !== node && role === "analytics");
}

/** What a node says of one thing at a place of the log. */
interface CheckpointClaim {
  readonly node: string;
  /** Only claims about the same are compared. */
  readonly about: string;
  readonly seq: number;
  readonly value: string;
}

/** Places at which two nodes or more say something of the same, and the newest at which they contradict. */
function compareClaims(claims: readonly CheckpointClaim[]) {
  const told = new Map<string, { seq: number; sides: Map<string, string[]> }>();
  for (const { node, about, seq, value } of claims) {
    const key = `${about} ${seq}`;
    const place = told.get(key) ?? { seq, sides: new Map<string, string[]>() };
    told.set(key, place);
    place.sides.set(value, [...(place.sides.get(value) ?? []), node]);
  }
  const places = [...told.values()]
    .filter(({ sides }) => [...sides.values()].flat().length > 1)
    .toSorted((a, b) => b.seq - a.seq);
  const different = places.find(({ sides }) => sides.size > 1);
  return {
    compared: places.length,
    newest: places[0]?.seq,
    diverged: different && { seq: different.seq, sides: [...different.sides.values()] },
  };
}

/** Of the journals' chains. */
export function compareChains(reports: ClusterView["reports"], generation: number) {
  const claims = reports.flatMap(([node, report]) => {
    if (report.generation !== generation) return [];
    const own = new Map(report.checkpoints);
    if (report.chain !== "") own.set(report.seq, report.chain);
    return [...own].map(([seq, value]) => ({ node, about: "", seq, value }));
  });
  return compareClaims(claims);
}

/** Of the agent tables, for each engine by itself. */
export function compareTables(reports: ClusterView["reports"], generation: number) {
  const claims = reports.flatMap(([node, report]) => {
    const { engine: about = "", tables = [] } = report;
    if (report.generation !== generation) return [];
    return [...new Map(tables)].map(([seq, value]) => ({ node, about, seq, value }));
  });
  return compareClaims(claims);
}

/** What a node tells of its checkpoints. */
export class CheckpointHistory {
  #list: (readonly [seq: number, chain: string])[] = [];
  #tables: (readonly [seq: number, hash: string])[] = [];
  #engine: string | undefined;

  get reportMembers(): Pick<NodeReport, "checkpoints" | "engine" | "tables"> {
    return { checkpoints: this.#list, engine: this.#engine, tables: this.#tables };
  }

  add({ seq, chain, table }: { seq: number; chain: string; table?: TableHash | undefined }): void {
    if (seq % CHECKPOINT_MESSAGES !== 0) return;
    this.#list = [...this.#list, [seq, chain] as const].slice(-CHECKPOINTS_MAX);
    if (table === undefined) return;
    this.#engine = table.engine;
    this.#tables = [...this.#tables, [seq, table.hash] as const].slice(-CHECKPOINTS_MAX);
  }
}

/**
 * The place at which most nodes have another chain than this one; undefined where none is known. Where
 * two nodes contradict each other nobody knows which one is right: both are told.
 */
export function findDivergence(
  own: NodeReport,
  others: readonly NodeReport[],
): { readonly seq: number; readonly isOutvoted: boolean } | undefined {
  for (const [seq, chain] of own.checkpoints) {
    const votes = others.flatMap(({ generation, checkpoints }) => {
      if (generation !== own.generation) return [];
      const found = checkpoints.find(([at]) => at === seq);
      return found === undefined ? [] : [found[1]];
    });
    const against = votes.filter((vote) => vote !== chain).length;
    const isOutvoted = against > votes.length - against + 1;
    if (against > 0) return { seq, isOutvoted };
  }
  return undefined;
}

/** Nodes that have not told that they know these rules of the log. */
export function findNodesBelowRules(reports: ClusterView["reports"], rules: number): string[] {
  return reports.flatMap(([node, { rulesMax = FIRST_RULES }]) => (rulesMax < rules ? [node] : []));
}

/** Whether a node of a release before seals has told of itself. */
export function hasOlderNode(found: NodeReports): boolean {
  const reports = listReadableReports(found);
  return findNodesBelowRules(reports, SEALED_RULES).length > 0;
}

/** Why a node may not join those that tell of themselves; undefined when it may. */
export async function findJoinRefusal(
  log: Pick<OrderedLog, "readReports" | "readState">,
  { node, key, nowMs }: { readonly node: string; readonly key: string; readonly nowMs: number },
): Promise<string | undefined> {
  // As any other step of a start: the servers may be electing.
  const reports = await retryUntilAvailable(() => log.readReports());
  // The key of a node that is away may be a former one.
  const other = [...reports].find(([name, { told }]) => {
    const { key: theirs, atMs } = told as NodeReport;
    return name !== node && theirs !== key && nowMs - atMs < NODE_AWAY_MS;
  });
  if (other === undefined) return undefined;
  const [name] = other;
  return `node \`${name}\` of the cluster signs with another key: copy \`bureau.key\` from its data directory into this one's`;
}
