// eval:trust: accuracy of the engine in predicting "the next outcome is a failure" on a real
// stream. The real WASM engine through the same fold as the service; history strictly earlier than
// the event; scorecards fitted on 10-80 % of the stream, judged on the last fifth. One JSON object
// on the last line of stdout.
//
// The stakes of the event itself are not shown to the score: in the public rating files they are
// the magnitude of the very rating to be predicted. With --streams, all files of a folder in one table
// (bench/eval-streams.ts). With --voices, the ratings are folded as signed ones instead of as an import.
import { writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { parsed } from "./load/parsed.ts";
import { FEATURES } from "../src/contract/vocabulary.ts";
import { loadDefaultConfig } from "../src/engine/config.ts";
import type { ScoringConfig, ScoringModel } from "../src/engine/config.ts";
import {
  computeAuc,
  computeCalibrationError,
  computeMeanLogLoss,
  fitDenialThreshold,
  computeTruePositiveRate,
} from "../src/kaizen/model/forecast-metrics.ts";
import { computeDenialThreshold } from "../src/kaizen/model/holdout.ts";
import {
  readCoefficients,
  COLUMN_COUNT,
  fitScorecard,
  isThinRow,
  computeRowDeviation,
  computeRowLogit,
  replaceCoefficients,
} from "../src/kaizen/model/scorecard.ts";
import type { ScorecardRows } from "../src/kaizen/model/scorecard.ts";
import { betaBaselines } from "./beta-baseline.ts";
import { evaluateStreams, PARTS, printStreams } from "./eval-streams.ts";
import type { Part } from "./eval-streams.ts";
import { readRatings } from "./ratings.ts";
import type { RatedOutcome } from "./ratings.ts";
import { replay, usableColumns, VOICES } from "./replay.ts";
import type { Walk } from "./replay.ts";
import { sybilLifts } from "./sybil.ts";

const TRAIN_FROM = 0.1;
const LAMBDA = 1;

interface Split {
  from: number;
  to: number;
  end: number;
}

/** Fits one model on the training part and judges it on the test part. */
function evaluate(
  name: "check" | "handshake",
  rows: ScorecardRows,
  failures: Uint8Array,
  split: Split,
  config: ScoringConfig,
) {
  const champion = config[name];
  const usable = usableColumns(name === "handshake");
  const fit = fitScorecard({ rows, failures }, [split.from, split.to], champion, {
    usable,
    lambda: LAMBDA,
  });
  if (fit === null) throw new Error(`the ${name} fit broke`);
  const model = replaceCoefficients(champion, fit.coefficients);
  const denyAt = denyBorderOf(rows, failures, split, model, config);
  const probabilities: number[] = [];
  let goods = 0;
  let refused = 0;
  for (let row = split.to; row < split.end; row++) {
    probabilities.push(1 / (1 + Math.exp(-computeRowLogit(rows, row, fit.coefficients))));
    if (failures[row] === 1) continue;
    goods++;
    const p = probabilities[probabilities.length - 1]!;
    if (p >= denyAt && !isThinRow(rows, row, config)) refused++;
  }
  const labels = failures.subarray(split.to, split.end);
  return {
    auc: computeAuc(probabilities, labels),
    log_loss: computeMeanLogLoss(probabilities, labels),
    ece: computeCalibrationError(probabilities, labels),
    tpr_at_fpr_1pct: computeTruePositiveRate(probabilities, labels, 0.01),
    fpr_denied: refused / goods,
    deny_at: denyAt,
    coefficients: namedCoefficients(fit.coefficients),
  };
}

/** The border of denial on the training part, never below the cost-based pi3. */
function denyBorderOf(
  rows: ScorecardRows,
  failures: Uint8Array,
  split: Split,
  model: ScoringModel,
  config: ScoringConfig,
): number {
  const beta = readCoefficients(model);
  const goods: number[] = [];
  for (let row = split.from; row < split.to; row++) {
    if (failures[row] === 1) continue;
    const isThick = !isThinRow(rows, row, config);
    goods.push(isThick ? 1 / (1 + Math.exp(-computeRowLogit(rows, row, beta))) : 0);
  }
  return computeDenialThreshold({ ...model, deny_at: fitDenialThreshold(goods) }, config);
}

function namedCoefficients(beta: Float64Array): Record<string, number> {
  const names = ["intercept", "base", "mean", "viewer", ...FEATURES];
  const named: Record<string, number> = {};
  names.forEach((name, j) => {
    if (beta[j] !== 0) named[name] = Number(beta[j]!.toFixed(4));
  });
  return named;
}

function median(values: number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? 0;
}

/**
 * For the shipped (neutral) weights: the references that reason points count against, as medians
 * of the training rows scored below 5 %, and the border of denial.
 */
function calibrated(
  rows: ScorecardRows,
  failures: Uint8Array,
  split: Split,
  model: ScoringModel,
  config: ScoringConfig,
): ScoringModel {
  const beta = readCoefficients(model);
  const sure: number[] = [];
  for (let row = split.from; row < split.to; row++) {
    if (computeRowLogit(rows, row, beta) < Math.log(0.05 / 0.95)) sure.push(row);
  }
  const column = (j: number) => median(sure.map((row) => rows.values[row * COLUMN_COUNT + j]!));
  const round = (x: number) => Number(x.toFixed(3));
  const references: Record<string, number> = {};
  FEATURES.forEach((name, j) => {
    if (name in model.weights) references[name] = round(column(4 + j));
  });
  return {
    ...model,
    deny_at: round(denyBorderOf(rows, failures, split, model, config)),
    mean_reference: round(column(2)),
    sd_reference: round(median(sure.map((row) => computeRowDeviation(rows, row, model)))),
    references,
  };
}

/** Effect of invented agents under the shipped weights. */
function sybilFigures(
  outcomes: RatedOutcome[],
  config: ScoringConfig,
  walk: Pick<Walk, "isRobust" | "voices">,
) {
  const lifts = sybilLifts(outcomes, config, config.check, walk);
  return {
    "20x5_lift_points": lifts.sybil_20x5,
    "200x20_lift_points": lifts.sybil_200x20,
    whitewash_points: lifts.whitewash,
    on_off_points: lifts.on_off,
    bad_mouthing_points: lifts.bad_mouthing,
  };
}

const USAGE = `usage: eval:trust -- --file F [--format snap-ratings] [--voices ${VOICES.join("|")}]
       eval:trust -- --streams DIR [--part test|validation] [--set NAME=NUMBER,...] [--voices ...]
--voices and --robust exclude each other: under credibility every signer is a voice of its own
`;

/** How a file is replayed and judged. */
interface FileEvaluation extends Required<Pick<Walk, "isRobust" | "voices">> {
  readonly testFraction: number;
  readonly lagDays: number;
  readonly writesReferences: boolean;
}

function evaluateFile(
  file: string,
  { testFraction, lagDays, writesReferences, ...walk }: FileEvaluation,
) {
  const outcomes = readRatings(file, "eval");
  const end = outcomes.length;
  const to = Math.floor(end * (1 - testFraction));
  const split = { from: Math.floor(end * TRAIN_FROM), to, end };
  const config = loadDefaultConfig();
  process.stderr.write(`replaying ${end} outcomes through the engine\n`);
  const { check, handshake, failures, rowsPerSecond } = replay(outcomes, config, lagDays, walk);
  if (writesReferences) {
    const written = {
      ...config,
      check: calibrated(check, failures, split, config.check, config),
      handshake: calibrated(handshake, failures, split, config.handshake, config),
    };
    const path = fileURLToPath(new URL("../data/config/default.json", import.meta.url));
    writeFileSync(path, `${JSON.stringify(written, null, 2)}\n`);
    process.stderr.write("wrote the shipped config's references and refuse thresholds\n");
  }
  const test = failures.subarray(to);
  return {
    rows: end,
    agents: new Set(outcomes.flatMap((o) => [o.subject, o.reporter])).size,
    test_rows: end - to,
    bad_rate: test.reduce((sum, y) => sum + y, 0) / test.length,
    voices: walk.voices,
    check: evaluate("check", check, failures, split, config),
    handshake: evaluate("handshake", handshake, failures, split, config),
    baselines: betaBaselines(outcomes, split, lagDays),
    sybil: sybilFigures(outcomes, config, walk),
    rows_per_second: Math.round(rowsPerSecond),
  };
}

function main(): void {
  const { values } = parsed(import.meta.filename, {
    options: {
      file: { type: "string" },
      format: { type: "string", default: "snap-ratings" },
      "test-fraction": { type: "string", default: "0.2" },
      "lag-days": { type: "string", default: "0" },
      "write-references": { type: "boolean", default: false },
      robust: { type: "boolean", default: false },
      streams: { type: "string" },
      part: { type: "string", default: "test" },
      set: { type: "string" },
      voices: { type: "string", default: "import" },
    },
  });
  const voices = VOICES.find((each) => each === values.voices);
  const isMeant = voices !== undefined && !(values.robust && voices !== "import");
  if (isMeant && values.streams !== undefined && values.part in PARTS) {
    const changes = { constants: values.set, voices };
    const rows = evaluateStreams(values.streams, values.part as Part, changes);
    printStreams(rows);
    process.stdout.write(`${JSON.stringify({ part: values.part, voices, rows })}\n`);
    return;
  }
  if (!isMeant || values.file === undefined || values.format !== "snap-ratings") {
    process.stderr.write(USAGE);
    process.exit(2);
  }
  const report = evaluateFile(values.file, {
    voices,
    isRobust: values.robust,
    testFraction: Number(values["test-fraction"]),
    lagDays: Number(values["lag-days"]),
    writesReferences: values["write-references"],
  });
  process.stdout.write(`${JSON.stringify(report)}\n`);
}

main();
