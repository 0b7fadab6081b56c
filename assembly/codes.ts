// Numbers of the engine's answers, read by both compilers like layout.ts: untyped integer constants
// and nothing else. Reasons, decisions and tiers stand in the order of src/contract/vocabulary.ts.
// Reason codes, order of REASON_CODES in src/contract/vocabulary.ts.
export const REASON_THIN_FILE = 0;
export const REASON_FAILURE_HISTORY = 1;
export const REASON_RECENT_FAILURE = 2;
export const REASON_NEGATIVE_TREND = 3;
export const REASON_STAKE_ABOVE_PROVEN = 4;
export const REASON_LOW_CREDIBILITY_EVIDENCE = 5;
export const REASON_CONCENTRATED_REPORTERS = 6;
export const REASON_RING_PATTERN = 7;
export const REASON_UNVERIFIED_SOURCES = 8;
export const REASON_HALLUCINATION_SIGNAL = 9;
export const REASON_VIEWER_CAUTIOUS = 10;
export const REASON_FRAUD_FLAG = 11;
export const REASON_KEY_REVOKED = 12;
export const REASON_BASE_RATE = 13;
export const REASON_COUNT = 14;
export const TIER_A = 0;
export const TIER_B = 1;
export const TIER_C = 2;
export const TIER_D = 3;
export const TIER_REVIEW = 4;
export const REGIME_NONE = -1;
export const REGIME_STABLE = 0;
export const REGIME_DRIFTING = 1;
export const REGIME_SHOCK = 2;
export const STATUS_OK = 0;
export const STATUS_FULL = 1;
export const STATUS_INVALID = 2;
