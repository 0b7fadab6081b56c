// Milliseconds of a day, an hour and a minute, and the scale of internal scores (SPEC §2.3).
export const DAY_MS = 86_400_000;
export const HOUR_MS = 3_600_000;
export const MINUTE_MS = 60_000;

export const SCORE_MIN = 300;
export const SCORE_MAX = 850;
export const SCORE_SPAN = SCORE_MAX - SCORE_MIN;

/** 40 points double the odds of success (scoring 3). */
export const POINTS_PER_LOGIT = 40 / Math.LN2;
/** Internal score of a failure probability of one half. */
const SCORE_AT_EVEN_ODDS = 380;

/** Internal score, 300 to 850, of a failure probability, 0 to 1. */
export function computeInternalScore(failureProbability: number): number {
  const logOddsGood = Math.log((1 - failureProbability) / failureProbability);
  const score = SCORE_AT_EVEN_ODDS + POINTS_PER_LOGIT * logOddsGood;
  return Math.min(Math.max(score, SCORE_MIN), SCORE_MAX);
}
