// Measures of a probability forecast against 0/1 outcomes: ranking, loss, calibration.
import assert from "node:assert/strict";
import { findBinomialQuantile } from "./statistics.ts";

/** Probabilities are clipped here before a logarithm is taken (kaizen 6.3). */
const CLIP = 1e-4;

/** Area under the ROC curve by ranks, ties counted half. 0.5 when one class is missing. */
export function computeAuc(probabilities: ArrayLike<number>, failures: ArrayLike<number>): number {
  const n = probabilities.length;
  assert.equal(failures.length, n);
  const order = Uint32Array.from({ length: n }, (_, i) => i);
  order.sort((a, b) => probabilities[a]! - probabilities[b]!);
  let rankSum = 0;
  let bads = 0;
  for (let i = 0; i < n;) {
    let end = i + 1;
    while (end < n && probabilities[order[end]!] === probabilities[order[i]!]) end++;
    const rank = (i + 1 + end) / 2;
    for (let k = i; k < end; k++) {
      if (failures[order[k]!] === 1) {
        rankSum += rank;
        bads++;
      }
    }
    i = end;
  }
  const goods = n - bads;
  if (bads === 0 || goods === 0) return 0.5;
  return (rankSum - (bads * (bads + 1)) / 2) / (bads * goods);
}

/** Log-loss of one forecast, in nats. */
export function computeLogLoss(probability: number, failure: number): number {
  const p = Math.min(1 - CLIP, Math.max(CLIP, probability));
  return failure === 1 ? -Math.log(p) : -Math.log(1 - p);
}

/** Mean log-loss in nats. */
export function computeMeanLogLoss(
  probabilities: ArrayLike<number>,
  failures: ArrayLike<number>,
): number {
  let sum = 0;
  for (let i = 0; i < probabilities.length; i++)
    sum += computeLogLoss(probabilities[i]!, failures[i]!);
  return sum / probabilities.length;
}

/** Expected calibration error over `bins` equal-mass bins. */
export function computeCalibrationError(
  probabilities: ArrayLike<number>,
  failures: ArrayLike<number>,
  bins = 10,
): number {
  const n = probabilities.length;
  const order = Uint32Array.from({ length: n }, (_, i) => i);
  order.sort((a, b) => probabilities[a]! - probabilities[b]!);
  let error = 0;
  for (let bin = 0; bin < bins; bin++) {
    const start = Math.floor((bin * n) / bins);
    const end = Math.floor(((bin + 1) * n) / bins);
    let expected = 0;
    let observed = 0;
    for (let i = start; i < end; i++) {
      expected += probabilities[order[i]!]!;
      observed += failures[order[i]!]!;
    }
    error += Math.abs(expected - observed);
  }
  return error / n;
}

/** Share of failures above the score that only `fpr` of the successes exceed. */
export function computeTruePositiveRate(
  probabilities: ArrayLike<number>,
  failures: ArrayLike<number>,
  fpr: number,
): number {
  const goods: number[] = [];
  const bads: number[] = [];
  for (let i = 0; i < probabilities.length; i++) {
    (failures[i] === 1 ? bads : goods).push(probabilities[i]!);
  }
  goods.sort((a, b) => b - a);
  const threshold = goods[Math.floor(fpr * goods.length)] ?? Infinity;
  return bads.filter((p) => p > threshold).length / Math.max(1, bads.length);
}

/**
 * Neyman-Pearson umbrella threshold (Tong, Feng, Li 2018): the smallest order statistic of the
 * successes' scores whose exceedance is at most `alpha` with confidence 1 - `delta`. Infinity when
 * there are too few successes for that (2,995 at 0.1 % and 5 %): then only rules refuse.
 */
export function computeNeymanPearsonThreshold(
  goodScores: readonly number[],
  alpha = 0.001,
  delta = 0.05,
): number {
  // P(exceedance of the k-th order statistic > alpha) = P(Bin(n, 1 - alpha) >= k)
  //                                                   = P(Bin(n, alpha) <= n - k).
  const n = goodScores.length;
  const above = n === 0 ? -1 : findBinomialQuantile(delta, n, alpha);
  if (above < 0) return Infinity;
  return Float64Array.from(goodScores).toSorted()[n - 1 - above] ?? Infinity;
}

/** Consecutive stretches of the evidence that the border of denial must hold in, each by itself. */
const STRETCHES = 4;

/**
 * The border of denial: a failure probability that at most `alpha` of the successes reach, with
 * confidence 1 - `delta` over all of them and again in each of four consecutive stretches of time
 * (the highest probability of a stretch that is too short to say so). The second part is for a
 * population that moves: on two rating streams the plain umbrella let the share of the following
 * months rise to .33 %, this one to .05 %. `goodScores` in order of time. Infinity, a closed
 * border, when there are too few successes (2,995 at 0.1 % and 5 %).
 */
export function fitDenialThreshold(
  goodScores: readonly number[],
  alpha = 0.001,
  delta = 0.05,
): number {
  const whole = computeNeymanPearsonThreshold(goodScores, alpha, delta);
  if (!Number.isFinite(whole)) return whole;
  const n = goodScores.length;
  const stretches = Array.from({ length: STRETCHES }, (_, k) => {
    const own = goodScores.slice(
      Math.floor((n * k) / STRETCHES),
      Math.floor((n * (k + 1)) / STRETCHES),
    );
    const border = computeNeymanPearsonThreshold(own, alpha, delta);
    return Number.isFinite(border) ? border : own.reduce((most, p) => Math.max(most, p), 0);
  });
  return Math.max(whole, ...stretches);
}
