// eval:grounding: separation of supported from unsupported texts by the grounding score on labelled
// rows, by the real module. Rows with sources of the shipped fit are scored by numbers refitted
// without their fold (idf, weights and thresholds), split by source; all other rows by the shipped
// numbers as they are. `--shipped` scores every row by the shipped numbers, `--leave-file-out` each
// file by numbers refitted without it. One JSON object on the last line of stdout.
import { readFileSync } from "node:fs";

import { parsed } from "./load/parsed.ts";
import { computeAuc } from "../src/kaizen/model/forecast-metrics.ts";
import { readGroundingNumbers, readStemWeights } from "../src/vault/grounding/tables.ts";
import { ALPHA_LO, coverageOf, tenantCoverageOf, withThresholds } from "./grounding-calibrate.ts";
import type { Calibrated } from "./grounding-calibrate.ts";
import { citationReport } from "./grounding-citations.ts";
import { fitOn, scoreRows } from "./grounding-fit.ts";
import { wordsAbsent } from "./grounding-overlap.ts";
import { foldOf, groupDigest, readRows, RowBench } from "./grounding-rows.ts";
import type { LabelledRow } from "./grounding-rows.ts";

interface Judged extends Calibrated {
  threshold: number;
}

const round = (value: number) => Math.round(value * 1e4) / 1e4;

function fittedGroups(): Set<string> {
  const url = new URL("../data/grounding/fitted-groups.json", import.meta.url);
  return new Set(JSON.parse(readFileSync(url, "utf8")) as string[]);
}

/** Scores rows part by part, each under numbers that never saw the part. */
function crossValidate(
  bench: RowBench,
  rows: readonly LabelledRow[],
  partOf: (row: LabelledRow) => number | string,
): Judged[] {
  return [...new Set(rows.map((row) => String(partOf(row))))].toSorted().flatMap((part) => {
    const held = rows.filter((row) => String(partOf(row)) === part);
    process.stderr.write(`part ${part}: fitting without ${held.length} rows\n`);
    const { numbers } = fitOn(
      bench,
      rows.filter((row) => String(partOf(row)) !== part),
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
  const numbers = readGroundingNumbers();
  bench.install(numbers, new Map(readStemWeights()));
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
    auroc: round(computeAuc(risks, labels)),
    f1: round((2 * hits) / Math.max(1, flagged.length + positives)),
    balanced_accuracy: round((hits / Math.max(1, positives) + specificity) / 2),
    always_positive_f1: round((2 * positives) / (judged.length + positives)),
    length_only_auroc: round(computeAuc(lengths, labels)),
    word_overlap_auroc: round(
      computeAuc(
        judged.map(({ row }) => wordsAbsent(row)),
        labels,
      ),
    ),
  };
}

function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  const at = Math.min(sorted.length - 1, Math.floor(share * sorted.length));
  return Math.round((sorted[at] ?? 0) * 10) / 10;
}

/** Every row once, by refitted numbers where `isKnown`, else by the shipped ones. */
function judgeAll(
  bench: RowBench,
  rows: readonly LabelledRow[],
  partOf: (row: LabelledRow) => number | string,
  isKnown: (row: LabelledRow) => boolean,
): Judged[] {
  const known = rows.filter((row) => isKnown(row));
  const fresh = rows.filter((row) => !isKnown(row));
  process.stderr.write(
    `${known.length} rows by refitted numbers, ${fresh.length} by the shipped\n`,
  );
  return [...crossValidate(bench, known, partOf), ...shipped(bench, fresh)];
}

function main(): void {
  const { values } = parsed(import.meta.filename, {
    options: {
      dir: { type: "string" },
      shipped: { type: "boolean", default: false },
      "leave-file-out": { type: "boolean", default: false },
    },
  });
  if (values.dir === undefined) throw new Error("--dir names the folder of labelled rows");
  const rows = readRows(values.dir);
  const bench = new RowBench();
  const fitted = fittedGroups();
  const isFitted = (row: LabelledRow) => fitted.has(groupDigest(row));
  const judged = values.shipped
    ? shipped(bench, rows)
    : values["leave-file-out"]
      ? judgeAll(
          bench,
          rows,
          ({ file }) => file,
          () => true,
        )
      : judgeAll(bench, rows, foldOf, isFitted);
  // Under the numbers that the service ships.
  bench.install(readGroundingNumbers(), new Map(readStemWeights()));
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
  for (const { file, auroc, word_overlap_auroc } of files) {
    process.stderr.write(`${file}: AUROC ${auroc}, word overlap ${word_overlap_auroc}\n`);
  }
  process.stderr.write(`p50 ${quantile(times, 0.5)} us\n`);
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
