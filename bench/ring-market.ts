// Rings for bench -- kaizen-rings: signed names whose reports stand among the rows of a stream, in
// training and in the holdout, and who praise agents that look bad or slander agents that look
// good. A ring's row copies the features of a row of its time: nothing but the outcome gives it
// away.
import type { ScoringModel } from "../src/engine/config.ts";
import type { FitRows } from "../src/kaizen/model/holdout.ts";
import type { RandomGenerator } from "../src/kaizen/model/bootstrap.ts";
import {
  readCoefficients,
  COLUMN_COUNT,
  createScorecardRows,
  computeRowLogit,
} from "../src/kaizen/model/scorecard.ts";

export const RING_KINDS = ["new", "old", "slander", "half", "clusters", "relay", "island"] as const;
/**
 * `new`: praises from the middle of the training on; `old`: from the start; `slander`: the same
 * against good-looking agents; `half`: as many honest reports besides; `clusters`: six small rings
 * with twelve subjects each; `relay`: one half of the names lies in training and is honest in the
 * holdout, the other half the reverse; `island`: praises thirty agents of its own.
 */
export type RingKind = (typeof RING_KINDS)[number];

export interface RingPlan {
  kind: RingKind;
  /** Part of the rows that are lies, 0 to 1. */
  share: number;
  names: number;
}

/** A stretch of a stream with a ring in it. */
export interface RingWindow {
  evidence: FitRows;
  /** 1 for the rows of the ring. */
  isRing: Uint8Array;
  /** First row of the holdout, and of the rows after it. */
  holdoutFrom: number;
  holdoutTo: number;
}

/** Share of the rows that count as bad-looking, and as good-looking, by the champion. */
const BAD_LOOKING = 0.2;
const GOOD_LOOKING = 0.5;
const SMALL_RINGS = 6;
const SMALL_RING_SUBJECTS = 12;
const ISLAND_SUBJECTS = 30;

interface RingRow {
  /** Row whose features and subject it copies. */
  source: number;
  name: number;
  failure: number;
}

/** Rows [from, from + count) of a stream on their own. */
export function stretchOf(base: FitRows, from: number, count: number): FitRows {
  const sources = Uint32Array.from({ length: count }, (_, i) => from + i);
  return pickRows(base, sources);
}

function pickRows(base: FitRows, sources: Uint32Array): FitRows {
  const rows = createScorecardRows(sources.length);
  const pick = <A extends Uint8Array | Uint32Array | Float64Array>(values: A): A => {
    const picked = values.slice(0, 0).constructor as new (length: number) => A;
    const result = new picked(sources.length);
    sources.forEach((source, i) => (result[i] = values[source]!));
    return result;
  };
  sources.forEach((source, i) => {
    const at = source * COLUMN_COUNT;
    rows.values.set(base.rows.values.subarray(at, at + COLUMN_COUNT), i * COLUMN_COUNT);
  });
  rows.sdSubject.set(pick(base.rows.sdSubject));
  rows.sdViewer.set(pick(base.rows.sdViewer));
  rows.outcomes.set(pick(base.rows.outcomes));
  rows.count = sources.length;
  return {
    rows,
    failures: pick(base.failures),
    subjects: pick(base.subjects),
    reporters: pick(base.reporters),
    timesMs: pick(base.timesMs),
    weights: pick(base.weights),
  };
}

/** Rows of [0, to) by the champion's log-odds, lowest first. */
function byLooks(base: FitRows, champion: ScoringModel, to: number): Uint32Array {
  const beta = readCoefficients(champion);
  const logits = Float64Array.from({ length: to }, (_, row) =>
    computeRowLogit(base.rows, row, beta),
  );
  return Uint32Array.from({ length: to }, (_, i) => i).toSorted((a, b) => logits[a]! - logits[b]!);
}

/** Chooses the rows of a ring. */
class RingWriter {
  readonly rows: RingRow[] = [];
  readonly #base: FitRows;
  readonly #plan: RingPlan;
  readonly #random: RandomGenerator;
  readonly #targets: Uint32Array;
  readonly #holdoutFrom: number;
  readonly #small: Uint32Array[];

  constructor(
    base: FitRows,
    champion: ScoringModel,
    plan: RingPlan,
    [holdoutFrom, holdoutTo]: readonly [number, number],
    random: RandomGenerator,
  ) {
    this.#base = base;
    this.#plan = plan;
    this.#random = random;
    this.#holdoutFrom = holdoutFrom;
    const looks = byLooks(base, champion, holdoutTo);
    const isSlander = plan.kind === "slander";
    this.#targets = isSlander
      ? looks.subarray(0, Math.floor(GOOD_LOOKING * looks.length))
      : looks.subarray(Math.floor((1 - BAD_LOOKING) * looks.length));
    this.#small = plan.kind === "clusters" ? this.#smallRings() : [];
    const from = plan.kind === "new" ? Math.floor(holdoutFrom / 2) : 0;
    const lies = (plan.share / (1 - plan.share)) * (holdoutTo - from);
    for (let i = 0; i < lies; i++) this.#lie(from);
    const honest = plan.kind === "half" || plan.kind === "relay" ? lies : 0;
    for (let i = 0; i < honest; i++) this.#honest(holdoutTo);
  }

  #pick(rows: Uint32Array): number {
    return rows[Math.floor(rows.length * this.#random.uniform())]!;
  }

  #name(part = 0, parts = 1): number {
    const each = Math.floor(this.#plan.names / parts);
    return part * each + Math.floor(each * this.#random.uniform());
  }

  #lie(from: number): void {
    const small = Math.floor(SMALL_RINGS * this.#random.uniform());
    const targets = this.#small[small] ?? this.#targets;
    let source = this.#pick(targets);
    while (source < from) source = this.#pick(targets);
    const failure = this.#plan.kind === "slander" ? 1 : 0;
    let name = this.#name();
    if (this.#plan.kind === "clusters") name = this.#name(small, SMALL_RINGS);
    if (this.#plan.kind === "relay") name = this.#name(source < this.#holdoutFrom ? 0 : 1, 2);
    this.rows.push({ source, name, failure });
  }

  #honest(to: number): void {
    const source = Math.floor(to * this.#random.uniform());
    const isTraining = source < this.#holdoutFrom;
    const name = this.#plan.kind === "relay" ? this.#name(isTraining ? 1 : 0, 2) : this.#name();
    this.rows.push({ source, name, failure: this.#base.failures[source]! });
  }

  /** Target rows of each small ring: those about a few subjects with many such rows. */
  #smallRings(): Uint32Array[] {
    const { subjects } = this.#base;
    const counts = new Map<number, number>();
    for (const row of this.#targets) {
      counts.set(subjects[row]!, (counts.get(subjects[row]!) ?? 0) + 1);
    }
    const known = [...counts].toSorted(([, a], [, b]) => b - a).map(([subject]) => subject);
    return Array.from({ length: SMALL_RINGS }, (_, ring) => {
      const own = new Set(
        known
          .slice(0, SMALL_RINGS * SMALL_RING_SUBJECTS)
          .filter((_subject, i) => i % SMALL_RINGS === ring),
      );
      return this.#targets.filter((row) => own.has(subjects[row]!));
    });
  }
}

/**
 * The stretch with a ring among its rows [0, holdoutTo). Without a plan the stretch itself. Names of
 * the ring are numbered from `firstName` on.
 */
export function withRing(
  base: FitRows,
  champion: ScoringModel,
  plan: RingPlan | undefined,
  [holdoutFrom, holdoutTo]: readonly [number, number],
  random: RandomGenerator,
  firstName: number,
): RingWindow {
  const count = base.failures.length;
  const ring =
    plan === undefined
      ? []
      : new RingWriter(base, champion, plan, [holdoutFrom, holdoutTo], random).rows;
  const all = [
    ...Array.from({ length: count }, (_, source): RingRow => ({ source, name: -1, failure: -1 })),
    ...ring,
  ].toSorted((a, b) => a.source - b.source || a.name - b.name);
  const evidence = pickRows(
    base,
    Uint32Array.from(all, ({ source }) => source),
  );
  all.forEach(({ name, failure }, i) => {
    if (name < 0) return;
    evidence.reporters[i] = firstName + name;
    evidence.failures[i] = failure;
    if (plan?.kind !== "island") return;
    evidence.subjects[i] = firstName + plan.names + ((name + i) % ISLAND_SUBJECTS);
  });
  const before = (end: number) => all.findIndex(({ source }) => source === end);
  return {
    evidence,
    isRing: Uint8Array.from(all, ({ name }) => (name < 0 ? 0 : 1)),
    holdoutFrom: before(holdoutFrom),
    holdoutTo: before(holdoutTo),
  };
}
