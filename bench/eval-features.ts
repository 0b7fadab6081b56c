// eval:features: what each feature that the engine lacks would add to those it has, by itself, on the
// validation part of every stream. Weights are free in sign, so that a fact of one stream shows as
// such. One JSON object on the last line of stdout.
import { readdirSync } from "node:fs";
import { basename, join } from "node:path";
import { parsed } from "./load/parsed.ts";
import { loadDefaultConfig } from "../src/engine/config.ts";
import { fitLogistic } from "../src/kaizen/model/fit.ts";
import { computeAuc, computeMeanLogLoss } from "../src/kaizen/model/metrics.ts";
import { COLUMN_SIGNS, COLUMN_COUNT } from "../src/kaizen/model/scorecard.ts";
import type { ScorecardRows } from "../src/kaizen/model/scorecard.ts";
import { PARTS } from "./eval-streams.ts";
import { readRatings } from "./ratings.ts";
import { replay, usableColumns } from "./replay.ts";
import { RICH_NAMES, richRows } from "./rich-features.ts";

const SIDES = ["check", "handshake"] as const;
const MEAN = 2;

interface Found {
  auc: number;
  log_loss: number;
  weight: number;
}

/** Share of the prior variance that outcomes have resolved, 0 to 1. */
function resolved(sd: number): number {
  return Math.max(0, 1 - sd ** 2 / loadDefaultConfig().subject_variance);
}

/** A candidate: one value a row. */
type Candidate = readonly [name: string, valueOf: (row: number) => number];

/** The engine's columns of a side with one more, fitted on the first part and judged on the second. */
function judged(
  rows: ScorecardRows,
  failures: Uint8Array,
  usable: readonly boolean[],
  extra?: (row: number) => number,
): Found {
  const [from, to, end] = PARTS.validation.map((share) => Math.floor(rows.count * share));
  const live = [...usable.keys()].filter((j) => {
    for (let row = from!; row < to!; row++)
      if (rows.values[row * COLUMN_COUNT + j] !== 0) return true;
    return false;
  });
  const columns = live.length + (extra === undefined ? 0 : 1);
  const values = new Float64Array((end! - from!) * columns);
  for (let row = from!; row < end!; row++) {
    const own = live.map((j) => (usable[j] ? rows.values[row * COLUMN_COUNT + j]! : 0));
    if (extra !== undefined) own.push(extra(row));
    values.set(own, (row - from!) * columns);
  }
  const design = {
    columns,
    values: values.subarray(0, (to! - from!) * columns),
    failures: failures.subarray(from, to),
  };
  const signs = live.map((j) => COLUMN_SIGNS[j]!);
  if (extra !== undefined) signs.push(0);
  const fit = fitLogistic(design, { lambda: 1, signs });
  if (fit === null) throw new Error("the fit broke");
  const probabilities = Float64Array.from({ length: end! - to! }, (_, i) => {
    const at = (to! - from! + i) * columns;
    const eta = fit.coefficients.reduce((sum, b, j) => sum + b * values[at + j]!, 0);
    return 1 / (1 + Math.exp(-eta));
  });
  const labels = failures.subarray(to, end);
  return {
    auc: computeAuc(probabilities, labels),
    log_loss: computeMeanLogLoss(probabilities, labels),
    weight: extra === undefined ? 0 : fit.coefficients[columns - 1]!,
  };
}

/** All candidates of one stream: the baselines' features, and others of the engine's own state. */
function candidatesOf(file: string) {
  const outcomes = readRatings(file, "eval");
  const replayed = replay(outcomes, loadDefaultConfig(), 0);
  const rich = richRows(outcomes, 0);
  const { failures, check, handshake } = replayed;
  const candidates = (side: (typeof SIDES)[number]): Candidate[] => {
    const rows = replayed[side];
    const other = side === "check" ? handshake : check;
    const mean = (row: number) => rows.values[row * COLUMN_COUNT + MEAN]!;
    // In a check nobody views, but what the subject itself reports is known too.
    const isOwn = (name: string) => !/^(viewer|about the viewer|between)/.test(name);
    const names = RICH_NAMES.map((name, j) => [name, j] as const).slice(1);
    const listed = side === "check" ? names.filter(([name]) => isOwn(name)) : names;
    return [
      ["newcomer", (row) => (rows.outcomes[row] === 0 ? 1 : 0)],
      ["doubt (sd of the mean)", (row) => rows.sdSubject[row]!],
      ["share of the doubt resolved", (row) => resolved(rows.sdSubject[row]!)],
      ["root of that share", (row) => Math.sqrt(resolved(rows.sdSubject[row]!))],
      ["mean over doubt", (row) => mean(row) / rows.sdSubject[row]!],
      ["mean of the other track", (row) => other.values[row * COLUMN_COUNT + MEAN]!],
      ["mean times viewer", (row) => mean(row) * rows.values[row * COLUMN_COUNT + 3]!],
      ...listed.map(([name, j]): Candidate => [
        name,
        (row) => rich.handshake[row * rich.handshakeColumns + j]!,
      ]),
    ];
  };
  return { failures, replayed, candidates };
}

function main(): void {
  const { values } = parsed(import.meta.filename, { options: { streams: { type: "string" } } });
  if (values.streams === undefined) {
    process.stderr.write("usage: eval:features -- --streams DIR\n");
    process.exit(2);
  }
  const report: Record<string, Record<string, Found>> = {};
  for (const file of readdirSync(values.streams).filter((name) => name.endsWith(".csv"))) {
    const { failures, replayed, candidates } = candidatesOf(join(values.streams, file));
    for (const side of SIDES) {
      const usable = usableColumns(side === "handshake");
      const base = judged(replayed[side], failures, usable);
      const name = `${basename(file, ".csv")}, ${side}`;
      report[name] = { none: base };
      process.stderr.write(`${name}: ${base.auc.toFixed(4)} / ${base.log_loss.toFixed(4)}\n`);
      for (const [what, valueOf] of candidates(side)) {
        const found = judged(replayed[side], failures, usable, valueOf);
        report[name][what] = found;
        const change = (x: number) => (x >= 0 ? "+" : "") + x.toFixed(4);
        process.stderr.write(
          `  ${what}: AUC ${change(found.auc - base.auc)}, log-loss ` +
            `${change(found.log_loss - base.log_loss)}, weight ${found.weight.toFixed(2)}\n`,
        );
      }
    }
  }
  process.stdout.write(`${JSON.stringify(report)}\n`);
}

main();
