// Gates on sample and loss: G1 enough evidence, G2 lower loss, G3 ranking (kaizen 6.3). Each a pure
// function of the holdout.
import { createGateResult, formatLossChange, formatRounded } from "./register.ts";
import type { GatePolicy, GateResult } from "./register.ts";
import type { Holdout } from "../model/holdout.ts";
import {
  computeAucDifference,
  countEffectiveClusters,
  computeTwoWayVariance,
} from "../model/statistics.ts";

const countFailures = (failures: Uint8Array): number => failures.reduce((sum, y) => sum + y, 0);

/** G1: enough rows, failures and independent reporters for a decision. */
export function evaluateSampleGate(
  holdout: Pick<Holdout, "failures" | "weights" | "reporters" | "subjects">,
  policy: GatePolicy,
  isPilot: boolean,
): GateResult {
  const { failures, weights, reporters, subjects } = holdout;
  const bads = countFailures(failures);
  const least = isPilot ? policy.failures_min_pilot : policy.failures_min;
  const rowsMin = isPilot ? Math.min(policy.rows_min, 10 * least) : policy.rows_min;
  const numbers = {
    rows: failures.length,
    failures: bads,
    successes: failures.length - bads,
    effective_reporters: countEffectiveClusters(weights, reporters),
    effective_subjects: countEffectiveClusters(weights, subjects),
    rows_min: rowsMin,
    each_min: least,
    reporters_min: policy.effective_reporters_min,
    subjects_min: policy.effective_subjects_min,
  };
  const passed =
    numbers.rows >= rowsMin &&
    bads >= least &&
    numbers.successes >= least &&
    numbers.effective_reporters >= policy.effective_reporters_min &&
    numbers.effective_subjects >= policy.effective_subjects_min;
  const sentence =
    `${numbers.rows} rows with ${bads} failures and ${numbers.successes} successes from ` +
    `${formatRounded(numbers.effective_reporters, 1)} effective reporters on ` +
    `${formatRounded(numbers.effective_subjects, 1)} effective subjects; needed ${rowsMin}, ` +
    `${least} of each, ${policy.effective_reporters_min} and ${policy.effective_subjects_min}`;
  return createGateResult("G1", { passed, numbers, sentence });
}

/** Mean gain in log-loss of the challenger and its z under two-way clustering. */
export function measureLossGain(holdout: Holdout): { mean: number; z: number; base: number } {
  const { champion, challenger, weights, subjects, reporters } = holdout;
  const gains = champion.losses.map((loss, i) => loss - challenger.losses[i]!);
  const { mean, variance } = computeTwoWayVariance(gains, weights, subjects, reporters);
  const base = computeTwoWayVariance(champion.losses, weights, subjects, reporters).mean;
  return { mean, z: variance > 0 ? mean / Math.sqrt(variance) : 0, base };
}

/** G2: the challenger's log-loss is lower, beyond what clustered chance explains. */
export function evaluateSuperiorityGate(holdout: Holdout, policy: GatePolicy): GateResult {
  const { mean, z, base } = measureLossGain(holdout);
  const isStrict = countFailures(holdout.failures) >= policy.strict_failures;
  const zMin = isStrict ? policy.z_min_strict : policy.z_min;
  const relative = base > 0 ? mean / base : 0;
  const passed = z > zMin && relative >= policy.relative_gain_min;
  const numbers = {
    gain: mean,
    z,
    z_min: zMin,
    relative_gain: relative,
    relative_gain_min: policy.relative_gain_min,
    champion_loss: base,
  };
  const sentence =
    `${formatLossChange(relative)} (z ${formatRounded(z, 2)} clustered by subject and ` +
    `reporter); needed ${formatRounded(policy.relative_gain_min * 100, 2)} % and z above ${zMin}`;
  return createGateResult("G2", { passed, numbers, sentence });
}

/** G3: ranking is not worse. */
export function evaluateRankingGate(holdout: Holdout, policy: GatePolicy): GateResult {
  const { champion, challenger } = holdout;
  const { difference, standardError } = computeAucDifference(
    challenger.logits,
    champion.logits,
    holdout,
  );
  const lower = difference - 1.645 * standardError;
  const upper = difference + 1.645 * standardError;
  // At the least failures the interval alone is wider than the margin: a ranking that is better by
  // the point estimate is not called inferior for want of rows.
  const passed = lower > -policy.auc_loss_max || difference >= 0;
  const numbers = { auc_difference: difference, standard_error: standardError, lower, upper };
  const sentence =
    `AUC changes by ${formatRounded(difference)} (90 % interval ${formatRounded(lower)} to ${formatRounded(upper)}); ` +
    `needed: above ${formatRounded(-policy.auc_loss_max)} throughout, or not lower`;
  return createGateResult("G3", { passed, numbers, sentence });
}
