// Step of calibration alone as a challenger of a grown champion: intercept and slope fitted to the newest
// rows, half of the way, and what the gates of a re-fit say of it. For bench:kaizen-accrued.
import type { ScoringConfig, ScoringModel } from "../src/engine/config.ts";
import { evaluateBreadthGate } from "../src/kaizen/gates/breadth.ts";
import { GATE_POLICY } from "../src/kaizen/gates/gate.ts";
import { evaluateSuperiorityGate } from "../src/kaizen/gates/loss.ts";
import { forecastRows } from "../src/kaizen/model/holdout.ts";
import type { FitRows } from "../src/kaizen/model/holdout.ts";
import {
  computeTrainingWeights,
  markNewReporters,
  computeRowWeights,
} from "../src/kaizen/model/row-weights.ts";
import {
  readCoefficients,
  flagUsableColumns,
  stepTowards,
  replaceCoefficients,
} from "../src/kaizen/model/scorecard.ts";
import { applyStartUpCalibration, fitStartUpCalibration } from "../src/kaizen/model/start-up.ts";
import type { ScorecardSide } from "../src/kaizen/sides.ts";

/** What is fitted, and on how many of the newest rows. */
export interface CalibrationPlan {
  side: ScorecardSide;
  newest: number;
}

/** The whole step fitted to rows before `to`, with the weights of its rows; the champion where none is found. */
function fitted(evidence: FitRows, to: number, config: ScoringConfig, plan: CalibrationPlan) {
  const champion = config[plan.side];
  const weights = computeTrainingWeights(evidence, to, markNewReporters(evidence, to));
  weights.fill(0, 0, Math.max(0, to - plan.newest));
  const found = fitStartUpCalibration(evidence, to, champion, weights);
  const whole = found === null ? champion : applyStartUpCalibration(champion, found, config);
  return { weights, coefficients: readCoefficients(whole) };
}

/** The scorecard half a step towards its calibration on the rows before `to`. */
export function calibrationStep(
  evidence: FitRows,
  to: number,
  config: ScoringConfig,
  plan: CalibrationPlan,
): ScoringModel {
  const { coefficients } = fitted(evidence, to, config, plan);
  const champion = config[plan.side];
  return replaceCoefficients(champion, stepTowards(readCoefficients(champion), coefficients));
}

/** Gates G2 and G11 of a calibration that is fitted before row `from` and tested up to `to`. */
export function testCalibration(
  evidence: FitRows,
  [from, to]: readonly [number, number],
  config: ScoringConfig,
  plan: CalibrationPlan,
) {
  const challenger = calibrationStep(evidence, from, config, plan);
  const holdout = {
    failures: evidence.failures.subarray(from, to),
    subjects: evidence.subjects.subarray(from, to),
    reporters: evidence.reporters.subarray(from, to),
    weights: computeRowWeights(evidence, from, to, markNewReporters(evidence, from)),
    config,
    champion: forecastRows(evidence, from, to, config[plan.side], config),
    challenger: forecastRows(evidence, from, to, challenger, config),
  };
  const own = fitted(evidence, from, config, plan);
  const usable = flagUsableColumns(plan.side);
  // Left out are teachers; a fit without a community is none of two numbers, and is not asked for.
  const lesson = { evidence, trainTo: from, usable, lambda: 1, ...own };
  const policy = { ...GATE_POLICY, communities_max: 0 };
  const gates = [
    evaluateSuperiorityGate(holdout, GATE_POLICY),
    evaluateBreadthGate(holdout, { fitted: lesson, holdoutFrom: from }, policy),
  ];
  return { challenger, gates };
}
