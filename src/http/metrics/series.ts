// Time series of the last fifteen minutes by the second, in a ring of fixed memory: differences of counts
// that are kept anyway. Requests pay nothing for it; a second costs one addition per column.
import { type Decision, DECISIONS, REASON_CLASSES, VERDICTS } from "../../contract/vocabulary.ts";
import { DURATION_BOUNDS_SEC } from "../../platform/histogram.ts";
import type { ServiceSeries } from "../../contract/schemas/series.ts";
import type { SeriesCounts } from "./recorder.ts";
import { decodeVerdictCell } from "./verdict-cells.ts";

/** Seconds that are kept. */
export const SERIES_POINTS_MAX = 900;
const MS_PER_S = 1000;
const P50 = 0.5;
const P99 = 0.99;
/** Decisions that open a connection, if only after a verification. */
const CONNECTING_DECISIONS: ReadonlySet<Decision> = new Set([
  "connect",
  "connect_with_verification",
]);

/** Counts and positions of the parts that are not HTTP threads. */
export interface SampledCounts {
  /** Outcomes made durable since the start. */
  readonly outcomes: number;
  /** Records that the store has not applied yet. */
  readonly lagRecords: number;
}

/** Counts since the start, by column. */
type ColumnTotals = Readonly<Record<string, number>>;

const VERDICT_COLUMNS = VERDICTS.map((word) => `verdict ${word}`);
const DECISION_COLUMNS = DECISIONS.map((word) => `decision ${word}`);
const REASON_COLUMNS = REASON_CLASSES.map((name) => `reason ${name}`);
const TIME_COLUMNS = [...DURATION_BOUNDS_SEC, 0].map((_, index) => `time ${index}`);
const COUNT_COLUMNS = [
  ...VERDICT_COLUMNS,
  ...DECISION_COLUMNS,
  ...REASON_COLUMNS,
  ...TIME_COLUMNS,
  "let_through",
  "denied",
  "outcomes",
  "outcomes_refused",
  "problems",
];

export class SeriesBuffer {
  readonly #columns = new Map(
    [...COUNT_COLUMNS, "at", "span", "lag"].map((name) => [
      name,
      new Float64Array(SERIES_POINTS_MAX),
    ]),
  );
  #taken = 0;
  #last: { readonly atMs: number; readonly sums: ColumnTotals } | undefined;

  /** Keeps what has been counted since the last call; the first one only begins. */
  take(
    atMs: number,
    pulses: readonly SeriesCounts[],
    { outcomes, lagRecords }: SampledCounts,
  ): void {
    const sums: ColumnTotals = { ...sumSeriesCounts(pulses), outcomes };
    const last = this.#last;
    this.#last = { atMs, sums };
    if (last === undefined) return;
    const at = this.#taken % SERIES_POINTS_MAX;
    for (const name of COUNT_COLUMNS) {
      this.#column(name)[at] = Math.max(0, (sums[name] ?? 0) - (last.sums[name] ?? 0));
    }
    this.#column("at")[at] = atMs;
    // A clock that was set back makes no span below 0.
    this.#column("span")[at] = Math.max(0, atMs - last.atMs);
    this.#column("lag")[at] = lagRecords;
    this.#taken += 1;
  }

  /** The seconds that ended after `sinceMs`, oldest first. */
  read(sinceMs: number): ServiceSeries {
    const first = Math.max(0, this.#taken - SERIES_POINTS_MAX);
    const times = this.#column("at");
    const places = Array.from(
      { length: this.#taken - first },
      (_, index) => (first + index) % SERIES_POINTS_MAX,
    ).filter((place) => times[place]! > sinceMs);
    const column = (name: string) => places.map((place) => this.#column(name)[place]!);
    const words = <Word extends string>(kind: string, names: readonly Word[]) =>
      Object.fromEntries(names.map((name) => [name, column(`${kind} ${name}`)])) as Record<
        Word,
        number[]
      >;
    return {
      points_max: SERIES_POINTS_MAX,
      at: places.map((place) => new Date(times[place]!).toISOString()),
      span_ms: column("span"),
      let_through: column("let_through"),
      denied: column("denied"),
      verdicts: words("verdict", VERDICTS),
      decisions: words("decision", DECISIONS),
      denials_by_reason: words("reason", REASON_CLASSES),
      outcomes: column("outcomes"),
      outcomes_refused: column("outcomes_refused"),
      problems: column("problems"),
      store_lag_records: column("lag"),
      p50_ms: places.map((place) => this.#quantileMs([place], P50)),
      p99_ms: places.map((place) => this.#quantileMs([place], P99)),
      whole: {
        p50_ms: this.#quantileMs(places, P50),
        p99_ms: this.#quantileMs(places, P99),
        latency_bounds_ms: DURATION_BOUNDS_SEC.map((bound) => bound * MS_PER_S),
        latency_counts: this.#counts(places),
      },
    };
  }

  #counts(places: readonly number[]): number[] {
    return TIME_COLUMNS.map((name) =>
      places.reduce((total, place) => total + this.#column(name)[place]!, 0),
    );
  }

  #quantileMs(places: readonly number[], quantile: number): number | null {
    return computeQuantileMs(this.#counts(places), quantile);
  }

  #column(name: string): Float64Array {
    return this.#columns.get(name)!;
  }
}

/**
 * Quantile in milliseconds of counts by bucket, straight within its bucket; null where nothing was
 * counted. Above the highest bound it is that bound.
 */
export function computeQuantileMs(counts: readonly number[], quantile: number): number | null {
  const total = counts.reduce((sum, count) => sum + count, 0);
  if (total === 0) return null;
  let left = quantile * total;
  for (const [index, count] of counts.entries()) {
    const upper = DURATION_BOUNDS_SEC[index];
    if (upper === undefined) break;
    const lower = DURATION_BOUNDS_SEC[index - 1] ?? 0;
    if (count > 0 && left <= count) {
      // Microseconds: more digits than the buckets are worth.
      const ms = (lower + (upper - lower) * (left / count)) * MS_PER_S;
      return Math.round(ms * MS_PER_S) / MS_PER_S;
    }
    left -= count;
  }
  return DURATION_BOUNDS_SEC.at(-1)! * MS_PER_S;
}

function sumSeriesCounts(pulses: readonly SeriesCounts[]): Record<string, number> {
  const sums: Record<string, number> = {};
  const add = (name: string, count: number) => {
    sums[name] = (sums[name] ?? 0) + count;
  };
  for (const { tallies } of pulses) {
    for (const [cell, count] of tallies.verdicts) {
      const [, verdict, reason] = decodeVerdictCell(cell);
      add(`verdict ${verdict}`, count);
      add(verdict === "ALLOW" ? "let_through" : "denied", count);
      if (verdict !== "ALLOW") add(`reason ${reason}`, count);
    }
    for (const word of DECISIONS) {
      const count = tallies.checks[word] + tallies.handshakes[word];
      add(`decision ${word}`, count);
      add(CONNECTING_DECISIONS.has(word) ? "let_through" : "denied", count);
    }
    for (const [, count] of tallies.outcomesRefused) add("outcomes_refused", count);
    for (const [, count] of tallies.faults) add("problems", count);
  }
  for (const { durations } of pulses) {
    for (const [index, count] of durations.buckets.entries()) add(`time ${index}`, count);
  }
  return sums;
}
