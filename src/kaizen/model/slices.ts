// Slices of a holdout for gate G10: everything, newcomers, high stakes and each namespace that is
// large enough; for calibration also what the agent did last, tenths of the stakes, and tiers.
// Slices overlap; a row is in every slice to which it belongs.
import { extractKeyNamespace } from "../../contract/identifiers.ts";
import { FEATURES } from "../../contract/vocabulary.ts";
import type { ScoringConfig } from "../../engine/config.ts";
import type { FitRows, Forecast, RowContext } from "./holdout.ts";
import { COLUMN_COUNT } from "./scorecard.ts";

export interface HoldoutSlice {
  name: string;
  /** Row numbers, counted from the start of the holdout. */
  rows: Uint32Array;
}

/** Decayed evidence below which an agent is new (scoring 3: tier REVIEW). */
const NEW_EVIDENCE = 3;
/** Share of the rows with the highest stakes. */
const HIGH_STAKES_SHARE = 0.1;
/** Number of largest namespaces: a deployment of thousands is not tested thousands of times. */
const NAMESPACES_MAX = 20;
const EVIDENCE_COLUMN = 4 + FEATURES.indexOf("evidence");

/** Namespace of an agent's name in the journal; empty where it has none. */
export function parseNamespaceOfKey(key: string): string {
  return extractKeyNamespace(key) ?? "";
}

function selectRows(count: number, belongs: (row: number) => boolean): Uint32Array {
  const rows: number[] = [];
  for (let row = 0; row < count; row++) if (belongs(row)) rows.push(row);
  return Uint32Array.from(rows);
}

function buildHighStakesSlice(stakes: Float64Array): HoldoutSlice[] {
  const sorted = stakes.toSorted();
  const border = sorted[Math.floor(sorted.length * (1 - HIGH_STAKES_SHARE))] ?? 0;
  // Stakes that are all alike have no high end.
  if (!(border > sorted[Math.floor(sorted.length / 2)]!)) return [];
  return [
    { name: "high stakes", rows: selectRows(stakes.length, (row) => stakes[row]! >= border) },
  ];
}

function buildNamespaceSlices(context: RowContext, from: number, to: number): HoldoutSlice[] {
  const byNumber = new Map<number, number[]>();
  for (let row = from; row < to; row++) {
    const rows = byNumber.get(context.namespaces[row]!);
    if (rows === undefined) byNumber.set(context.namespaces[row]!, [row - from]);
    else rows.push(row - from);
  }
  if (byNumber.size < 2) return [];
  return [...byNumber]
    .toSorted(([, a], [, b]) => b.length - a.length)
    .slice(0, NAMESPACES_MAX)
    .map(([number, rows]) => ({
      name: `namespace ${context.namespaceNames[number] ?? "?"}`,
      rows: Uint32Array.from(rows),
    }));
}

const WEEK_MS = 7 * 86_400_000;
/** A long good record, and how many failures of one week break it. */
const BROKEN_SUCCESSES_MIN = 20;
const BROKEN_FAILURES = [2, 3] as const;

/** What had settled about a subject strictly before a row. */
interface SubjectPastOutcomes {
  successes: number;
  /** Failures in a row, up to now. */
  streak: number;
  /** Times of failures of the last week, epoch ms, oldest first. */
  failedMs: number[];
}

/**
 * Which slices of an agent's last outcomes a row belongs to. Counted over rows of evidence that
 * settled strictly before; what had settled but not been recorded counts, too.
 */
function buildRecordSlices(
  { failures, subjects, timesMs }: FitRows,
  from: number,
  to: number,
): HoldoutSlice[] {
  const past = new Map<number, SubjectPastOutcomes>();
  const [last, lastTwo, broken]: number[][] = [[], [], []];
  let settled = 0;
  for (let row = 0; row < to; row++) {
    for (; timesMs[settled]! < timesMs[row]!; settled++) {
      addToSubjectPastOutcomes(past, subjects[settled]!, failures[settled]!, timesMs[settled]!);
    }
    const own = past.get(subjects[row]!);
    if (row < from || own === undefined) continue;
    if (own.streak >= 1) last!.push(row - from);
    if (own.streak >= 2) lastTwo!.push(row - from);
    const recent = own.failedMs.filter((at) => at >= timesMs[row]! - WEEK_MS).length;
    const isBroken = recent >= BROKEN_FAILURES[0] && recent <= BROKEN_FAILURES[1];
    if (own.successes >= BROKEN_SUCCESSES_MIN && isBroken) broken!.push(row - from);
  }
  return [
    { name: "last outcome failed", rows: Uint32Array.from(last!) },
    { name: "last two failed", rows: Uint32Array.from(lastTwo!) },
    { name: "20 successes, then 2 or 3 failures in a week", rows: Uint32Array.from(broken!) },
  ];
}

function addToSubjectPastOutcomes(
  past: Map<number, SubjectPastOutcomes>,
  subject: number,
  failure: number,
  atMs: number,
): void {
  let own = past.get(subject);
  if (own === undefined) past.set(subject, (own = { successes: 0, streak: 0, failedMs: [] }));
  if (failure === 0) {
    own.successes++;
    own.streak = 0;
    return;
  }
  own.streak++;
  own.failedMs = [...own.failedMs.filter((at) => at >= atMs - WEEK_MS), atMs];
}

/** Tenths of the rows with known stakes, where stakes differ at all. */
function buildStakesDeciles({ stakes }: RowContext, from: number, to: number): HoldoutSlice[] {
  const rows = selectRows(to - from, (row) => stakes[from + row]! > 0);
  rows.sort((a, b) => stakes[from + a]! - stakes[from + b]!);
  const at = (share: number) => rows[Math.min(rows.length - 1, Math.floor(rows.length * share))];
  if (rows.length === 0 || stakes[from + at(0)!] === stakes[from + at(1)!]) return [];
  return Array.from({ length: 10 }, (_, k) => ({
    name: `stakes, tenth ${k + 1} of 10`,
    rows: rows.slice(Math.floor((rows.length * k) / 10), Math.floor((rows.length * (k + 1)) / 10)),
  }));
}

/** Tiers of the live weights, thin records apart (scoring 3). */
function buildTierSlices(champion: Forecast, { tier_a: a, tier_b: b, tier_c: c }: ScoringConfig) {
  const { scores, thin } = champion;
  const selectTier = (row: number) => {
    if (thin[row] === 1) return "REVIEW";
    const score = scores[row]!;
    return score >= a ? "A" : score >= b ? "B" : score >= c ? "C" : "D";
  };
  return ["A", "B", "C", "D", "REVIEW"].map((tier) => ({
    name: `tier ${tier}`,
    rows: selectRows(scores.length, (row) => selectTier(row) === tier),
  }));
}

/** The slices of rows [from, to) in which a probability must mean what it says. */
export function buildCalibrationSlices(
  evidence: FitRows,
  [from, to]: readonly [number, number],
  champion: Forecast,
  config: ScoringConfig,
): HoldoutSlice[] {
  const { context } = evidence;
  return [
    ...buildRecordSlices(evidence, from, to),
    ...(context === undefined ? [] : buildStakesDeciles(context, from, to)),
    ...buildTierSlices(champion, config),
  ];
}

/** The slices of rows [from, to). Without a context only those that follow from the features. */
export function buildSlices(evidence: FitRows, from: number, to: number): HoldoutSlice[] {
  const { rows, context } = evidence;
  const newBelow = Math.log1p(NEW_EVIDENCE);
  const isNew = (row: number) =>
    rows.values[(from + row) * COLUMN_COUNT + EVIDENCE_COLUMN]! < newBelow;
  const slices = [
    { name: "all", rows: selectRows(to - from, () => true) },
    { name: "new agents", rows: selectRows(to - from, isNew) },
  ];
  if (context === undefined) return slices;
  const stakes = buildHighStakesSlice(context.stakes.subarray(from, to));
  return [...slices, ...stakes, ...buildNamespaceSlices(context, from, to)];
}
