// Codes of the limits on what an agent does, as `log_reason` and `reason_codes` give them.
export const LIMIT_CODES = [
  "UNUSUAL_RATE",
  "NEW_ACTIONS",
  "EXPOSURE_ABOVE_CAP",
  "SESSION_TOO_OLD",
] as const;
export type LimitCode = (typeof LIMIT_CODES)[number];
