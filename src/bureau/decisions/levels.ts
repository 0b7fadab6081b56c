// `levels` of a verify response: the verdict at every tool level, and the stakes between which it holds, so that
// one call serves an agent's tools of all levels. Only for requests that ask for it. Outside the stakes named
// the caller has to ask again.
import type { VerifyResponse } from "../../contract/schemas/scores.ts";
import { TOOL_LEVELS, VERDICT, VERDICTS } from "../../contract/vocabulary.ts";
import type { ToolLevel } from "../../contract/vocabulary.ts";
import { applyPolicyRules, isReviewRequired } from "../../policy/rules.ts";
import {
  computeLevelStakesClear,
  computeLevelStakesConnect,
  computeLevelStakesOpen,
} from "../../policy/standing.ts";
import {
  SOURCES_REQUIRED,
  STALE_CHALLENGED,
  STALE_FLAGGED,
  STAKES_NEED_VERIFICATION,
  THIN_FLAGGED,
  THIN_RECORD,
  THIN_TOLERATED,
  TOLERATED,
} from "../../policy/rulings.ts";
import type { Ruling } from "../../policy/rulings.ts";
import { applyConditionsToRuling } from "./condition-override.ts";
import { applyReviewToRuling } from "./review-override.ts";
import { encodeStakesBound } from "./stakes-bound.ts";
import {
  fillLevelRules,
  isDecidedByStakes,
  isAuditSampleCandidate,
  buildAuditSampleKey,
  selectVerdictReasonCodes,
  computeStakesBound,
} from "./level-ruling.ts";
import type { VerdictContext } from "./verdict-context.ts";

type LevelVerdicts = NonNullable<VerifyResponse["levels"]>;

/** Closed forms and decisions are computed differently: this far apart they agree. */
const BOUND_TOLERANCE = 1e-9;
const STAKES_STEPS_PER_UNIT = 10_000;

/**
 * The verdict of every level. `scoreReported` is the internal score in the response. A level is left out where
 * its verdict must be recorded: flagged, quarantined or blocked, pending or decided by review, or eligible for
 * audit sampling. The caller has to request such a level on its own.
 */
export function buildLevelVerdicts(
  context: VerdictContext,
  requestedLevel: ToolLevel,
  scoreReported: number,
): LevelVerdicts {
  const { services, call, rules, stakes, nowMs } = context;
  const levels: LevelVerdicts = {};
  const mayBeSampled = services.auditedToday.wouldBeFirst(buildAuditSampleKey(context), nowMs);
  for (const name of TOOL_LEVELS) {
    fillLevelRules(context, name);
    const isRequested = name === requestedLevel;
    const ruling = isRequested ? context.ruling : selectUnloggedRuling(context);
    if (ruling === undefined) continue;
    if (!isRequested && mayBeSampled && isAuditSampleCandidate(context, ruling)) continue;
    // Asked of the requested level, too: the bound of a clearance is that of the level asked last.
    const isHeld = isHeldByCondition(context, ruling);
    if (isHeld && !isRequested) continue;
    // A review decision may change at any moment.
    if (applyReviewToRuling(context, ruling) !== ruling) continue;
    const bound = computeStakesBound(context, ruling);
    const [from, to] = computeConstantStakesRange(context, ruling, bound);
    levels[name] = {
      verdict: VERDICTS[ruling.verdictIndex]!,
      log_reason: ruling.logReason,
      threshold_met: scoreReported >= rules.scoreMinimum,
      reason_codes: selectVerdictReasonCodes(context, ruling),
      max_stakes: encodeStakesBound(bound),
      enforced: !call.principal.isShadow && !rules.level.shadow,
      // Rounded inwards, but never past the requested stakes.
      holds_from: Math.min(Math.ceil(from * STAKES_STEPS_PER_UNIT) / STAKES_STEPS_PER_UNIT, stakes),
      holds_to: to === Number.POSITIVE_INFINITY ? null : Math.max(encodeStakesBound(to)!, stakes),
    };
  }
  return levels;
}

/** Whether a condition or a stop makes another ruling of it, or has it recorded. */
function isHeldByCondition(context: VerdictContext, ruling: Ruling): boolean {
  if (context.conditions === undefined) return false;
  return applyConditionsToRuling(context, ruling, ruling) !== ruling || context.isWatched;
}

/** The ruling of a level that was not requested; undefined where it must be recorded. */
function selectUnloggedRuling({
  services,
  agentId,
  rules,
  nowMs,
}: VerdictContext): Ruling | undefined {
  const ruling = applyPolicyRules(rules);
  if (ruling === THIN_FLAGGED || ruling === STALE_FLAGGED) {
    if (services.flaggedToday.wouldBeFirst(agentId, nowMs)) return undefined;
    return ruling === THIN_FLAGGED ? THIN_TOLERATED : TOLERATED;
  }
  if (ruling.isFlagged || ruling.verdictIndex >= VERDICT.QUARANTINE) return undefined;
  return isReviewRequired(ruling, rules) ? undefined : ruling;
}

/** Lowest and highest stakes between which a level gives the same ruling by the same numbers. */
function computeConstantStakesRange(
  { rules, reading, stakes }: VerdictContext,
  ruling: Ruling,
  bound: number,
): readonly [number, number] {
  const { unit } = rules.terms;
  const from = reading.stakesFrom / unit;
  const to = reading.stakesTo / unit;
  if (!rules.level.enforce || !rules.level.counts_stakes) return [from, to];
  if (isDecidedByStakes(ruling)) {
    const isOpen = ruling.logReason === STAKES_NEED_VERIFICATION;
    return [stakes, isOpen ? computeUpperStakes(computeLevelStakesOpen(rules), to, stakes) : to];
  }
  // Silence, and doubt where no rule on the record names it, do so only while the stakes would connect.
  const isTolerated = rules.level.thin !== "challenge" || rules.isVouched;
  const isDoubt = ruling === THIN_RECORD && isTolerated;
  if (isDoubt || ruling === STALE_CHALLENGED) return [stakes, stakes];
  if (ruling.verdictIndex === VERDICT.ALLOW) {
    // Where a decision to verify is allowed, it is marked: the plain answer ends before `max_stakes`.
    const unmarked = Math.max(computeLevelStakesConnect(rules), rules.vouchedStakesMax);
    return [from, computeUpperStakes(Math.min(bound, unmarked), to, stakes)];
  }
  if (ruling.verdictIndex >= VERDICT.QUARANTINE) return [from, to];
  // Whatever names a challenge: from the stakes on that need a person's approval, each call is counted.
  if (isReviewRequired(ruling, rules)) return [stakes, to];
  // Rules after the stakes name a challenge only where the stakes have not caused one.
  const isByRecord = rules.failureCode === "" && ruling.logReason !== SOURCES_REQUIRED.logReason;
  const upper = isByRecord ? computeLevelStakesOpen(rules) : computeLevelStakesClear(rules);
  return [from, computeUpperStakes(upper, to, stakes)];
}

/** The smaller of both; a computed bound is lowered by its tolerance, but not below the requested stakes. */
function computeUpperStakes(bound: number, to: number, stakes: number): number {
  return bound >= to ? to : Math.max(bound * (1 - BOUND_TOLERANCE), stakes);
}
