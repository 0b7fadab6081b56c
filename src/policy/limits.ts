// Limits of a level applied to what an agent has done (contract/activity/limits.ts). A limit can only restrict: it
// challenges what everything else allows, or marks it.
import { LIMIT_CODES, type LimitCode } from "../contract/activity/codes.ts";
import type { Limit, LimitMode, ResolvedLimits } from "../contract/activity/limits.ts";
import { VERDICT } from "../contract/vocabulary.ts";
import { createRuling, type Ruling } from "./rulings.ts";

/** What a call is compared by. */
export interface LimitedCall {
  /** Whether the call is one of those counted: an item of a batch and one that only looks are not. */
  isCounted: boolean;
  /** Of the agent with the tenant within the last hour, this one included. */
  calls: number;
  newActions: number;
  /** Unsettled stakes and those of the call, in the tenant's unit; 0: none are named. */
  exposure: number;
  /** Age of the session in seconds; -1: not told. */
  sessionSeconds: number;
}

export function createLimitedCall(): LimitedCall {
  return { isCounted: false, calls: 0, newActions: 0, exposure: 0, sessionSeconds: -1 };
}

/** Rulings by mode and code: a challenge where the limit is enforced, a mark where it is logged. */
export const LIMIT_RULINGS: Readonly<
  Record<Exclude<LimitMode, "off">, Readonly<Record<LimitCode, Ruling>>>
> = {
  enforce: buildRulings(VERDICT.CHALLENGE, false),
  log: buildRulings(VERDICT.ALLOW, true),
};

function buildRulings(verdictIndex: number, isFlagged: boolean): Record<LimitCode, Ruling> {
  const rulings = LIMIT_CODES.map(
    (code) => [code, createRuling(verdictIndex, code, isFlagged)] as const,
  );
  return Object.fromEntries(rulings) as Record<LimitCode, Ruling>;
}

/** Whether a ruling is one of a limit. */
export function isLimitRuling({ logReason }: Ruling): boolean {
  return logReason in LIMIT_RULINGS.enforce;
}

/** The limit of `mode` that a call is beyond, the first as they stand here; undefined: none. */
export function findExceededLimit(
  limits: ResolvedLimits,
  call: LimitedCall,
  mode: LimitMode,
): LimitCode | undefined {
  if (isBeyond(limits.exposure_max, call.exposure, mode)) return "EXPOSURE_ABOVE_CAP";
  if (isBeyond(limits.new_actions_per_hour, call.newActions, mode)) return "NEW_ACTIONS";
  if (isBeyond(limits.calls_per_hour, call.calls, mode)) return "UNUSUAL_RATE";
  return isBeyond(limits.session_max_sec, call.sessionSeconds, mode)
    ? "SESSION_TOO_OLD"
    : undefined;
}

function isBeyond(limit: Readonly<Limit> | null, value: number, mode: LimitMode): boolean {
  return limit !== null && value > limit.max && limit.mode === mode;
}
