// Reads a stream of outcomes for evaluation: `SOURCE,TARGET,RATING,TIME` without a header, in any
// order (sorted by time, then line). Rating above zero is a success; stakes are its magnitude.
import { readFileSync } from "node:fs";
import type { OutcomeRequest } from "../src/contract/schemas/outcomes.ts";
import { GRADES, SIGNATURES } from "../src/contract/vocabulary.ts";

/** Grade of ratings, a counterparty's word (index of GRADES). */
export const COUNTERPARTY: number = GRADES.indexOf("counterparty");
/** Signatures of ratings (indexes of SIGNATURES): an import is signed as `bureau`. */
export const UNSIGNED: number = SIGNATURES.indexOf("none");
export const BUREAU: number = SIGNATURES.indexOf("bureau");
export const REPORTER: number = SIGNATURES.indexOf("reporter");

/** One rating as an outcome. */
export interface RatedOutcome {
  reporter: string;
  subject: string;
  /** 1 failed, 0 succeeded. */
  failure: 0 | 1;
  stakes: number;
  timeMs: number;
}

/**
 * Reads the stream.
 * @throws Error with the line number when a row is malformed.
 */
export function readRatings(path: string, namespace: string): RatedOutcome[] {
  const rows: RatedOutcome[] = [];
  const lines = readFileSync(path, "utf8").split("\n");
  lines.forEach((line, index) => {
    if (line.trim() === "") return;
    const [source, target, rating, time, ...rest] = line.split(",");
    const value = Number(rating);
    const seconds = Number(time);
    if (rest.length > 0 || !(Math.abs(value) > 0) || !Number.isFinite(seconds)) {
      throw new RangeError(`line ${index + 1} is not SOURCE,TARGET,RATING,TIME`);
    }
    rows.push({
      reporter: `agent://${namespace}/${source}`,
      subject: `agent://${namespace}/${target}`,
      failure: value > 0 ? 0 : 1,
      stakes: Math.abs(value),
      timeMs: seconds * 1000,
    });
  });
  return sortByTime(rows);
}

/** Reads outcomes as they are imported: one JSON object a line, graded as a counterparty's word. */
export function readOutcomes(path: string): RatedOutcome[] {
  const lines = readFileSync(path, "utf8").trim().split("\n");
  return sortByTime(
    lines.map((line) => {
      const { reporter, subject, outcome, stakes, settled_at } = JSON.parse(line) as OutcomeRequest;
      const failure = outcome === 1 ? 0 : 1;
      return { reporter, subject, failure, stakes, timeMs: new Date(settled_at!).getTime() };
    }),
  );
}

function sortByTime(rows: readonly RatedOutcome[]): RatedOutcome[] {
  return rows
    .map((row, i) => ({ row, i }))
    .toSorted(byTime)
    .map((entry) => entry.row);
}

function byTime(a: { row: RatedOutcome; i: number }, b: { row: RatedOutcome; i: number }): number {
  return a.row.timeMs - b.row.timeMs || a.i - b.i;
}
