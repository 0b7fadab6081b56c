// Start-up calibration: fits intercept and slope of the shipped scorecard to an operator's first outcomes.
// Two numbers can be learned from a hundred rows, fifteen weights cannot. Tested by gates G1 to G3 on
// rows that no earlier calibration was tested on. Pure.
import type { ScoringConfig, ScoringModel } from "../engine/config.ts";
import { solveCholesky } from "./model/fit.ts";
import { computeDenialThreshold, forecastRows, findFirstRowAtOrAfter } from "./model/holdout.ts";
import type { FitRows, Holdout } from "./model/holdout.ts";
import {
  readCoefficients,
  computeRowLogit,
  replaceCoefficients,
  SCORECARD_SIDES,
} from "./model/scorecard.ts";
import { GATE_POLICY } from "./gates/register.ts";
import type { GatePolicy } from "./gates/register.ts";
import { evaluateRankingGate, evaluateSampleGate, evaluateSuperiorityGate } from "./gates/loss.ts";
import { collectRunFigures } from "./model/run-charts.ts";
import {
  computeTrainingWeights,
  markNewReporters,
  computeRowWeights,
} from "./model/row-weights.ts";
import { buildFindings, countRunRows } from "./run.ts";
import type { RunFindings, KaizenRunOptions, ScorecardFindings } from "./run.ts";
import type { ScorecardSide } from "./model/scorecard.ts";

/**
 * Standard deviations of the pull: how far a stream's failure rate (log-odds) and its slope may be
 * expected to lie from those of the shipped weights before its own outcomes say so.
 */
const SHIFT_SD = 0.5;
const SLOPE_SD = 0.25;
const STEPS_MAX = 50;
const STEP_TOLERANCE = 1e-9;
/** A slope below it would be no calibration any more: the ranking would be all but gone. */
const SLOPE_MIN = 0.2;

/** Log-odds after: `level` + `slope` * (log-odds before - `centre`). */
export interface StartUpCalibration {
  centre: number;
  level: number;
  slope: number;
}

const sigmoid = (x: number): number => 1 / (1 + Math.exp(-x));

/**
 * Fits rows [0, to) with the given weights; null when the rows give no finite answer. Rows are
 * centred, so that level and slope are learnt apart.
 */
export function fitStartUpCalibration(
  evidence: FitRows,
  to: number,
  model: ScoringModel,
  weights: ArrayLike<number>,
): StartUpCalibration | null {
  const beta = readCoefficients(model);
  const logits = Float64Array.from({ length: to }, (_, row) =>
    computeRowLogit(evidence.rows, row, beta),
  );
  const mass = logits.reduce((sum, _, row) => sum + weights[row]!, 0);
  const centre = logits.reduce((sum, x, row) => sum + weights[row]! * x, 0) / mass;
  if (!Number.isFinite(centre)) return null;
  let [level, slope] = [centre, 1];
  for (let step = 0; step < STEPS_MAX; step++) {
    const gradient = new Float64Array(2);
    const hessian = new Float64Array(4);
    logits.forEach((logit, row) => {
      const x = logit - centre;
      const p = sigmoid(level + slope * x);
      const residual = weights[row]! * (evidence.failures[row]! - p);
      const information = weights[row]! * p * (1 - p);
      gradient[0]! += residual;
      gradient[1]! += residual * x;
      hessian[0]! += information;
      hessian[1]! += information * x;
      hessian[3]! += information * x * x;
    });
    gradient[0]! -= (level - centre) / SHIFT_SD ** 2;
    gradient[1]! -= (slope - 1) / SLOPE_SD ** 2;
    hessian[0]! += SHIFT_SD ** -2;
    hessian[3]! += SLOPE_SD ** -2;
    hessian[2] = hessian[1]!;
    const move = solveCholesky(hessian, gradient);
    if (move === null || !move.every(Number.isFinite)) return null;
    // Newton overshoots far from the answer: no step of more than one unit.
    level += Math.max(-1, Math.min(1, move[0]!));
    slope += Math.max(-1, Math.min(1, move[1]!));
    if (Math.max(Math.abs(move[0]!), Math.abs(move[1]!)) < STEP_TOLERANCE) break;
  }
  return slope >= SLOPE_MIN ? { centre, level, slope } : null;
}

/**
 * The model with the calibration in its weights. The ranking stays, and so does who is denied: the
 * border moves with the probabilities, though never below that of the costs.
 */
export function applyStartUpCalibration(
  model: ScoringModel,
  { centre, level, slope }: StartUpCalibration,
  config: ScoringConfig,
): ScoringModel {
  const moved = (logit: number) => level + slope * (logit - centre);
  const beta = readCoefficients(model).map((weight, j) =>
    j === 0 ? moved(weight) : slope * weight,
  );
  const own = replaceCoefficients(model, beta);
  const border = computeDenialThreshold(model, config);
  if (!(border < 1)) return own;
  return { ...own, deny_at: sigmoid(moved(Math.log(border / (1 - border)))) };
}

/** Settled outcomes from which on a start-up calibration is tried. */
export const CALIBRATION_ROWS_MIN = 200;
/**
 * Two numbers are learnt: a tenth of what a whole scorecard needs. Tried by the day, and tested whenever
 * the outcomes have doubled: each of some ten tests may be fooled in one of a hundred cases.
 */
const CALIBRATION_POLICY: GatePolicy = {
  ...GATE_POLICY,
  z_min: 2.326,
  relative_gain_min: 0.01,
  rows_min: 100,
  // With fewer the loss of a failure or two decides, and z says nothing.
  failures_min_pilot: 30,
  effective_reporters_min: 10,
  effective_subjects_min: 10,
};

function calibrateSide(
  side: ScorecardSide,
  evidence: FitRows,
  champion: ScoringConfig,
  options: KaizenRunOptions,
): ScorecardFindings {
  const holdoutTo = findFirstRowAtOrAfter(evidence, options.nowMs);
  // The first calibration keeps the newer half for its test, a later one what no test has seen.
  const testedToMs = options.testedToMs[side];
  const holdoutFrom = testedToMs > 0 ? findFirstRowAtOrAfter(evidence, testedToMs) : holdoutTo >> 1;
  const fromMs = evidence.timesMs[holdoutFrom] ?? options.nowMs;
  const trainTo = findFirstRowAtOrAfter(evidence, fromMs - options.gapMs);
  const record: ScorecardFindings = {
    side,
    passed: false,
    reason: "",
    rows: countRunRows(side, evidence, champion, { trainTo, holdoutFrom, holdoutTo }),
    holdout_from_ms: fromMs,
    holdout_to_ms: options.nowMs,
    gates: [],
    champion: champion[side],
  };
  // Rows are tested once: a test of a few would be lost, and a score of them finds something by chance.
  const needed = Math.max(CALIBRATION_ROWS_MIN, 2 * holdoutFrom);
  if (holdoutTo < needed) {
    return { ...record, reason: `insufficient evidence: ${holdoutTo} outcomes, needed ${needed}` };
  }
  const reporters = evidence.reporters.subarray(holdoutFrom, holdoutTo);
  const isNew = markNewReporters(evidence, trainTo);
  const base = {
    failures: evidence.failures.subarray(holdoutFrom, holdoutTo),
    subjects: evidence.subjects.subarray(holdoutFrom, holdoutTo),
    reporters,
    weights: computeRowWeights(evidence, holdoutFrom, holdoutTo, isNew),
    config: champion,
    champion: forecastRows(evidence, [holdoutFrom, holdoutTo], champion[side], champion),
  };
  const sample = evaluateSampleGate(base, CALIBRATION_POLICY, true);
  record.gates.push(sample);
  if (!sample.passed) return { ...record, reason: `insufficient evidence: ${sample.sentence}` };
  const found = fitStartUpCalibration(
    evidence,
    trainTo,
    champion[side],
    computeTrainingWeights(evidence, trainTo, isNew),
  );
  if (found === null) return { ...record, reason: "the calibration broke; the champion stays" };
  const challenger = applyStartUpCalibration(champion[side], found, champion);
  const after = forecastRows(evidence, [holdoutFrom, holdoutTo], challenger, champion);
  const holdout: Holdout = { ...base, challenger: after };
  record.gates.push(
    evaluateSuperiorityGate(holdout, CALIBRATION_POLICY),
    evaluateRankingGate(holdout, CALIBRATION_POLICY),
  );
  const failed = record.gates.find((gate) => !gate.passed);
  const figures = collectRunFigures(holdout, evidence.rows, holdoutFrom, holdoutTo);
  const reason =
    failed === undefined ? "all gates passed" : `${failed.id} ${failed.name}: ${failed.sentence}`;
  return { ...record, passed: failed === undefined, reason, challenger, figures };
}

/** Calibrates both scorecards. `testedToMs` is that of calibrations. */
export function calibrateBothScorecards(
  evidence: Record<ScorecardSide, FitRows>,
  champion: ScoringConfig,
  options: KaizenRunOptions,
): RunFindings {
  const sides = SCORECARD_SIDES.map((side) =>
    calibrateSide(side, evidence[side], champion, options),
  );
  return buildFindings(sides, champion, `calibration ${options.id}`);
}
