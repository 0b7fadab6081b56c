// Fit of the grounding numbers: a logistic model of single sentences with weights that may not be
// negative, so that no feature can vouch for what another one doubts. A quarter of the sources is
// fitted on, the rest calibrates the thresholds. Everything ends as integers in 1/1024.
import { FEATURES_COUNT, ONE } from "../assembly/grounding/layout.ts";
import type { GroundingNumbers, KindNumbers } from "../src/vault/grounding/tables.ts";
import { TEXT_KINDS } from "../src/contract/vocabulary.ts";
import type { TextKind } from "../src/contract/vocabulary.ts";
import { calibrate, isCalibrating } from "./grounding-calibrate.ts";
import { kindOfRow, questionOf } from "./grounding-rows.ts";
import type { LabelledRow, RowBench, RowFeatures } from "./grounding-rows.ts";

const ITERATIONS = 1500;
const STEP_WEIGHT = 3;
const STEP_BIAS = 2;
const RIDGE = 0.0005;
/** Measured on the rows: structured answers are long lists, where the mean is a better sign. */
const DATA_TOP_SHARE = 307;
/** Least risk of a text that contradicts a document: evidence, above the thresholds of all kinds. */
const CONTRADICTED = 8 * ONE;
/** Off while the text weights are fitted. */
const NEVER = -64 * ONE;

interface Sample {
  features: Float64Array;
  label: number;
  file: number;
  weight: number;
}

const sigmoid = (x: number) => 1 / (1 + Math.exp(-x));

/** Sentences of all rows; each file weighs the same, long responses less per sentence. */
function samplesOf(rows: readonly RowFeatures[], files: readonly string[]): Sample[] {
  const counts = files.map((file) => rows.filter(({ row }) => row.file === file).length);
  return rows.flatMap(({ row, sentences, labels }) => {
    const file = files.indexOf(row.file);
    const weight = 1 / (counts[file]! * Math.sqrt(Math.max(1, sentences.length)));
    return sentences.map((features, at) => ({
      features: features.map((value) => value / ONE),
      label: labels[at]!,
      file,
      weight,
    }));
  });
}

/** Weights and one bias per file, by projected gradient. */
function descend(samples: readonly Sample[], fileCount: number) {
  const weights = new Float64Array(FEATURES_COUNT).fill(1);
  const biases = new Float64Array(fileCount).fill(-1);
  const total = samples.reduce((sum, { weight }) => sum + weight, 0);
  const totals = new Float64Array(fileCount);
  for (const { file, weight } of samples) totals[file]! += weight;
  for (let iteration = 0; iteration < ITERATIONS; iteration++) {
    const slope = new Float64Array(FEATURES_COUNT);
    const slopes = new Float64Array(fileCount);
    for (const { features, label, file, weight } of samples) {
      let z = biases[file]!;
      for (let at = 0; at < FEATURES_COUNT; at++) z += weights[at]! * features[at]!;
      const error = (sigmoid(z) - label) * weight;
      for (let at = 0; at < FEATURES_COUNT; at++) slope[at]! += error * features[at]!;
      slopes[file]! += error;
    }
    for (let at = 0; at < FEATURES_COUNT; at++) {
      const step = STEP_WEIGHT * (slope[at]! / total + RIDGE * weights[at]!);
      weights[at] = Math.max(0, weights[at]! - step);
    }
    for (let at = 0; at < fileCount; at++) biases[at]! -= (STEP_BIAS * slopes[at]!) / totals[at]!;
  }
  return { weights, biases };
}

/** Numbers fitted to rows whose features were taken under the idf that is installed. */
export function fitNumbers(rows: readonly RowFeatures[], idfUnseen: number): GroundingNumbers {
  const files = [...new Set(rows.map(({ row }) => row.file))];
  const { weights, biases } = descend(samplesOf(rows, files), files.length);
  const bias = biases.reduce((sum, each) => sum + each, 0) / files.length;
  return {
    weights: Array.from(weights, (weight) => Math.round(weight * ONE)),
    bias: Math.round(bias * ONE),
    text: { absent: 0, facts: 0, contradicted: NEVER },
    idf_unseen: idfUnseen,
    kinds: Object.fromEntries(TEXT_KINDS.map((kind) => [kind, blankKind(kind)])) as Record<
      TextKind,
      KindNumbers
    >,
    // Windows of true citations and of pages drawn at random: see eval:grounding.
    citation: { soft: 184, hard: 102 },
    f1_at: {},
  };
}

function blankKind(kind: TextKind): KindNumbers {
  const top_share = kind === "data" ? DATA_TOP_SHARE : ONE;
  return { top_share, tau_lo: 0, tau_hi: 0, sources: 0, alpha_lo: 0, alpha_hi: 0 };
}

/** Risk of a row by its sentences alone, and what each text weight would add to it. */
interface TextSample {
  risk: number;
  terms: [number, number];
  label: number;
  file: number;
  weight: number;
}

/** Risks under the installed numbers with one text weight set at a time: the terms are linear. */
function textSamplesOf(
  bench: RowBench,
  numbers: GroundingNumbers,
  idf: ReadonlyMap<number, number>,
  rows: readonly LabelledRow[],
) {
  const files = [...new Set(rows.map(({ file }) => file))];
  const counts = files.map((name) => rows.filter(({ file }) => file === name).length);
  const risksWith = (absent: number, facts: number) => {
    bench.install({ ...numbers, text: { ...numbers.text, absent, facts } }, idf);
    return scoreRows(bench, numbers, rows).map(({ risk }) => risk / ONE);
  };
  const [plain, absent, facts] = [risksWith(0, 0), risksWith(ONE, 0), risksWith(0, ONE)];
  const samples = rows.map((row, at): TextSample => {
    const file = files.indexOf(row.file);
    const terms: [number, number] = [absent[at]! - plain[at]!, facts[at]! - plain[at]!];
    return { risk: plain[at]!, terms, label: row.label, file, weight: 1 / counts[file]! };
  });
  return { samples: samples.filter(({ risk }) => risk > NOTHING_TO_CHECK / ONE), files };
}

/** Weights of the text and its part of the bias: logistic on whole texts, the sentences' risk given. */
function fitText(
  bench: RowBench,
  numbers: GroundingNumbers,
  idf: ReadonlyMap<number, number>,
  rows: readonly LabelledRow[],
): void {
  const { samples, files } = textSamplesOf(bench, numbers, idf, rows);
  const weights = [0, 0] as [number, number];
  const biases = files.map(() => 0);
  const total = samples.reduce((sum, { weight }) => sum + weight, 0);
  for (let iteration = 0; iteration < ITERATIONS; iteration++) {
    const slope = [0, 0] as [number, number];
    const slopes = files.map(() => 0);
    for (const { risk, terms, label, file, weight } of samples) {
      const z = risk + weights[0] * terms[0] + weights[1] * terms[1] + biases[file]!;
      const error = (sigmoid(z) - label) * weight;
      slope[0] += error * terms[0];
      slope[1] += error * terms[1];
      slopes[file]! += error;
    }
    for (const at of [0, 1] as const) {
      const step = STEP_WEIGHT * (slope[at] / total + RIDGE * weights[at]);
      weights[at] = Math.max(0, weights[at] - step);
    }
    for (const at of files.keys()) biases[at]! -= STEP_BIAS * slopes[at]!;
  }
  const mean = biases.reduce((sum, each) => sum + each, 0) / files.length;
  const [absent, facts] = weights.map((weight) => Math.round(weight * ONE)) as [number, number];
  numbers.text = { absent, facts, contradicted: CONTRADICTED };
  numbers.bias += Math.round(mean * ONE);
}

/** Risk of a text without a sentence to check, which counts as clean. */
const NOTHING_TO_CHECK = -10 * ONE;

export interface Scored {
  row: LabelledRow;
  risk: number;
  isContradicted: boolean;
  microseconds: number;
}

/** Risks of rows under the numbers that are installed. */
export function scoreRows(
  bench: RowBench,
  numbers: GroundingNumbers,
  rows: readonly LabelledRow[],
): Scored[] {
  return rows.map((row) => {
    const { number } = bench.documentOf(row);
    const startedAt = performance.now();
    const { top_share } = numbers.kinds[kindOfRow(row)];
    const reading = bench.reader.score(row.resp, questionOf(row), [number], top_share)!;
    const microseconds = (performance.now() - startedAt) * 1000;
    const risk = reading.sentenceCount === 0 ? NOTHING_TO_CHECK : reading.risk;
    return { row, risk, isContradicted: reading.isContradicted, microseconds };
  });
}

/** The threshold with the best F1, per task. */
export function bestThresholds(scored: readonly Scored[]): Record<string, number> {
  const tasks = [...new Set(scored.map(({ row }) => row.task))].toSorted();
  return Object.fromEntries(
    tasks.map((task) => [task, bestThreshold(scored.filter(({ row }) => row.task === task))]),
  );
}

function bestThreshold(scored: readonly Scored[]): number {
  const sorted = scored.toSorted((a, b) => b.risk - a.risk);
  const positives = sorted.filter(({ row }) => row.label === 1).length;
  let best = { f1: -1, at: 0 };
  let hits = 0;
  for (const [at, { row, risk }] of sorted.entries()) {
    hits += row.label;
    if (sorted[at + 1]?.risk === risk) continue;
    const f1 = (2 * hits) / (at + 1 + positives);
    // Halfway to the next score: no row sits on the line.
    const line = (risk + (sorted[at + 1]?.risk ?? risk - 2)) >> 1;
    if (f1 > best.f1) best = { f1, at: line };
  }
  return best.at;
}

/**
 * Fits on these rows alone, idf included, and leaves the numbers installed. Weights, bias and idf
 * come from the fitting split; rows of the other sources calibrate the thresholds, so that those
 * hold for texts of new sources as split conformal promises.
 */
export function fitOn(bench: RowBench, rows: readonly LabelledRow[]) {
  const fitted = rows.filter((row) => !isCalibrating(row));
  const { weights, unseen } = bench.idfOf(fitted);
  const blank = { weights: [], bias: 0, idf_unseen: unseen } as unknown as GroundingNumbers;
  const text = { absent: 0, facts: 0, contradicted: 0 };
  const zeros = Array.from({ length: FEATURES_COUNT }, () => 0);
  bench.install({ ...blank, weights: zeros, text }, weights);
  const numbers = fitNumbers(
    fitted.map((row) => bench.featuresOf(row)),
    unseen,
  );
  fitText(bench, numbers, weights, fitted);
  bench.install(numbers, weights);
  const scored = scoreRows(bench, numbers, rows);
  numbers.f1_at = bestThresholds(scored);
  calibrate(numbers, scored);
  return { numbers, weights };
}
