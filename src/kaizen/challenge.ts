// Challenge of a champion scorecard: time split, fit towards the champion, test on rows that no
// earlier test has used, answers of all gates. Pure: the same evidence and policy give the same
// answer.
import type { ScoringConfig, ScoringModel } from "../engine/config.ts";
import type { LogisticFit } from "./model/fit.ts";
import { GATE_POLICY, formatRounded, sortGateResults } from "./gates/register.ts";
import type { GatePolicy, GateResult } from "./gates/register.ts";
import {
  measureLossGain,
  evaluateRankingGate,
  evaluateSampleGate,
  evaluateSuperiorityGate,
} from "./gates/loss.ts";
import {
  evaluateCalibrationGate,
  evaluateDriftGate,
  evaluateFalsePositiveGate,
  evaluateStabilityGate,
} from "./gates/safety.ts";
import { evaluateBreadthGate } from "./gates/breadth.ts";
import { forecastRows } from "./model/holdout.ts";
import type { FitRows, Holdout } from "./model/holdout.ts";
import type { FittedScorecard } from "./model/leave-out.ts";
import { fitDenialThreshold, computeLogLoss } from "./model/forecast-metrics.ts";
import {
  computeTrainingWeights,
  markNewReporters,
  computeRowWeights,
} from "./model/row-weights.ts";
import {
  readCoefficients,
  fitScorecard,
  computeRowLogit,
  stepTowards,
  replaceCoefficients,
} from "./model/scorecard.ts";
import { buildCalibrationSlices, buildSlices } from "./model/slices.ts";
import { evaluateSliceGate } from "./gates/slice-gate.ts";
import { evaluateMonotoneGate } from "./gates/monotone.ts";
import type { RandomStateFindings } from "./gates/monotone.ts";

/** Strengths of the penalty towards the champion; one is chosen on an inner split by time. */
const LAMBDAS = [1, 5, 25] as const;
/** Share of the training rows, the newest, on which lambda is chosen. */
const INNER_SHARE = 0.2;
/** The newest of the other rows suffice to rank three lambdas. */
const INNER_ROWS_MAX = 200_000;
const TRAIN_ROWS_MIN = 500;
const TRAIN_FAILURES_MIN = 40;

export interface ChallengeOptions {
  /** The scorecard to challenge. */
  side: "check" | "handshake";
  /** Columns the fit may use. */
  usable: readonly boolean[];
  /** Training rows end here; the holdout begins at `holdoutFrom` (after the settlement gap). */
  trainTo: number;
  holdoutFrom: number;
  holdoutTo: number;
  /** True: fewer failures suffice (young deployments). */
  isPilot: boolean;
  policy?: GatePolicy;
  /** True: a person has agreed to a structural change beforehand. */
  isSignedOff?: boolean;
  /** Plays a challenger on random states in a private engine (gate G6). */
  probe?: (challenger: ScoringConfig) => RandomStateFindings;
  /** True: the border of denial stays the champion's, whatever the successes would allow. */
  isBorderKept?: boolean;
  /** True: random states are played only where every other gate has passed. */
  isBrief?: boolean;
}

export interface ChallengeResult {
  /** Exact model that was tested; absent when the gates could not be evaluated. */
  challenger?: ScoringModel;
  /** Rows of the test, for figures and resampling. */
  holdout?: Holdout;
  lambda?: number;
  /** What the training successes say of the border of denial. */
  border?: string;
  gates: GateResult[];
  passed: boolean;
  /** One sentence: promoted, or the first obstacle. */
  reason: string;
}

function failChallenge(gates: GateResult[], reason: string): ChallengeResult {
  return { gates, passed: false, reason };
}

/** Challenges the champion of `config`. Does not throw on any evidence. */
export function challengeScorecard(
  evidence: FitRows,
  config: ScoringConfig,
  options: ChallengeOptions,
): ChallengeResult {
  const policy = options.policy ?? GATE_POLICY;
  const { holdoutFrom, holdoutTo, trainTo } = options;
  const failures = evidence.failures.subarray(holdoutFrom, holdoutTo);
  const reporters = evidence.reporters.subarray(holdoutFrom, holdoutTo);
  const subjects = evidence.subjects.subarray(holdoutFrom, holdoutTo);
  if (failures.length === 0) return failChallenge([], "no settled outcomes since the last test");
  const isNew = markNewReporters(evidence, trainTo);
  const weights = computeRowWeights(evidence, holdoutFrom, holdoutTo, isNew);
  const champion = config[options.side];
  const before = forecastRows(evidence, [holdoutFrom, holdoutTo], champion, config);
  const base = { failures, subjects, reporters, weights, config, champion: before };
  const sample = evaluateSampleGate(base, policy, options.isPilot);
  if (!sample.passed) return failChallenge([sample], `insufficient evidence: ${sample.sentence}`);
  const trainBads = evidence.failures.subarray(0, trainTo).reduce((sum, y) => sum + y, 0);
  if (trainTo < TRAIN_ROWS_MIN || trainBads < TRAIN_FAILURES_MIN) {
    const have = `${trainTo} training rows with ${trainBads} failures`;
    return failChallenge([sample], `insufficient evidence: ${have}`);
  }
  const fitted = fitChallenger(evidence, config, options);
  if ("broken" in fitted) return failChallenge([sample], `${fitted.broken}; the champion stays`);
  const { model, border, fitted: rows } = fitted;
  const after = forecastRows(evidence, [holdoutFrom, holdoutTo], model, config);
  // Features of the holdout or fitted weights are not finite numbers: a comparison is impossible.
  const isFinite = [before, after].every(({ logits }) => logits.every(Number.isFinite));
  if (!isFinite)
    return failChallenge([sample], "the holdout gives no finite score; the champion stays");
  const holdout: Holdout = { ...base, challenger: after };
  const trainScores = forecastRows(evidence, [0, trainTo], champion, config).scores;
  const { z } = measureLossGain(holdout);
  const others = [
    sample,
    evaluateSuperiorityGate(holdout, policy),
    evaluateRankingGate(holdout, policy),
    evaluateCalibrationGate(holdout, policy),
    evaluateFalsePositiveGate(holdout, policy),
    evaluateDriftGate(holdout, trainScores, z, policy),
    evaluateStabilityGate(holdout, z, options.isSignedOff ?? false, policy),
    evaluateSliceGate(
      holdout,
      buildSlices(evidence, holdoutFrom, holdoutTo),
      buildCalibrationSlices(evidence, [holdoutFrom, holdoutTo], before, config),
      policy,
    ),
    evaluateBreadthGate(holdout, { fitted: rows, holdoutFrom }, policy),
  ];
  const isProbed = options.isBrief !== true || others.every((gate) => gate.passed);
  const found = isProbed ? options.probe?.({ ...config, [options.side]: model }) : undefined;
  const monotone = evaluateMonotoneGate(holdout, policy, found);
  const gates = sortGateResults([...others, monotone]);
  const failed = gates.find((gate) => !gate.passed);
  const passed = failed === undefined;
  const reason = passed ? "all gates passed" : `${failed.id} ${failed.name}: ${failed.sentence}`;
  const { lambda } = rows;
  return { challenger: model, holdout, lambda, border, gates, passed, reason };
}

/** Chooses lambda on an inner split, then fits all training rows; returns the defect on failure. */
function fitChallenger(
  evidence: FitRows,
  config: ScoringConfig,
  options: ChallengeOptions,
): { model: ScoringModel; fitted: FittedScorecard; border: string } | { broken: string } {
  const champion = config[options.side];
  const { rows, failures } = evidence;
  const { trainTo, usable } = options;
  const weights = computeTrainingWeights(evidence, trainTo, markNewReporters(evidence, trainTo));
  const fitOn = (to: number, lambda: number, from = 0) =>
    fitScorecard({ rows, failures, weights }, [from, to], champion, { usable, lambda });
  const inner = Math.floor(trainTo * (1 - INNER_SHARE));
  let best: { lambda: number; loss: number } | undefined;
  for (const lambda of LAMBDAS) {
    const fit = fitOn(inner, lambda, Math.max(0, inner - INNER_ROWS_MAX));
    if (fit === null) continue;
    const tested = stepTowards(readCoefficients(champion), fit.coefficients);
    const loss = computeMeanLossOfRows(evidence, inner, trainTo, tested);
    if (best === undefined || loss < best.loss) best = { lambda, loss };
  }
  if (best === undefined || !Number.isFinite(best.loss)) return { broken: "the fit broke" };
  const fit = fitOn(trainTo, best.lambda);
  if (fit === null) return { broken: "the fit broke" };
  if (isCompletelySeparated(evidence, trainTo, fit)) {
    return { broken: "the fit broke: the features tell every failure from every success" };
  }
  const { coefficients } = fit;
  const tested = stepTowards(readCoefficients(champion), coefficients);
  const shaped = replaceCoefficients(champion, tested);
  const goods = listSuccessProbabilities(evidence, trainTo, shaped, config);
  const border = fitDenialThreshold(goods);
  // Too few successes for a guarantee: the border stays where it is.
  const isKept = options.isBorderKept === true || !Number.isFinite(border);
  const denyAt = isKept ? champion.deny_at : border;
  const model = denyAt === undefined ? shaped : { ...shaped, deny_at: denyAt };
  const { lambda } = best;
  return {
    model,
    fitted: { evidence, trainTo, weights, usable, lambda, coefficients },
    border: explainDenialThreshold(goods.length, border, champion, isKept),
  };
}

/** Why the border of denial is where it is, in one sentence. */
function explainDenialThreshold(
  goods: number,
  border: number,
  { deny_at: before }: ScoringModel,
  isKept: boolean,
): string {
  const reached = `at most 0.1 % of ${goods} successes reach`;
  if (!isKept) {
    return `a record denies from a failure probability of ${formatRounded(border)} on, which ${reached}`;
  }
  const stays =
    before === undefined || before > 1
      ? "the border of denial stays closed: no probability denies"
      : `the border of denial stays at ${formatRounded(before)}`;
  if (Number.isFinite(border)) {
    return `${stays}; from ${formatRounded(border)} on, which ${reached}, slander would deny honest agents`;
  }
  return `${stays}; ${goods} successes are too few to promise that at most 0.1 % are denied`;
}

/** Failure probabilities of the successes in order of time; 0 where a thin record denies nothing. */
function listSuccessProbabilities(
  evidence: FitRows,
  to: number,
  model: ScoringModel,
  config: ScoringConfig,
): number[] {
  const { probabilities, thin } = forecastRows(evidence, [0, to], model, config);
  const scores = Array.from(probabilities, (p, i) => (thin[i] === 1 ? 0 : p));
  return scores.filter((_, i) => evidence.failures[i] === 0);
}

/**
 * Complete separation: every failure lies above every success, so the likelihood has no maximum.
 * The penalty still gives numbers then, but they are the penalty's and not probabilities.
 */
function isCompletelySeparated(evidence: FitRows, to: number, fit: LogisticFit): boolean {
  let lowestFailure = Infinity;
  let highestSuccess = -Infinity;
  for (let row = 0; row < to; row++) {
    const eta = computeRowLogit(evidence.rows, row, fit.coefficients);
    if (evidence.failures[row] === 1) lowestFailure = Math.min(lowestFailure, eta);
    else highestSuccess = Math.max(highestSuccess, eta);
  }
  return lowestFailure > highestSuccess;
}

function computeMeanLossOfRows(
  evidence: FitRows,
  from: number,
  to: number,
  beta: Float64Array,
): number {
  let loss = 0;
  for (let row = from; row < to; row++) {
    const p = 1 / (1 + Math.exp(-computeRowLogit(evidence.rows, row, beta)));
    loss += computeLogLoss(p, evidence.failures[row]!);
  }
  return loss / (to - from);
}

/** Log-loss of one row under a model, for live accounting. */
export function computeRowLossOfModel(evidence: FitRows, row: number, model: ScoringModel): number {
  const p = 1 / (1 + Math.exp(-computeRowLogit(evidence.rows, row, readCoefficients(model))));
  return computeLogLoss(p, evidence.failures[row]!);
}
