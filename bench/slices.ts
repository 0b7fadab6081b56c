// Slices of a stream for eval:trust and eval:kaizen, by the record strictly earlier than each outcome: runs of
// failures, failures of a busy agent within a week, long good records, newcomers. Overall figures
// hide that a model is wrong in them.
import type { RatedOutcome } from "./ratings.ts";

const DAY_MS = 86_400_000;
const WEEK_MS = 7 * DAY_MS;
const NEWCOMER = 3;
const ESTABLISHED = 20;

interface SubjectRecord {
  successes: number;
  failures: number;
  /** Newest failures, epoch ms. */
  failedMs: number[];
  /** Failures in a row at the end. */
  run: number;
}

type Belongs = (record: SubjectRecord, nowMs: number) => boolean;

const failedThisWeek = ({ failedMs }: SubjectRecord, nowMs: number) =>
  failedMs.filter((at) => nowMs - at <= WEEK_MS).length;

const SLICES: Readonly<Record<string, Belongs>> = {
  "last outcome failed": ({ run }) => run >= 1,
  "last two failed": ({ run }) => run >= 2,
  "20 successes, one failure this week": (record, nowMs) =>
    record.successes >= ESTABLISHED && failedThisWeek(record, nowMs) === 1,
  "20 successes, two or three failures this week": (record, nowMs) => {
    const failed = failedThisWeek(record, nowMs);
    return record.successes >= ESTABLISHED && failed >= 2 && failed <= 3;
  },
  "20 successes, none failed": ({ successes, failures }) =>
    successes >= ESTABLISHED && failures === 0,
  "failed before, not this week": (record, nowMs) =>
    record.failures > 0 && failedThisWeek(record, nowMs) === 0,
  "fewer than three outcomes": ({ successes, failures }) => successes + failures < NEWCOMER,
};

/** Rows of each slice, counted from `range[0]`. */
export function sliceRows(
  outcomes: readonly RatedOutcome[],
  lagDays: number,
  [from, to]: readonly [number, number],
): Record<string, number[]> {
  const records = new Map<string, SubjectRecord>();
  const slices = Object.fromEntries(Object.keys(SLICES).map((name) => [name, [] as number[]]));
  const none: SubjectRecord = { successes: 0, failures: 0, failedMs: [], run: 0 };
  let folded = 0;
  outcomes.slice(0, to).forEach(({ subject, timeMs }, row) => {
    for (; outcomes[folded]!.timeMs + lagDays * DAY_MS < timeMs; folded++) {
      const past = outcomes[folded]!;
      const record = records.get(past.subject) ?? { ...none, failedMs: [] };
      records.set(past.subject, record);
      if (past.failure === 1) {
        record.failures++;
        record.run++;
        record.failedMs.push(past.timeMs);
      } else {
        record.successes++;
        record.run = 0;
      }
    }
    if (row < from) return;
    const record = records.get(subject) ?? none;
    for (const [name, belongs] of Object.entries(SLICES)) {
      if (belongs(record, timeMs)) slices[name]!.push(row - from);
    }
  });
  return slices;
}

/** Rows that a slice must have to be shown. */
const SLICE_MIN = 30;

/** What a slice was foretold and what came, as failing shares. */
export interface SliceFigures {
  predicted: number;
  observed: number;
  rows: number;
}

/** Calibration in each slice of some size. */
export function calibrationIn(
  slices: Readonly<Record<string, readonly number[]>>,
  probabilities: Float64Array,
  failures: Uint8Array,
): Record<string, SliceFigures> {
  const mean = (rows: readonly number[], values: ArrayLike<number>) =>
    rows.reduce((sum, row) => sum + values[row]!, 0) / rows.length;
  return Object.fromEntries(
    Object.entries(slices)
      .filter(([, rows]) => rows.length >= SLICE_MIN)
      .map(([name, rows]) => [
        name,
        { predicted: mean(rows, probabilities), observed: mean(rows, failures), rows: rows.length },
      ]),
  );
}
