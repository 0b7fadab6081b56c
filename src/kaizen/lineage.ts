// Lineage of the live weights: which standing change each scorecard rests on, and what is left when
// one is taken back while a newer one of the other scorecard stands. Pure.
import { isDeepStrictEqual } from "node:util";
import type { ScoringConfig } from "../engine/config.ts";
import { SCORECARD_SIDES } from "./model/scorecard.ts";
import type { ScorecardSide } from "./model/scorecard.ts";

/** One promotion by its weights; lists of them are oldest first. */
export interface PromotionStep {
  before: ScoringConfig;
  after: ScoringConfig;
  isTakenBack: boolean;
}

const changesSide = ({ before, after }: PromotionStep, side: ScorecardSide) =>
  !isDeepStrictEqual(before[side], after[side]);

/** The newest standing change of a scorecard; undefined where `live` rests on none of the steps. */
export function findNewestChange<S extends PromotionStep>(
  steps: readonly S[],
  live: ScoringConfig,
  side: ScorecardSide,
): S | undefined {
  const newest = steps.findLast((step) => !step.isTakenBack && changesSide(step, side));
  return newest && isDeepStrictEqual(newest.after[side], live[side]) ? newest : undefined;
}

/** Weights of a scorecard beneath a step, and beneath those below it that were taken back as well. */
function findUnderlyingModel(
  steps: readonly PromotionStep[],
  step: PromotionStep,
  side: ScorecardSide,
) {
  let model = step.before[side];
  for (const older of steps.slice(0, steps.indexOf(step)).toReversed()) {
    if (!changesSide(older, side) || !isDeepStrictEqual(older.after[side], model)) continue;
    if (!older.isTakenBack) break;
    model = older.before[side];
  }
  return model;
}

/**
 * The live config without one of the steps that stand: the scorecards that rest on it go back to what
 * stands beneath, the others stay as they are.
 */
export function computeConfigWithoutStep<S extends PromotionStep>(
  steps: readonly S[],
  live: ScoringConfig,
  taken: S,
): ScoringConfig {
  const isNewest = steps.findLast((step) => !step.isTakenBack) === taken;
  // What is no scorecard changes by release alone; the newest step leads back to its own release.
  const left = { ...(isNewest ? taken.before : live) };
  for (const side of SCORECARD_SIDES) {
    const isOwn = findNewestChange(steps, live, side) === taken;
    left[side] = isOwn ? findUnderlyingModel(steps, taken, side) : live[side];
  }
  return left;
}

/** Whether two configs score alike: everything but the name is the same. */
export function isSameScoring(one: ScoringConfig, other: ScoringConfig): boolean {
  return isDeepStrictEqual({ ...one, name: "" }, { ...other, name: "" });
}
