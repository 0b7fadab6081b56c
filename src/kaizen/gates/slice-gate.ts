// Gate G10: no slice of the holdout is hurt. Neither by its loss, nor by probabilities that no longer
// mean what they say: an error that the champion has too is named and let through, one that the
// challenger makes larger is not.
import { createGateResult, formatRounded } from "./register.ts";
import type { GatePolicy, GateResult } from "./register.ts";
import type { Holdout } from "../model/holdout.ts";
import type { HoldoutSlice } from "../model/slices.ts";
import { computeTwoWayVariance } from "../model/statistics.ts";

type Numbers = Record<string, number>;

function createRowPicker(rows: Uint32Array) {
  return (values: ArrayLike<number>) => Float64Array.from(rows, (i) => values[i]!);
}

/** Whether the slice's loss rises, by more than a little and beyond clustered chance. */
function recordAndCheckLossIncrease(
  { name, rows }: HoldoutSlice,
  holdout: Holdout,
  policy: GatePolicy,
  numbers: Numbers,
) {
  const { champion, challenger } = holdout;
  const pick = createRowPicker(rows);
  const before = pick(champion.losses);
  const after = pick(challenger.losses);
  const gains = before.map((loss, i) => loss - after[i]!);
  const { mean, variance } = computeTwoWayVariance(
    gains,
    pick(holdout.weights),
    pick(holdout.subjects),
    pick(holdout.reporters),
  );
  const z = variance > 0 ? mean / Math.sqrt(variance) : 0;
  const base = before.reduce((sum, x) => sum + x, 0) / before.length;
  numbers[`${name}: rows`] = rows.length;
  numbers[`${name}: z`] = z;
  numbers[`${name}: loss change`] = -mean / base;
  return z < policy.slice_z_min && -mean / base > policy.slice_loss_increase_max;
}

/** What a slice's probabilities say against what was. */
interface SliceCalibration {
  name: string;
  predicted: number;
  champion: number;
  observed: number;
  /** Half the interval around `observed`, clustered. */
  noise: number;
  verdict: "sound" | "by chance" | "inherited" | "worse";
}

/** How far apart two shares are, as a factor of at least 1. */
const computeShareFactor = (a: number, b: number): number => Math.max(a / b, b / a);

function measureSliceCalibration(
  { name, rows }: HoldoutSlice,
  holdout: Holdout,
  policy: GatePolicy,
) {
  const pick = createRowPicker(rows);
  const weights = pick(holdout.weights);
  const mass = weights.reduce((sum, w) => sum + w, 0);
  const computeMean = (values: ArrayLike<number>) =>
    rows.reduce((sum, row, i) => sum + weights[i]! * values[row]!, 0) / mass;
  const predicted = computeMean(holdout.challenger.probabilities);
  const champion = computeMean(holdout.champion.probabilities);
  const observed = computeMean(holdout.failures);
  const residuals = Float64Array.from(rows, (row) => {
    return holdout.failures[row]! - holdout.challenger.probabilities[row]!;
  });
  const clusters = [pick(holdout.subjects), pick(holdout.reporters)] as const;
  const { variance } = computeTwoWayVariance(residuals, weights, ...clusters);
  // Of the mean over rows; the share is over their weights. Never less than independent rows would
  // scatter by themselves: a slice without one failure shows no scatter at all.
  const clustered = (Math.sqrt(variance) * rows.length) / mass;
  const scatter = rows.reduce((sum, row, i) => {
    const p = holdout.challenger.probabilities[row]!;
    return sum + weights[i]! ** 2 * p * (1 - p);
  }, 0);
  const noise = -policy.slice_z_min * Math.max(clustered, Math.sqrt(scatter) / mass);
  const found = { name, predicted, champion, observed, noise };
  return { ...found, verdict: classifySliceCalibration(found, policy) };
}

/**
 * Off by more than the factor is: chance, where the interval reaches the probability; inherited,
 * where the champion says nearly the same, is as far off, or might be. Worse, where whatever share of
 * the interval is the true one the challenger is the farther of the two: beyond the middle of both,
 * in ratios.
 */
function classifySliceCalibration(
  { predicted, champion, observed, noise }: Omit<SliceCalibration, "verdict">,
  policy: GatePolicy,
): SliceCalibration["verdict"] {
  if (computeShareFactor(predicted, observed) <= policy.slice_factor_max) return "sound";
  if (Math.abs(predicted - observed) <= noise) return "by chance";
  if (computeShareFactor(predicted, champion) <= policy.slice_factor_added) return "inherited";
  const middle = Math.sqrt(predicted * champion);
  const [low, high] = [observed - noise, observed + noise];
  const isFarther =
    (predicted > champion && middle > high) || (predicted < champion && middle < low);
  return isFarther ? "worse" : "inherited";
}

function describeSliceCalibration({
  name,
  predicted,
  champion,
  observed,
  verdict,
}: SliceCalibration): string {
  const percent = (share: number) => `${formatRounded(share * 100, 1)} %`;
  const why = {
    sound: "",
    "by chance": "passes: within chance",
    inherited: "passes: the champion is no better beyond chance",
    worse: "fails: worse than the champion beyond chance",
  }[verdict];
  return (
    `${name}: ${percent(predicted)} foretold, ${percent(observed)} seen, ` +
    `${percent(champion)} by the champion (${why})`
  );
}

function describeHurtSlices(
  hurt: readonly HoldoutSlice[],
  tested: readonly HoldoutSlice[],
  policy: GatePolicy,
): string {
  const listNames = (slices: readonly HoldoutSlice[]) => slices.map(({ name }) => name).join(", ");
  const named = hurt.length === 0 ? "" : `: ${listNames(hurt)}`;
  return (
    `${hurt.length} of ${tested.length} slices with ${policy.slice_rows_min} rows or more get clearly worse${named}, ` +
    `needed 0 (looked at: ${listNames(tested) || "none"})`
  );
}

/** Says why errors pass where they do: a reader sees the count first. */
function describeWrongSlices(
  found: {
    readonly off: readonly SliceCalibration[];
    readonly worse: readonly SliceCalibration[];
    readonly count: number;
  },
  { slice_factor_max: factor }: GatePolicy,
): string {
  const { off, worse, count } = found;
  const wrong = `in ${off.length} of ${count} slices the failures foretold are off by more than a factor of ${factor}`;
  const needed = `needed 0 where the new weights add to the error beyond chance, found ${worse.length}`;
  const named = (worse.length > 0 ? worse : off).map(describeSliceCalibration).join("; ");
  return `${wrong}; ${needed}${named === "" ? "" : `: ${named}`}`;
}

/**
 * G10: no slice with enough rows gets clearly worse, and in none of those of `calibrated` does the
 * challenger add an error of more than `slice_factor_max`.
 */
export function evaluateSliceGate(
  holdout: Holdout,
  slices: readonly HoldoutSlice[],
  calibrated: readonly HoldoutSlice[],
  policy: GatePolicy,
): GateResult {
  const isLarge = ({ rows }: HoldoutSlice) => rows.length >= policy.slice_rows_min;
  const tested = slices.filter(isLarge);
  const numbers: Numbers = {};
  const hurt = tested.filter((slice) =>
    recordAndCheckLossIncrease(slice, holdout, policy, numbers),
  );
  const means = calibrated
    .filter(isLarge)
    .map((slice) => measureSliceCalibration(slice, holdout, policy));
  calibrated.filter(isLarge).forEach(({ name, rows }, i) => {
    const { predicted, observed, champion, noise } = means[i]!;
    numbers[`${name}: rows`] = rows.length;
    Object.assign(numbers, {
      [`${name}: foretold`]: predicted,
      [`${name}: seen`]: observed,
      [`${name}: champion foretold`]: champion,
      [`${name}: chance`]: noise,
    });
  });
  const off = means.filter(({ verdict }) => verdict !== "sound");
  const worse = off.filter(({ verdict }) => verdict === "worse");
  const sentence = [
    describeHurtSlices(hurt, tested, policy),
    describeWrongSlices({ off, worse, count: means.length }, policy),
  ].join("; ");
  const passed = hurt.length === 0 && worse.length === 0;
  const isWarning = passed && off.some(({ verdict }) => verdict === "inherited");
  return createGateResult("G10", { passed, isWarning, numbers, sentence });
}
