// A day in milliseconds, and the range of internal scores (SPEC §2.3).
export const DAY_MS = 86_400_000;
export const HOUR_MS = 3_600_000;

export const SCORE_MIN = 300;
export const SCORE_MAX = 850;
export const SCORE_SPAN = SCORE_MAX - SCORE_MIN;
