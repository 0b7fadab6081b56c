// Living nodes: those whose reports change, by the clock of the one that watches. No other node's clock is read.
import type { NodeReports } from "./ordered-log.ts";

/** A node whose report has not changed for longer is not counted on: twelve reports. */
export const NODE_AWAY_MS = 60_000;

/** Ms since the report of each node changed. */
export type ReportAges = ReadonlyMap<string, number>;

export class ReportWatch {
  readonly #monotonic: () => number;
  #seen = new Map<string, { readonly revision: number; readonly changedMs: number }>();

  readonly #awayMs: number;

  /** `monotonic`: ms of a clock that is never set. */
  constructor(monotonic: () => number, awayMs = NODE_AWAY_MS) {
    this.#monotonic = monotonic;
    this.#awayMs = awayMs;
  }

  /**
   * Takes what the log holds now. A report that is seen for the first time counts as changed just now. A node whose
   * report is gone, or was overwritten by another client of the log, may still live: it is counted until `awayMs` after its last.
   */
  update(reports: NodeReports): ReportAges {
    const nowMs = this.#monotonic();
    const marks = [...reports].map(([node, { revision }]) => {
      const before = this.#seen.get(node);
      // A copy of the log that is behind may tell an earlier one.
      const isSame = before !== undefined && revision <= before.revision;
      return [node, isSame ? before : { revision, changedMs: nowMs }] as const;
    });
    const kept = [...this.#seen].filter(([, { changedMs }]) => nowMs - changedMs <= this.#awayMs);
    this.#seen = new Map([...kept, ...marks]);
    return this.measureAges();
  }

  /** Of what was taken last. */
  measureAges(): ReportAges {
    const nowMs = this.#monotonic();
    return new Map([...this.#seen].map(([node, { changedMs }]) => [node, nowMs - changedMs]));
  }
}

/** Ages at a single look, by the clocks of the log's servers alone. */
export function measureKeptAges(reports: NodeReports, toldMs: number): ReportAges {
  return new Map([...reports].map(([node, { keptMs }]) => [node, Math.max(0, toldMs - keptMs)]));
}

/** Nodes whose reports are no older than `awayMs`, in order of their names. */
export function listLivingNodes(ages: ReportAges, awayMs = NODE_AWAY_MS): string[] {
  return [...ages].flatMap(([node, ageMs]) => (ageMs <= awayMs ? [node] : [])).toSorted();
}
