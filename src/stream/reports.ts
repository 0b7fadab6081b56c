// Reports of nodes about themselves, and whether they agree: the chain of a journal at a place of the log is
// the same on every node, or one of them is wrong.
import type { LogState, OrderedLog } from "./ordered-log.ts";

/** The newest checkpoints told: others may lag behind. */
const CHECKPOINTS_MAX = 32;

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
  /** Place of the log and chain of the journal there, oldest first. */
  readonly checkpoints: readonly (readonly [seq: number, chain: string])[];
}

/** What one look at the cluster has found. */
export interface ClusterView {
  readonly generation: number;
  readonly state: LogState;
  readonly reports: readonly (readonly [node: string, report: NodeReport])[];
}

/** @throws StreamUnavailable when no server answers. */
export async function viewOf(
  log: Pick<OrderedLog, "generation" | "reports" | "state">,
): Promise<ClusterView> {
  const [state, found] = await Promise.all([log.state(), log.reports()]);
  const reports = [...found].filter((entry): entry is [string, NodeReport] => isReport(entry[1]));
  return { generation: log.generation, state, reports };
}

/** Another release may tell more, or other things. */
function isReport(value: unknown): value is NodeReport {
  const { generation, key, seq, lsn, chain, version, atMs, checkpoints } = (value ?? {}) as Record<
    string,
    unknown
  >;
  const areNumbers = [generation, seq, lsn, atMs].every((each) => typeof each === "number");
  const areTexts = [key, chain, version].every((each) => typeof each === "string");
  return areNumbers && areTexts && Array.isArray(checkpoints);
}

/** Places at which two nodes or more have told their chains, and the newest at which these differ. */
export function compareChains(reports: ClusterView["reports"], generation: number) {
  const told = new Map<number, Map<string, string[]>>();
  for (const [node, report] of reports) {
    if (report.generation !== generation) continue;
    const own = new Map(report.checkpoints);
    if (report.chain !== "") own.set(report.seq, report.chain);
    for (const [seq, chain] of own) {
      const chains = told.get(seq) ?? new Map<string, string[]>();
      told.set(seq, chains.set(chain, [...(chains.get(chain) ?? []), node]));
    }
  }
  const places = [...told]
    .filter(([, chains]) => [...chains.values()].flat().length > 1)
    .toSorted(([a], [b]) => b - a);
  const different = places.find(([, chains]) => chains.size > 1);
  return {
    compared: places.length,
    newest: places[0]?.[0],
    diverged: different && { seq: different[0], sides: [...different[1].values()] },
  };
}

export class Checkpoints {
  #list: (readonly [seq: number, chain: string])[] = [];

  get list(): readonly (readonly [seq: number, chain: string])[] {
    return this.#list;
  }

  add(seq: number, chain: string): void {
    this.#list = [...this.#list, [seq, chain] as const].slice(-CHECKPOINTS_MAX);
  }
}

/**
 * The place at which most nodes have another chain than this one; undefined where none is known. Where
 * two nodes contradict each other nobody knows which one is right: both are told.
 */
export function divergedAt(
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

/** A node that has told nothing for so long is away: twelve reports. Its key may be a former one. */
const AWAY_MS = 60_000;

/** Why a node may not join those that tell of themselves; undefined when it may. */
export async function refusalOf(
  log: Pick<OrderedLog, "reports" | "state">,
  { node, key, nowMs }: { readonly node: string; readonly key: string; readonly nowMs: number },
): Promise<string | undefined> {
  const reports = await log.reports();
  const other = [...reports].find(([name, told]) => {
    const { key: theirs, atMs } = told as NodeReport;
    return name !== node && theirs !== key && nowMs - atMs < AWAY_MS;
  });
  if (other === undefined) return undefined;
  const [name] = other;
  return `node \`${name}\` of the cluster signs with another key: copy \`bureau.key\` from its data directory into this one's`;
}
