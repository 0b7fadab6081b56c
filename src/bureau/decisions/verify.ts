// Use case of `POST /v1/trust/verify` (SPEC §2.2, §2.3, §4.1): combines score, provenance and policy into one
// verdict. Hot path: one reply object, no closures, nothing awaited.
import { STAKES_MAX } from "../../contract/limits.ts";
import type { LevelPolicy } from "../../contract/policy.ts";
import type { VerifyRequest, VerifyResponse } from "../../contract/schemas/scores.ts";
import { encodeAgentKey } from "../../contract/identifiers.ts";
import {
  REGIMES,
  RISK_LEVELS,
  TIERS,
  TOOL_LEVELS,
  VERDICT,
  VERDICTS,
} from "../../contract/vocabulary.ts";
import type { ToolLevel } from "../../contract/vocabulary.ts";
import { SCORE_MIN, SCORE_SPAN } from "../../contract/units.ts";
import type { CallContext } from "../bureau.ts";
import {
  applyConditionsToRuling,
  findConditions,
  markIfWatched,
  selectExpiresAt,
} from "./condition-override.ts";
import { applyActionEntries, describeActionDecision } from "./action-entries.ts";
import {
  applyEnforcedLimits,
  applyUnsettledStakes,
  beginVerifyActivity,
  isEnforcedLimit,
  isHeldForPerson,
  judgeAtSum,
  keepVerifiedStakes,
  markLoggedLimits,
  releaseStakes,
} from "./activity-limits.ts";
import { recordCertainFinding } from "./assessments.ts";
import { logVerify } from "./log-entry.ts";
import { encodeStakesBound } from "./stakes-bound.ts";
import {
  isAuditSampleCandidate,
  buildAuditSampleKey,
  selectVerdictReasonCodes,
  decideLevelRuling,
  computeStakesBound,
} from "./level-ruling.ts";
import { buildLevelVerdicts } from "./levels.ts";
import { isReviewRuling, applyReviewToRuling, countReviewCall } from "./review-override.ts";
import { isInAuditSample } from "../../policy/audit-sample.ts";
import { isReviewRequired, computeRiskIndex } from "../../policy/rules.ts";
import {
  AUDIT_SAMPLED,
  OVERTURNED,
  STALE_FLAGGED,
  THIN_FLAGGED,
  THIN_TOLERATED,
  TOLERATED,
} from "../../policy/rulings.ts";
import type { Ruling } from "../../policy/rulings.ts";
import type { ProvenanceFinding } from "./provenance.ts";
import { findReservedAgent } from "./test-agents.ts";
import type { VerdictContext } from "./verdict-context.ts";

const FULL_PENALTY_POINTS = 55;
const BROKEN_EVIDENCE_RISK_INDEX = RISK_LEVELS.indexOf("HIGH");

/** Published value, 0 to 100, of an internal score, 300 to 850 (SPEC §2.3). */
export function scaleScoreTo100(scoreInternal: number): number {
  return Math.round((100 * (scoreInternal - SCORE_MIN)) / SCORE_SPAN);
}

/**
 * SPEC §2.3 leaves the penalty open: unsupported text costs up to a tenth of the scale, broken evidence the
 * full tenth, so that a certain finding never costs less than a doubt.
 */
function applyProvenancePenalty(scoreInternal: number, finding: ProvenanceFinding): number {
  const penalty = finding.hardFailureCode === "" ? (finding.penalty ?? 0) : 1;
  return Math.max(SCORE_MIN, Math.round(scoreInternal - FULL_PENALTY_POINTS * penalty));
}

/** Risk of the request: the agent's own, and at least HIGH with broken evidence. */
function computeRequestRiskIndex(failureProbability: number, finding: ProvenanceFinding): number {
  const own = computeRiskIndex(failureProbability);
  return finding.hardFailureCode === "" ? own : Math.max(own, BROKEN_EVIDENCE_RISK_INDEX);
}

/**
 * Verdict on one request. Returns a promise only for the reserved `slow`, and for a text too large
 * to be assessed in place.
 * @throws ServiceFault `reserved_agent` when test agents are switched off.
 */
export function verifyAgentAction(
  context: VerdictContext,
  request: VerifyRequest,
  call: CallContext,
): VerifyResponse | Promise<VerifyResponse> {
  const { environment, provenance } = context.services;
  const reserved = findReservedAgent(request.agent_id, environment.isReservedEnabled);
  const finding = reserved?.provenance ?? provenance.assess(request.context, call.principal.tenant);
  if (finding instanceof Promise) {
    return finding.then((found) => {
      context.finding = found;
      context.reserved = reserved;
      return verifyWithFinding(context, request, call);
    });
  }
  context.finding = finding;
  context.reserved = reserved;
  return verifyWithFinding(context, request, call);
}

/** Fills the context and reads the engine only now: requests that were assessed meanwhile have used both. */
function verifyWithFinding(
  context: VerdictContext,
  given: VerifyRequest,
  call: CallContext,
): VerifyResponse | Promise<VerifyResponse> {
  const { services, reserved } = context;
  const { engine, environment } = services;
  // SPEC §2.2 has no stakes: without them the level's assumed ones count.
  context.begin(call, given.agent_id, given.stakes ?? 0);
  const request = applyActionEntries(context, given);
  if (reserved === undefined) {
    recordCertainFinding(context, request);
    return verifyCountedCall(context, request);
  }
  readScore(context);
  const configVersion = engine.findConfigVersion(context.reading.configNumber);
  context.reading = reserved.reading;
  const response = buildVerifyResponse(context, request, configVersion);
  if (reserved.delayMs === 0) return response;
  return environment.delay(reserved.delayMs).then(() => response);
}

/** Reads the agent's score at the context's stakes. */
function readScore(context: VerdictContext): void {
  const atStakes = context.convertToAccountUnit(context.stakes);
  const key = encodeAgentKey(context.agentId);
  context.reading = context.services.engine.check(key, atStakes, context.nowMs);
}

/** Verdict on a call that counts, and whose stakes are held against later ones of the agent. */
function verifyCountedCall(context: VerdictContext, request: VerifyRequest): VerifyResponse {
  beginVerifyActivity(context, request);
  try {
    // The sum first: from then on the context describes the call itself.
    if (context.unsettled > 0) judgeSum(context, request.tool_level);
    readScore(context);
    const { engine } = context.services;
    const configVersion = engine.findConfigVersion(context.reading.configNumber);
    return buildVerifyResponse(context, request, configVersion);
  } catch (error) {
    releaseStakes(context);
    throw error;
  }
}

/** Leaves the ruling at the stakes of the call and the unsettled ones together, and whether it waits for a person. */
function judgeSum(context: VerdictContext, toolLevel: ToolLevel): void {
  judgeAtSum(context, () => {
    readScore(context);
    const ruling = overruleByPeople(context, decideLevelRuling(context, toolLevel));
    context.sumRuling = ruling;
    context.isReviewAtSum = isReviewRequired(ruling, context.rules);
  });
}

/**
 * Audit samples, review decisions, named stakes and levels that depend on the action are for one call: their response
 * expires at once, so that no cache keeps it for another action.
 */
function buildVerifyResponse(
  context: VerdictContext,
  request: VerifyRequest,
  configVersion: string,
): VerifyResponse {
  const { call, reading, finding, rules, times } = context;
  const ruling = decideVerifyRuling(context, request.tool_level);
  context.ruling = ruling;
  const { level } = rules;
  const isForOneCall =
    ruling === AUDIT_SAMPLED ||
    isReviewRuling(ruling) ||
    isEnforcedLimit(ruling) ||
    context.actionDecision !== undefined;
  const isKept = !isForOneCall && context.held === undefined;
  const score = applyProvenancePenalty(reading.scoreInternal, finding);
  const response: VerifyResponse = {
    request_id: call.requestId,
    trust_evaluation: buildTrustEvaluation(context, score),
    provenance_data: finding.data,
    policy_action: { verdict: VERDICTS[ruling.verdictIndex]!, log_reason: ruling.logReason },
    reason_codes: selectVerdictReasonCodes(context, ruling),
    max_stakes: selectMaxStakes(context),
    enforced: !call.principal.isShadow && !level.shadow,
    config_version: configVersion,
    policy_version: context.active.version,
    evaluated_at: times.evaluatedAt,
    expires_at: isKept ? selectExpiresAt(context) : times.evaluatedAt,
  };
  const isReviewed = isReviewRequired(ruling, rules) || isHeldForPerson(context, ruling);
  const review = isReviewed ? countReviewCall(context, ruling) : undefined;
  logVerify(context, request, response);
  keepVerifiedStakes(context, ruling);
  // From here on the context describes other levels.
  if (request.levels === true && isKept) {
    response.levels = buildLevelVerdicts(context, request.tool_level, score);
  }
  if (review !== undefined) response.review = review;
  if (context.actionDecision !== undefined) {
    response.action_entry = describeActionDecision(context.actionDecision);
  }
  if (isForOneCall) return response;
  if (
    response.levels !== undefined ||
    isBeyondScoredStakes(level, response.max_stakes, computeScoredStakesTo(context))
  ) {
    capUnconfirmedMaxStakes(context, request.tool_level, response);
  }
  return response;
}

function buildTrustEvaluation(
  { reading, finding, rules }: VerdictContext,
  scoreInternal: number,
): VerifyResponse["trust_evaluation"] {
  const width = reading.failurePessimistic - reading.failureOptimistic;
  const evaluation: VerifyResponse["trust_evaluation"] = {
    score: scaleScoreTo100(scoreInternal),
    threshold_met: scoreInternal >= rules.scoreMinimum,
    risk_level: RISK_LEVELS[computeRequestRiskIndex(reading.failureProbability, finding)]!,
    internal_score: scoreInternal,
    tier: TIERS[reading.tierIndex]!,
    confidence: Math.round((1 - width) * 1000) / 1000,
  };
  if (reading.regimeIndex >= 0) evaluation.regime = REGIMES[reading.regimeIndex]!;
  return evaluation;
}

/** A review decision holds for the requested stakes only, any other ruling up to its bound. */
function selectMaxStakes(context: VerdictContext): VerifyResponse["max_stakes"] {
  const { ruling, stakes } = context;
  if (ruling === OVERTURNED) return stakes;
  const bound = computeStakesBound(context, ruling);
  return encodeStakesBound(Math.max(0, bound - context.unsettled));
}

/**
 * The ruling of the requested level: by the policy, a reviewer, operators' conditions, audit sampling, then by what
 * the agent has done before.
 */
function decideVerifyRuling(context: VerdictContext, toolLevel: ToolLevel): Ruling {
  const decided = decideLevelRuling(context, toolLevel);
  // Review decisions and sampling do not apply to reserved agents.
  if (context.reserved !== undefined) return flagRecordOncePerDay(context, decided);
  const ruled = overruleByPeople(context, decided);
  const isSampled = isAuditSampleCandidate(context, ruled) && isSampledForAudit(context);
  const sampled = isSampled ? AUDIT_SAMPLED : ruled;
  const limited = applyUnsettledStakes(context, applyEnforcedLimits(context, sampled));
  if (isSampled || limited !== ruled) return limited;
  return markIfWatched(context, markLoggedLimits(context, flagRecordOncePerDay(context, limited)));
}

/** A ruling of the rules after a review decision and operators' conditions. */
function overruleByPeople(context: VerdictContext, decided: Ruling): Ruling {
  const reviewed = applyReviewToRuling(context, decided);
  context.conditions = findConditions(context);
  if (context.conditions === undefined) return reviewed;
  return applyConditionsToRuling(context, decided, reviewed);
}

/** Only an agent's first challenge of a UTC day is eligible, so retrying does not improve its odds. */
function isSampledForAudit(context: VerdictContext): boolean {
  const { services, call, rules, nowMs } = context;
  const isFirst = services.auditedToday.markIfFirst(buildAuditSampleKey(context), nowMs);
  return isFirst && isInAuditSample(call.requestId, rules.level.audit_one_in!);
}

/** A thin or silent record is flagged the first time of the day; after that it is only tolerated. */
function flagRecordOncePerDay(context: VerdictContext, ruling: Ruling): Ruling {
  if (ruling !== THIN_FLAGGED && ruling !== STALE_FLAGGED) return ruling;
  const { services, agentId, nowMs } = context;
  if (services.flaggedToday.markIfFirst(agentId, nowMs)) return ruling;
  return ruling === THIN_FLAGGED ? THIN_TOLERATED : TOLERATED;
}

/** Whether a bound on the stakes exceeds those that the score was computed for, where the level counts it. */
function isBeyondScoredStakes(level: LevelPolicy, bound: number | null, stakesTo: number): boolean {
  return level.enforce && (bound ?? Number.POSITIVE_INFINITY) > stakesTo;
}

/** Largest stakes, in the tenant's unit, for which the reading's probability was computed. */
function computeScoredStakesTo({ reading, active }: VerdictContext): number {
  return reading.stakesTo / active.terms.connect.unit;
}

/**
 * Beyond `stakesTo` a bound holds only if the level, judged at the bound, still allows. Comes last, because it
 * overwrites the thread's one score.
 */
function capUnconfirmedMaxStakes(
  context: VerdictContext,
  toolLevel: ToolLevel,
  response: VerifyResponse,
): void {
  const { levels } = context.active.policy;
  const stakesTo = computeScoredStakesTo(context);
  const cap = (name: ToolLevel, bound: number | null): number | null => {
    if (!isBeyondScoredStakes(levels[name], bound, stakesTo)) return bound;
    const isAllowed = isAllowedAtStakes(context, name, bound ?? STAKES_MAX);
    return isAllowed ? bound : encodeStakesBound(stakesTo);
  };
  response.max_stakes = cap(toolLevel, response.max_stakes);
  for (const name of TOOL_LEVELS) {
    const level = response.levels?.[name];
    if (level !== undefined) level.max_stakes = cap(name, level.max_stakes);
  }
}

function isAllowedAtStakes(context: VerdictContext, toolLevel: ToolLevel, stakes: number): boolean {
  const { services, agentId, nowMs } = context;
  const atStakes = context.convertToAccountUnit(stakes);
  context.reading = services.engine.check(encodeAgentKey(agentId), atStakes, nowMs);
  context.stakes = stakes;
  const decided = decideLevelRuling(context, toolLevel);
  const ruled =
    context.conditions === undefined ? decided : applyConditionsToRuling(context, decided, decided);
  return ruled.verdictIndex === VERDICT.ALLOW;
}
