// Start-up calibration as a run: before the first full re-fit there are too few outcomes for fifteen
// weights, but soon enough for two. A light challenge of its own: gates G1 to G3, on rows that no
// calibration has been tested on. Pure.
import type { ScoringConfig } from "../engine/config.ts";
import { GATE_POLICY } from "./gates/gate.ts";
import type { GatePolicy } from "./gates/gate.ts";
import { evaluateRankingGate, evaluateSampleGate, evaluateSuperiorityGate } from "./gates/loss.ts";
import { collectRunFigures } from "./model/figures.ts";
import { forecastRows, findFirstRowAtOrAfter } from "./model/holdout.ts";
import type { FitRows, Holdout } from "./model/holdout.ts";
import {
  computeTrainingWeights,
  markNewReporters,
  computeRowWeights,
} from "./model/row-weights.ts";
import { applyStartUpCalibration, fitStartUpCalibration } from "./model/start-up.ts";
import { buildFindings, countRunRows } from "./run.ts";
import type { RunFindings, KaizenRunOptions, ScorecardFindings } from "./run.ts";
import { SCORECARD_SIDES } from "./sides.ts";
import type { ScorecardSide } from "./sides.ts";

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
    champion: forecastRows(evidence, holdoutFrom, holdoutTo, champion[side], champion),
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
  const after = forecastRows(evidence, holdoutFrom, holdoutTo, challenger, champion);
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
