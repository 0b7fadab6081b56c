// eval:grounding: separation of supported from unsupported texts by the grounding score on labelled
// rows, by the real module. Rows with sources of the shipped fit are scored by numbers refitted
// without their fold (idf, weights and thresholds), split by source; all other rows by the shipped
// numbers as they are. One JSON object on the last line of stdout.
import { readFileSync } from "node:fs";
import { parseArgs } from "node:util";

import { auc } from "../src/kaizen/model/metrics.ts";
import { readNumbers, readWeights } from "../src/vault/grounding/tables.ts";
import { ALPHA_LO, coverageOf, tenantCoverageOf, withThresholds } from "./grounding-calibrate.ts";
import type { Calibrated } from "./grounding-calibrate.ts";
import { citationReport } from "./grounding-citations.ts";
import { fitOn, scoreRows } from "./grounding-fit.ts";
import { FOLDS, foldOf, groupDigest, readRows, RowBench } from "./grounding-rows.ts";
import type { LabelledRow } from "./grounding-rows.ts";

interface Judged extends Calibrated {
  threshold: number;
}

const round = (value: number) => Math.round(value * 1e4) / 1e4;

function fittedGroups(): Set<string> {
  const url = new URL("../data/grounding/fitted-groups.json", import.meta.url);
  return new Set(JSON.parse(readFileSync(url, "utf8")) as string[]);
}

/** Scores fitted rows fold by fold, each under numbers that never saw its sources. */
function crossValidate(bench: RowBench, rows: readonly LabelledRow[]): Judged[] {
  return Array.from({ length: FOLDS }, (_, fold) => fold).flatMap((fold) => {
    const held = rows.filter((row) => foldOf(row) === fold);
    if (held.length === 0) return [];
    process.stderr.write(`fold ${fold + 1} of ${FOLDS}: fitting without ${held.length} rows\n`);
    const { numbers } = fitOn(
      bench,
      rows.filter((row) => foldOf(row) !== fold),
    );
    return judge(withThresholds(scoreRows(bench, numbers, held), numbers), numbers.f1_at);
  });
}

/** A task that was never fitted is judged at the mean of the others' thresholds. */
function judge(scored: readonly Calibrated[], f1At: Record<string, number>): Judged[] {
  const known = Object.values(f1At);
  const mean = known.reduce((sum, each) => sum + each, 0) / Math.max(1, known.length);
  return scored.map((each) => ({ ...each, threshold: f1At[each.row.task] ?? mean }));
}

function shipped(bench: RowBench, rows: readonly LabelledRow[]): Judged[] {
  const numbers = readNumbers();
  bench.install(numbers, new Map(readWeights()));
  return judge(withThresholds(scoreRows(bench, numbers, rows), numbers), numbers.f1_at);
}

/** F1, balanced accuracy and AUROC of judged rows, beside a trivial baseline. */
function summarise(judged: readonly Judged[]) {
  const labels = judged.map(({ row }) => row.label);
  const positives = labels.filter((label) => label === 1).length;
  const flagged = judged.filter(({ risk, threshold }) => risk >= threshold);
  const hits = flagged.filter(({ row }) => row.label === 1).length;
  const negatives = judged.length - positives;
  const specificity = (negatives - (flagged.length - hits)) / Math.max(1, negatives);
  const risks = judged.map(({ risk }) => risk);
  const lengths = judged.map(({ row }) => row.resp.length);
  return {
    rows: judged.length,
    positives,
    auroc: round(auc(risks, labels)),
    f1: round((2 * hits) / Math.max(1, flagged.length + positives)),
    balanced_accuracy: round((hits / Math.max(1, positives) + specificity) / 2),
    always_positive_f1: round((2 * positives) / (judged.length + positives)),
    length_only_auroc: round(auc(lengths, labels)),
  };
}

function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  const at = Math.min(sorted.length - 1, Math.floor(share * sorted.length));
  return Math.round((sorted[at] ?? 0) * 10) / 10;
}

function main(): void {
  const { values } = parseArgs({ options: { dir: { type: "string" } } });
  if (values.dir === undefined) throw new Error("--dir names the folder of labelled rows");
  const rows = readRows(values.dir);
  const bench = new RowBench();
  const fitted = fittedGroups();
  const known = rows.filter((row) => fitted.has(groupDigest(row)));
  const fresh = rows.filter((row) => !fitted.has(groupDigest(row)));
  const judged = [...crossValidate(bench, known), ...shipped(bench, fresh)];
  // Under the numbers that the service ships.
  const citations = citationReport(bench, rows);
  const times = judged.map(({ microseconds }) => microseconds);
  const files = [...new Set(rows.map((row) => row.file))].map((file) => {
    const own = judged.filter(({ row }) => row.file === file);
    const ownTimes = own.map(({ microseconds }) => microseconds);
    return Object.assign({ file: `${file}.jsonl` }, summarise(own), {
      us_p50: quantile(ownTimes, 0.5),
      us_p99: quantile(ownTimes, 0.99),
    });
  });
  process.stderr.write(
    `${known.length} rows by refitted numbers, ${fresh.length} by the shipped ones; ` +
      `p50 ${quantile(times, 0.5)} us\n`,
  );
  const report = {
    files,
    ...citations,
    ragtruth: summarise(judged.filter(({ row }) => row.ds.startsWith("ragtruth"))),
    coverage: coverageOf(judged),
    tenant_coverage: tenantCoverageOf(judged, ALPHA_LO),
  };
  process.stdout.write(`${JSON.stringify(report)}\n`);
}

main();
