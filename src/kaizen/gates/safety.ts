// Gates on the effect of a promotion on agents: G4 calibration, G5 false positives, G6 monotone
// signs, G7 drift, G8 stability (kaizen 6.3). Each a pure function of the holdout.
import { createGateResult, formatRounded } from "./register.ts";
import type { GatePolicy, GateResult } from "./register.ts";
import {
  computeClopperPearsonUpper,
  computeMcNemarPValue,
  computeRankCorrelation,
  computeStabilityIndex,
  computeTwoWayVariance,
} from "../model/statistics.ts";
import { predictDenials } from "../model/holdout.ts";
import type { Forecast, Holdout } from "../model/holdout.ts";
import { computeCalibrationError } from "../model/forecast-metrics.ts";
import { computeCalibrationNoise, estimateRecalibration } from "../model/recalibration.ts";
import { readCoefficients } from "../model/scorecard.ts";

/** Distance of `value` +- 1.96 `error` from [low, high] at its nearest; 0 when they overlap. */
function computeIntervalDistance(value: number, error: number, low: number, high: number): number {
  return Math.max(0, low - (value + 1.96 * error), value - 1.96 * error - high);
}

function measureCalibration(forecast: Forecast, holdout: Holdout) {
  const { failures, subjects, reporters } = holdout;
  const fitted = estimateRecalibration(forecast.logits, failures, subjects, reporters);
  return {
    ece: computeCalibrationError(forecast.probabilities, failures),
    intercept: fitted?.intercept ?? Number.NaN,
    interceptError: fitted?.interceptError ?? Number.NaN,
    slope: fitted?.slope ?? Number.NaN,
    slopeError: fitted?.slopeError ?? Number.NaN,
  };
}

/** Largest z of a rise of the Brier score that chance explains, one-sided 5 %. */
const BRIER_Z_MAX = 1.645;

/** Whether a measure passes, and why, in words that follow its value. */
interface Judgement {
  readonly isFine: boolean;
  readonly why: string;
}

function judgeCalibrationError(
  { own, other, noise }: { readonly own: number; readonly other: number; readonly noise: number },
  { ece_max: most, ece_increase_max: increase }: GatePolicy,
): Judgement {
  const chance = `chance alone makes up to ${formatRounded(noise)}`;
  if (own <= noise) return { isFine: true, why: `no more than chance: ${chance}` };
  const needed = `needed at most ${most} and ${increase} above the champion's, or below the champion's`;
  const isFine = (own <= most && own <= other + increase) || own < other;
  return { isFine, why: `${isFine ? "small enough" : "too large"} (${needed}; ${chance})` };
}

/** @param distance of the interval from the range; 0 when they overlap. */
function judgeByInterval(distance: number, isNearer: boolean, range: string): Judgement {
  if (distance === 0) return { isFine: true, why: `its interval reaches the needed ${range}` };
  const why = `its interval misses the needed ${range}`;
  return isNearer
    ? { isFine: true, why: `${why}, but it is nearer than the champion's` }
    : { isFine: false, why };
}

/**
 * G4: calibrated probabilities. Fails when significantly off, or off where the champion is not: an
 * absolute cut on an intercept estimated from 40 failures (standard error .2) would fail a perfect
 * forecast every third time.
 */
export function evaluateCalibrationGate(holdout: Holdout, policy: GatePolicy): GateResult {
  const { champion, challenger, failures, weights, subjects, reporters } = holdout;
  const own = measureCalibration(challenger, holdout);
  const other = measureCalibration(champion, holdout);
  const noise = computeCalibrationNoise(challenger.probabilities, failures, subjects, reporters);
  const briers = (forecast: Forecast) =>
    forecast.probabilities.map((p, i) => (p - failures[i]!) ** 2);
  const [ownBriers, otherBriers] = [briers(challenger), briers(champion)];
  const worse = ownBriers.map((brier, i) => brier - otherBriers[i]!);
  const brier = computeTwoWayVariance(worse, weights, subjects, reporters);
  const brierZ = brier.variance > 0 ? brier.mean / Math.sqrt(brier.variance) : 0;
  const error = judgeCalibrationError({ own: own.ece, other: other.ece, noise }, policy);
  const large = policy.intercept_max;
  const offset = judgeByInterval(
    computeIntervalDistance(own.intercept, own.interceptError, -large, large),
    Math.abs(own.intercept) < Math.abs(other.intercept),
    `-${large} to ${large}`,
  );
  const slope = judgeByInterval(
    computeIntervalDistance(own.slope, own.slopeError, policy.slope_min, policy.slope_max),
    Math.abs(Math.log(own.slope)) < Math.abs(Math.log(other.slope)),
    `${policy.slope_min} to ${policy.slope_max}`,
  );
  const numbers = {
    ece: own.ece,
    ece_noise: noise,
    champion_ece: other.ece,
    slope: own.slope,
    slope_error: own.slopeError,
    champion_slope: other.slope,
    intercept: own.intercept,
    intercept_error: own.interceptError,
    champion_intercept: other.intercept,
    brier_increase: brier.mean,
    brier_z: brierZ,
  };
  const passed = error.isFine && offset.isFine && slope.isFine && brierZ <= BRIER_Z_MAX;
  const sentence =
    `calibration error ${formatRounded(own.ece)} (champion ${formatRounded(other.ece)}), ${error.why}; ` +
    `slope ${formatRounded(own.slope, 2)} +- ${formatRounded(1.96 * own.slopeError, 2)}, ${slope.why}; ` +
    `offset ${formatRounded(own.intercept, 2)} +- ${formatRounded(1.96 * own.interceptError, 2)} log-odds, ` +
    `${offset.why}; Brier score ${brier.mean > 0 ? "rises" : "falls"} (z ${formatRounded(Math.abs(brierZ), 2)}; ` +
    `a rise passes up to z ${BRIER_Z_MAX})`;
  return createGateResult("G4", { passed, numbers, sentence });
}

/** G5: hardly any good outcome is denied, and no more than before. */
export function evaluateFalsePositiveGate(holdout: Holdout, policy: GatePolicy): GateResult {
  const { failures } = holdout;
  const champion = predictDenials(holdout.champion, holdout.config);
  const challenger = predictDenials(holdout.challenger, holdout.config);
  let [goods, refused, more, less] = [0, 0, 0, 0];
  failures.forEach((failure, i) => {
    if (failure === 1) return;
    goods++;
    if (challenger[i]) refused++;
    if (challenger[i] && !champion[i]) more++;
    if (!challenger[i] && champion[i]) less++;
  });
  const upper = computeClopperPearsonUpper(refused, goods);
  const p = computeMcNemarPValue(more, less);
  // Zero of 2,995 is the least that can show 0.1 %: below that the challenger must only not
  // refuse more.
  const isProvable = computeClopperPearsonUpper(0, goods) <= policy.false_positive_max;
  const isNoMore = more <= less;
  const passed =
    (!isProvable || upper <= policy.false_positive_max || isNoMore) && p > policy.mcnemar_p_min;
  const numbers = { successes: goods, refused, more, less, upper_bound: upper, mcnemar_p: p };
  const share = `${formatRounded(policy.false_positive_max * 100, 2)} %`;
  const needed = isProvable
    ? `needed at most ${share} at 95 % confidence (found ${formatRounded(upper * 100, 3)} %), or no more than the champion`
    : `needed no more than the champion: ${goods} successes are too few to show that at most ${share} are denied`;
  const sentence =
    `${refused} of ${goods} successes denied, ${more} that the champion does not deny and ${less} fewer of ` +
    `those that it does; ${needed}, and no rise beyond chance (p ${formatRounded(p, 3)}, above ${policy.mcnemar_p_min})`;
  return createGateResult("G5", { passed, numbers, sentence });
}

/**
 * G7: the population has moved between training and holdout. A re-fit exists for that case, so it
 * is no veto: it warns, and the gain must be surer (`z_min_drift`).
 */
export function evaluateDriftGate(
  holdout: Holdout,
  trainScores: readonly number[],
  z: number,
  policy: GatePolicy,
): GateResult {
  const population = computeStabilityIndex(trainScores, holdout.champion.scores);
  // Difference between two samples of one population, 99.9 %: chi-square, 9 degrees (Yurdakul).
  const noise = 27.877 * (1 / trainScores.length + 1 / holdout.champion.scores.length);
  const isDrift = population > Math.max(policy.drift_max, noise);
  const isWarning = population > Math.max(policy.drift_warn, noise);
  const passed = !isDrift || z > policy.z_min_drift;
  const numbers = { population, noise, warn: policy.drift_warn, z, z_min: policy.z_min_drift };
  const sentence =
    `stability index ${formatRounded(population, 3)} between training and holdout` +
    (isDrift
      ? `: the population has moved, so z ${formatRounded(z, 2)} must exceed ${policy.z_min_drift}`
      : `; up to ${policy.drift_max} asks for nothing more`);
  return createGateResult("G7", { passed, isWarning, numbers, sentence });
}

const TIER_THRESHOLDS = [450, 550, 650];
const computeScoreTier = (score: number): number =>
  TIER_THRESHOLDS.filter((from) => score >= from).length;

function computeLargestCoefficientStep(holdout: Holdout, policy: GatePolicy): number {
  const before = readCoefficients(holdout.champion.model);
  const after = readCoefficients(holdout.challenger.model);
  return Math.max(
    ...before.map(
      (b, j) => Math.abs(after[j]! - b) / Math.max(Math.abs(b), policy.coefficient_floor),
    ),
  );
}

/**
 * G8: scores of agents stay close to their old ones. A structural change needs surer evidence
 * (`z_min_structural`) or a person's sign-off.
 */
export function evaluateStabilityGate(
  holdout: Holdout,
  z: number,
  isSignedOff: boolean,
  policy: GatePolicy,
): GateResult {
  const { champion, challenger } = holdout;
  const shifts = champion.scores.map((score, i) => challenger.scores[i]! - score);
  const middle = shifts.toSorted((a, b) => a - b)[Math.floor(shifts.length / 2)]!;
  const moved = champion.scores.filter(
    (s, i) => computeScoreTier(s) !== computeScoreTier(challenger.scores[i]!),
  );
  const numbers = {
    median_shift: middle,
    tier_migration: moved.length / shifts.length,
    rank_correlation: computeRankCorrelation(champion.scores, challenger.scores),
    score_stability_index: computeStabilityIndex(champion.scores, challenger.scores),
    largest_coefficient_step: computeLargestCoefficientStep(holdout, policy),
    z,
    z_min: policy.z_min_structural,
    signed_off: isSignedOff ? 1 : 0,
  };
  const isStructural =
    Math.abs(middle) > policy.median_shift_max ||
    numbers.tier_migration > policy.tier_migration_max ||
    numbers.rank_correlation < policy.rank_correlation_min;
  const passed = !isStructural || isSignedOff || z > policy.z_min_structural;
  const sentence =
    `median score moves ${formatRounded(middle, 1)} points, ${formatRounded(numbers.tier_migration * 100, 1)} % ` +
    `change tier, rank correlation ${formatRounded(numbers.rank_correlation, 3)}` +
    `; needed within ${policy.median_shift_max} points, at most ${formatRounded(policy.tier_migration_max * 100, 1)} % ` +
    `and at least ${policy.rank_correlation_min}` +
    (isStructural
      ? `, or z above ${policy.z_min_structural} (found ${formatRounded(z, 2)}), or a person's sign-off`
      : "");
  return createGateResult("G8", { passed, isWarning: isStructural, numbers, sentence });
}
