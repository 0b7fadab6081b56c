// The promotion gates G1 to G8 and G10 (kaizen 6.3): each a pure function of the holdout, answering
// with its numbers, its threshold and a sentence. G9, the attack replays, is in attacks.ts because
// it runs the real engine.
import { calibrationError } from "./metrics.ts";
import type { Holdout } from "./holdout.ts";
import { neymanPearsonThreshold } from "./metrics.ts";
import {
  aucDifference,
  clopperPearsonUpper,
  effectiveClusters,
  mcnemarOneSided,
  rankCorrelation,
  recalibration,
  stabilityIndex,
  twoWayVariance,
} from "./statistics.ts";

/** Thresholds of the gates; every one is public and part of the record of a run. */
export const GATE_POLICY = {
  rows_min: 1000,
  failures_min: 100,
  /** With fewer failures than that a pilot deployment may still test. */
  failures_min_pilot: 40,
  effective_reporters_min: 30,
  effective_subjects_min: 50,
  z_min: 1.645,
  /** From this many failures on, chance alone gets less room. */
  strict_failures: 1000,
  z_min_strict: 2.576,
  relative_gain_min: 0.005,
  auc_loss_max: 0.005,
  ece_max: 0.03,
  ece_increase_max: 0.005,
  slope_min: 0.8,
  slope_max: 1.25,
  intercept_max: 0.2,
  false_positive_max: 0.001,
  mcnemar_p_min: 0.05,
  drift_warn: 0.1,
  drift_max: 0.25,
  median_shift_max: 15,
  tier_migration_max: 0.1,
  rank_correlation_min: 0.95,
  coefficient_step: 0.25,
  coefficient_floor: 0.1,
  slice_rows_min: 200,
  slice_z_min: -2.5,
  slice_loss_increase_max: 0.02,
} as const;

export type GatePolicy = { readonly [K in keyof typeof GATE_POLICY]: number };

export interface GateResult {
  id: string;
  name: string;
  passed: boolean;
  /** Every number the verdict rests on. */
  numbers: Record<string, number>;
  sentence: string;
}

function result(
  id: string,
  name: string,
  passed: boolean,
  numbers: Record<string, number>,
  sentence: string,
): GateResult {
  return { id, name, passed, numbers, sentence };
}

const show = (value: number, digits = 4): string => String(Number(value.toFixed(digits)));

/** G1: enough rows, failures and independent voices to decide anything. */
export function sampleGate(holdout: Holdout, policy: GatePolicy, isPilot: boolean): GateResult {
  const { failures, weights, reporters, subjects } = holdout;
  const bads = failures.reduce((sum, y) => sum + y, 0);
  const least = isPilot ? policy.failures_min_pilot : policy.failures_min;
  const rowsMin = isPilot ? Math.min(policy.rows_min, 10 * least) : policy.rows_min;
  const numbers = {
    rows: failures.length,
    failures: bads,
    successes: failures.length - bads,
    effective_reporters: effectiveClusters(weights, reporters),
    effective_subjects: effectiveClusters(weights, subjects),
  };
  const passed =
    numbers.rows >= rowsMin &&
    bads >= least &&
    numbers.effective_reporters >= policy.effective_reporters_min &&
    numbers.effective_subjects >= policy.effective_subjects_min;
  const sentence =
    `${numbers.rows} rows with ${bads} failures from ` +
    `${show(numbers.effective_reporters, 1)} effective reporters on ` +
    `${show(numbers.effective_subjects, 1)} effective subjects; needed ${rowsMin}, ${least}, ` +
    `${policy.effective_reporters_min} and ${policy.effective_subjects_min}`;
  return result("G1", "sample", passed, numbers, sentence);
}

/** G2: the challenger's log-loss is lower, beyond what clustered chance explains. */
export function superiorityGate(holdout: Holdout, policy: GatePolicy): GateResult {
  const { champion, challenger, weights, subjects, reporters, failures } = holdout;
  const gains = champion.losses.map((loss, i) => loss - challenger.losses[i]!);
  const { mean, variance } = twoWayVariance(gains, weights, subjects, reporters);
  const base = twoWayVariance(champion.losses, weights, subjects, reporters).mean;
  const z = variance > 0 ? mean / Math.sqrt(variance) : 0;
  const bads = failures.reduce((sum, y) => sum + y, 0);
  const zMin = bads >= policy.strict_failures ? policy.z_min_strict : policy.z_min;
  const relative = base > 0 ? mean / base : 0;
  const passed = z > zMin && relative >= policy.relative_gain_min;
  const numbers = { gain: mean, z, z_min: zMin, relative_gain: relative, champion_loss: base };
  const sentence =
    `log-loss falls by ${show(relative * 100, 2)} % (z ${show(z, 2)} clustered by subject and ` +
    `reporter); needed ${show(policy.relative_gain_min * 100, 2)} % and z above ${zMin}`;
  return result("G2", "superiority", passed, numbers, sentence);
}

/** G3: ranking is not worse. */
export function rankingGate(holdout: Holdout, policy: GatePolicy): GateResult {
  const { champion, challenger, failures, subjects, reporters } = holdout;
  const { difference, standardError } = aucDifference(
    challenger.logits,
    champion.logits,
    failures,
    subjects,
    reporters,
  );
  const lower = difference - 1.645 * standardError;
  const numbers = { auc_difference: difference, standard_error: standardError, lower };
  const sentence =
    `AUC changes by ${show(difference)}, at worst ${show(lower)}; allowed ` +
    `${show(-policy.auc_loss_max)}`;
  return result("G3", "ranking", lower > -policy.auc_loss_max, numbers, sentence);
}

/** G4: probabilities mean what they say. */
export function calibrationGate(holdout: Holdout, policy: GatePolicy): GateResult {
  const { champion, challenger, failures } = holdout;
  const ece = calibrationError(challenger.probabilities, failures);
  const championEce = calibrationError(champion.probabilities, failures);
  const fitted = recalibration(challenger.logits, failures);
  const brier = (p: Float64Array) =>
    p.reduce((sum, x, i) => sum + (x - failures[i]!) ** 2, 0) / p.length;
  const [own, other] = [brier(challenger.probabilities), brier(champion.probabilities)];
  const slope = fitted?.slope ?? Number.NaN;
  const intercept = fitted?.intercept ?? Number.NaN;
  // A champion that is itself far off must not veto the way back: not worse is then enough.
  const isLessOff = championEce > policy.ece_max && ece < championEce;
  const passed =
    (ece <= policy.ece_max || isLessOff) &&
    ece <= championEce + policy.ece_increase_max &&
    ((slope >= policy.slope_min &&
      slope <= policy.slope_max &&
      Math.abs(intercept) <= policy.intercept_max) ||
      isLessOff) &&
    own <= other;
  const numbers = {
    ece,
    champion_ece: championEce,
    slope,
    intercept,
    brier: own,
    champion_brier: other,
  };
  const sentence =
    `calibration error ${show(ece)} (champion ${show(championEce)}), slope ${show(slope, 2)}, ` +
    `intercept ${show(intercept, 2)}, Brier ${show(own)} (champion ${show(other)})`;
  return result("G4", "calibration", passed, numbers, sentence);
}

/** Refusals of one forecast among the successes. */
function refusals(holdout: Holdout, side: "champion" | "challenger"): boolean[] {
  const { config } = holdout;
  const { optimistic, model } = holdout[side];
  const missed = (1 - config.human_catch) * config.loss;
  const border = Math.max(config.margin / (missed + config.margin), model.refuse_at);
  return Array.from(optimistic, (p) => p >= border);
}

/** G5: hardly any good outcome is refused, and no more than before. */
export function falsePositiveGate(holdout: Holdout, policy: GatePolicy): GateResult {
  const { failures } = holdout;
  const champion = refusals(holdout, "champion");
  const challenger = refusals(holdout, "challenger");
  let goods = 0;
  let refused = 0;
  let more = 0;
  let less = 0;
  failures.forEach((failure, i) => {
    if (failure === 1) return;
    goods++;
    if (challenger[i]) refused++;
    if (challenger[i] && !champion[i]) more++;
    if (!challenger[i] && champion[i]) less++;
  });
  const upper = clopperPearsonUpper(refused, goods);
  const p = mcnemarOneSided(more, less);
  // Zero of 2,995 is the least that can show 0.1 %: below that the champion's threshold is kept
  // and the challenger must only not refuse more.
  const isProvable = clopperPearsonUpper(0, goods) <= policy.false_positive_max;
  const passed = (!isProvable || upper <= policy.false_positive_max) && p > policy.mcnemar_p_min;
  const numbers = { successes: goods, refused, upper_bound: upper, mcnemar_p: p };
  const sentence = isProvable
    ? `${refused} of ${goods} successes refused, at most ${show(upper * 100, 3)} %`
    : `${refused} of ${goods} successes refused; too few to bound 0.1 %, threshold kept`;
  return result("G5", "false positives", passed, numbers, sentence);
}

/** G7: neither the population nor the scores have jumped. */
export function driftGate(
  holdout: Holdout,
  trainScores: readonly number[],
  policy: GatePolicy,
): GateResult {
  const population = stabilityIndex(trainScores, holdout.champion.scores);
  const scores = stabilityIndex(holdout.champion.scores, holdout.challenger.scores);
  // What two samples of one population differ by, 99.9 %: chi-square with 9 degrees (Yurdakul).
  const noise = 27.877 * (1 / trainScores.length + 1 / holdout.champion.scores.length);
  const passed = Math.max(population, scores) <= Math.max(policy.drift_max, noise);
  const numbers = { population, scores, noise, warn: policy.drift_warn };
  const sentence =
    `stability index ${show(population, 3)} between training and holdout, ${show(scores, 3)} ` +
    `between champion and challenger; at most ${policy.drift_max}`;
  return result("G7", "drift", passed, numbers, sentence);
}

const TIER_BORDERS = [450, 550, 650];
const tierOf = (score: number): number => TIER_BORDERS.filter((from) => score >= from).length;

/** G8: no agent wakes up a different one. Beyond it the change is structural: a person decides. */
export function stabilityGate(holdout: Holdout, policy: GatePolicy): GateResult {
  const { champion, challenger } = holdout;
  const shifts = champion.scores.map((score, i) => challenger.scores[i]! - score);
  const middle = shifts.toSorted((a, b) => a - b)[Math.floor(shifts.length / 2)]!;
  const moved = champion.scores.filter((s, i) => tierOf(s) !== tierOf(challenger.scores[i]!));
  const correlation = rankCorrelation(champion.scores, challenger.scores);
  const steps = Object.entries(challenger.model.weights).map(([name, weight]) => {
    const before = champion.model.weights[name] ?? 0;
    return Math.abs(weight - before) / Math.max(Math.abs(before), policy.coefficient_floor);
  });
  const numbers = {
    median_shift: middle,
    tier_migration: moved.length / shifts.length,
    rank_correlation: correlation,
    largest_coefficient_step: Math.max(0, ...steps),
  };
  const passed =
    Math.abs(middle) <= policy.median_shift_max &&
    numbers.tier_migration <= policy.tier_migration_max &&
    correlation >= policy.rank_correlation_min;
  const sentence =
    `median score moves ${show(middle, 1)} points, ${show(numbers.tier_migration * 100, 1)} % ` +
    `change tier, rank correlation ${show(correlation, 3)}`;
  return result("G8", "stability", passed, numbers, sentence);
}

/** G10: no slice with enough rows gets clearly worse. `sliceOf` numbers the slices. */
export function sliceGate(
  holdout: Holdout,
  sliceOf: ArrayLike<number>,
  policy: GatePolicy,
): GateResult {
  const rowsBySlice = new Map<number, number[]>();
  for (let i = 0; i < holdout.failures.length; i++) {
    const slice = sliceOf[i]!;
    const rows = rowsBySlice.get(slice);
    if (rows === undefined) rowsBySlice.set(slice, [i]);
    else rows.push(i);
  }
  let worstZ = 0;
  let slices = 0;
  let hurt = 0;
  for (const rows of rowsBySlice.values()) {
    if (rows.length < policy.slice_rows_min) continue;
    slices++;
    const pick = (values: ArrayLike<number>) => rows.map((i) => values[i]!);
    const { champion, challenger } = holdout;
    const before = pick(champion.losses);
    const gains = before.map((loss, i) => loss - challenger.losses[rows[i]!]!);
    const { mean, variance } = twoWayVariance(
      gains,
      pick(holdout.weights),
      pick(holdout.subjects),
      pick(holdout.reporters),
    );
    const z = variance > 0 ? mean / Math.sqrt(variance) : 0;
    const base = before.reduce((sum, x) => sum + x, 0) / before.length;
    worstZ = Math.min(worstZ, z);
    if (z < policy.slice_z_min && -mean / base > policy.slice_loss_increase_max) hurt++;
  }
  const numbers = { slices, hurt, worst_z: worstZ };
  const sentence = `${hurt} of ${slices} slices with enough rows get clearly worse`;
  return result("G10", "slices", hurt === 0, numbers, sentence);
}

/** The refuse threshold that goes with a challenger: Neyman-Pearson on the training successes. */
export function refuseThreshold(optimisticOfSuccesses: readonly number[]): number | undefined {
  const threshold = neymanPearsonThreshold(optimisticOfSuccesses);
  return Number.isFinite(threshold) ? threshold : undefined;
}
