// Slices of a holdout for gate G10: everything, newcomers, high stakes and each namespace that is
// large enough. Slices overlap; a row is in every slice to which it belongs.
import { namespaceOfKey } from "../../contract/identifiers.ts";
import { FEATURES } from "../../contract/vocabulary.ts";
import type { FitRows, RowContext } from "./holdout.ts";
import { COLUMNS } from "./scorecard.ts";

export interface Slice {
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
export function namespaceOf(key: string): string {
  return namespaceOfKey(key) ?? "";
}

function pick(count: number, belongs: (row: number) => boolean): Uint32Array {
  const rows: number[] = [];
  for (let row = 0; row < count; row++) if (belongs(row)) rows.push(row);
  return Uint32Array.from(rows);
}

function stakesSlice(stakes: Float64Array): Slice[] {
  const sorted = stakes.toSorted();
  const border = sorted[Math.floor(sorted.length * (1 - HIGH_STAKES_SHARE))] ?? 0;
  // Stakes that are all alike have no high end.
  if (!(border > sorted[Math.floor(sorted.length / 2)]!)) return [];
  return [{ name: "high stakes", rows: pick(stakes.length, (row) => stakes[row]! >= border) }];
}

function namespaceSlices(context: RowContext, from: number, to: number): Slice[] {
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

/** The slices of rows [from, to). Without a context only those that follow from the features. */
export function slicesOf(evidence: FitRows, from: number, to: number): Slice[] {
  const { rows, context } = evidence;
  const newBelow = Math.log1p(NEW_EVIDENCE);
  const isNew = (row: number) => rows.values[(from + row) * COLUMNS + EVIDENCE_COLUMN]! < newBelow;
  const slices = [
    { name: "all", rows: pick(to - from, () => true) },
    { name: "new agents", rows: pick(to - from, isNew) },
  ];
  if (context === undefined) return slices;
  const stakes = stakesSlice(context.stakes.subarray(from, to));
  return [...slices, ...stakes, ...namespaceSlices(context, from, to)];
}
