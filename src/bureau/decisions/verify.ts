// The use case of `POST /v1/trust/verify` (SPEC §2.2, §2.3, §4.1): reading, provenance and policy
// into one verdict. Hot path: one reply object, no closures, nothing awaited.
import { STAKES_MAX } from "../../contract/limits.ts";
import type { LevelPolicy } from "../../contract/policy.ts";
import type { VerifyRequest, VerifyResponse } from "../../contract/schemas/scores.ts";
import { encodeAgentKey } from "../../contract/identifiers.ts";
import { REGIMES, RISK_LEVELS, TIERS, TOOL_LEVELS, VERDICTS } from "../../contract/vocabulary.ts";
import type { ToolLevel } from "../../contract/vocabulary.ts";
import type { AgentScore } from "../../engine/reading.ts";
import type { CallContext } from "../bureau.ts";
import { recordCertainFinding } from "./assessments.ts";
import { logVerify } from "./log-entry.ts";
import { setVerdictTime } from "../services.ts";
import type { BureauServices } from "../services.ts";
import { encodeStakesBound } from "./leg.ts";
import {
  selectFailureCode,
  isAuditSampleCandidate,
  buildAuditSampleKey,
  selectVerdictReasonCodes,
  decideLevelRuling,
  computeStakesBound,
} from "./level-ruling.ts";
import { buildLevelVerdicts } from "./levels.ts";
import { isReviewRuling, applyReviewToRuling, countReviewCall } from "./reviewed.ts";
import type { ActivePolicy } from "../../policy/active-policy.ts";
import { isInAuditSample } from "../../policy/audit.ts";
import {
  isReviewRequired,
  AUDIT_SAMPLED,
  selectMinimumScore,
  OVERTURNED,
  computeRiskIndex,
  THIN_FLAGGED,
  THIN_TOLERATED,
} from "../../policy/rules.ts";
import type { Ruling } from "../../policy/rules.ts";
import { type VouchedNamespace, findVouching } from "../../policy/vouching.ts";
import type { ProvenanceFinding } from "./provenance.ts";
import { findReservedAgent } from "./test-agents.ts";
import type { ReservedAgent } from "./test-agents.ts";

const SCORE_MIN = 300;
const FULL_PENALTY_POINTS = 55;
const BROKEN_EVIDENCE_RISK_INDEX = RISK_LEVELS.indexOf("HIGH");

/** Published value, 0 to 100, of an internal score, 300 to 850 (SPEC §2.3). */
export function scaleScoreTo100(scoreInternal: number): number {
  return Math.round((100 * (scoreInternal - 300)) / 550);
}

/**
 * SPEC §2.3 leaves it open: text that no source supports costs up to a tenth of the scale. Broken
 * evidence costs all of it: a certain finding never weighs less than a doubt.
 */
function applyProvenancePenalty(scoreInternal: number, finding: ProvenanceFinding): number {
  const penalty = finding.hardFailureCode === "" ? (finding.penalty ?? 0) : 1;
  return Math.max(SCORE_MIN, Math.round(scoreInternal - FULL_PENALTY_POINTS * penalty));
}

/** Risk of the request: the agent's own, and at least HIGH where its content is proved wrong. */
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
  services: BureauServices,
  request: VerifyRequest,
  call: CallContext,
): VerifyResponse | Promise<VerifyResponse> {
  const reserved = findReservedAgent(request.agent_id, services.environment.isReservedEnabled);
  const finding =
    reserved?.provenance ?? services.provenance.assess(request.context, call.principal.tenant);
  if (finding instanceof Promise) {
    return finding.then((found) => verifyWithFinding(services, request, call, found, reserved));
  }
  return verifyWithFinding(services, request, call, finding, reserved);
}

/** Reads the engine only now: its reading and the times of the verdict are shared by all calls. */
function verifyWithFinding(
  services: BureauServices,
  request: VerifyRequest,
  call: CallContext,
  finding: ProvenanceFinding,
  reserved: ReservedAgent | undefined,
): VerifyResponse | Promise<VerifyResponse> {
  // SPEC §2.2 has no stakes: without them nothing is at risk beyond the tool's own level.
  const measured = services.engine.check(
    encodeAgentKey(request.agent_id),
    request.stakes ?? 0,
    setVerdictTime(services),
  );
  const configVersion = services.engine.findConfigVersion(measured.configNumber);
  if (reserved === undefined) {
    recordCertainFinding(services.assessments, request, call.principal, finding, services.nowMs);
    return buildVerifyResponse(services, request, call, measured, finding, configVersion, false);
  }
  const response = buildVerifyResponse(
    services,
    request,
    call,
    reserved.reading,
    finding,
    configVersion,
    true,
  );
  if (reserved.delayMs === 0) return response;
  return services.environment.delay(reserved.delayMs).then(() => response);
}

/** Audit samples and review decisions are for one call: their response expires at once, so that no cache keeps it. */
function buildVerifyResponse(
  services: BureauServices,
  request: VerifyRequest,
  call: CallContext,
  reading: AgentScore,
  finding: ProvenanceFinding,
  configVersion: string,
  isReserved: boolean,
): VerifyResponse {
  const { agent_id: agentId, tool_level: toolLevel } = request;
  const active = services.policies.findActivePolicy(call.principal.tenant);
  const level = active.policy.levels[toolLevel];
  const minimum = selectMinimumScore(level, call.principal.minimumScores[toolLevel]);
  const vouching = findVouching(active.vouched, reading, agentId, toolLevel, services.nowMs);
  const ruling = decideVerifyRuling(
    services,
    request,
    call,
    active,
    reading,
    finding,
    vouching,
    isReserved,
  );
  const isForOneCall = ruling === AUDIT_SAMPLED || isReviewRuling(ruling);
  const score = applyProvenancePenalty(reading.scoreInternal, finding);
  const response: VerifyResponse = {
    request_id: call.requestId,
    trust_evaluation: buildTrustEvaluation(reading, finding, score, minimum),
    provenance_data: finding.data,
    policy_action: { verdict: VERDICTS[ruling.verdictIndex]!, log_reason: ruling.logReason },
    reason_codes: selectVerdictReasonCodes(reading, ruling, finding),
    max_stakes: selectMaxStakes(ruling, request.stakes ?? 0, level, reading, vouching),
    enforced: !call.principal.isShadow && !level.shadow,
    config_version: configVersion,
    policy_version: active.version,
    evaluated_at: services.times.evaluatedAt,
    expires_at: isForOneCall ? services.times.evaluatedAt : services.times.expiresAt,
  };
  if (request.levels === true && !isForOneCall) {
    response.levels = buildLevelVerdicts(services, request, call, reading, finding, ruling, score);
  }
  if (isReviewRequired(ruling, level, reading)) {
    const review = countReviewCall(services, request, call, reading, finding, ruling);
    if (review !== undefined) response.review = review;
  }
  const code = selectFailureCode(finding);
  logVerify(services, request, call, reading, ruling, code, minimum, response, isReserved);
  if (!isForOneCall && isMaxStakesUnconfirmed(level, response, reading.stakesTo)) {
    capUnconfirmedMaxStakes(services, request, call, finding, response, reading.stakesTo);
  }
  return response;
}

/** Whether a bound in the response lies beyond the stakes that the score was computed for. */
function isMaxStakesUnconfirmed(
  level: LevelPolicy,
  { levels, max_stakes: maxStakes }: VerifyResponse,
  stakesTo: number,
): boolean {
  return levels !== undefined || isBoundBeyondScoredStakes(level, maxStakes, stakesTo);
}

function buildTrustEvaluation(
  reading: AgentScore,
  finding: ProvenanceFinding,
  scoreInternal: number,
  minimum: number,
): VerifyResponse["trust_evaluation"] {
  const width = reading.failurePessimistic - reading.failureOptimistic;
  const evaluation: VerifyResponse["trust_evaluation"] = {
    score: scaleScoreTo100(scoreInternal),
    threshold_met: scoreInternal >= minimum,
    risk_level: RISK_LEVELS[computeRequestRiskIndex(reading.failureProbability, finding)]!,
    internal_score: scoreInternal,
    tier: TIERS[reading.tierIndex]!,
    confidence: Math.round((1 - width) * 1000) / 1000,
  };
  if (reading.regimeIndex >= 0) evaluation.regime = REGIMES[reading.regimeIndex]!;
  return evaluation;
}

/** A review decision holds for the requested stakes only, any other ruling up to its bound. */
function selectMaxStakes(
  ruling: Ruling,
  stakes: number,
  level: LevelPolicy,
  reading: AgentScore,
  vouching: VouchedNamespace | undefined,
): VerifyResponse["max_stakes"] {
  if (ruling === OVERTURNED) return stakes;
  return encodeStakesBound(computeStakesBound(level, reading, ruling, vouching));
}

/** The ruling on the request itself: the policy's, then a person's, then that of a lot. */
function decideVerifyRuling(
  services: BureauServices,
  request: VerifyRequest,
  call: CallContext,
  active: ActivePolicy,
  reading: AgentScore,
  finding: ProvenanceFinding,
  vouching: VouchedNamespace | undefined,
  isReserved: boolean,
): Ruling {
  const { agent_id: agentId, tool_level: toolLevel, stakes = 0 } = request;
  const asked = decideLevelRuling(
    active,
    call.principal,
    toolLevel,
    reading,
    finding,
    vouching,
    stakes,
  );
  // A reserved agent answers the same whatever people decide.
  if (isReserved) return flagThinRecordOncePerDay(services, agentId, asked);
  const ruled = applyReviewToRuling(services, request, call, toolLevel, reading, finding, asked);
  const isDrawable = isAuditSampleCandidate(
    active,
    call.principal,
    toolLevel,
    reading,
    finding,
    ruled,
    stakes,
  );
  const level = active.policy.levels[toolLevel];
  if (isDrawable && isSampledForAudit(services, call, agentId, level)) return AUDIT_SAMPLED;
  return flagThinRecordOncePerDay(services, agentId, ruled);
}

/**
 * Draws the lot of an audit. An agent's first challenge of the day takes part and no other: who asks
 * again wins nothing.
 */
function isSampledForAudit(
  services: BureauServices,
  call: CallContext,
  agentId: string,
  { audit_one_in: oneIn }: LevelPolicy,
): boolean {
  const isFirst = services.auditedToday.markIfFirst(
    buildAuditSampleKey(call, agentId),
    services.nowMs,
  );
  return isFirst && isInAuditSample(call.requestId, oneIn!);
}

/** A thin record is flagged the first time of the day; after that it is only tolerated. */
function flagThinRecordOncePerDay(
  services: BureauServices,
  agentId: string,
  ruling: Ruling,
): Ruling {
  if (ruling !== THIN_FLAGGED) return ruling;
  return services.flaggedToday.markIfFirst(agentId, services.nowMs) ? ruling : THIN_TOLERATED;
}

/** Whether stakes up to a bound make the agent itself riskier, and the level minds. */
function isBoundBeyondScoredStakes(
  level: LevelPolicy,
  bound: number | null,
  stakesTo: number,
): boolean {
  return level.enforce && (bound ?? Number.POSITIVE_INFINITY) > stakesTo;
}

/**
 * Beyond `stakesTo` a bound holds only if the level, asked at the bound, still allows. Comes last,
 * because it uses the thread's one reading.
 */
function capUnconfirmedMaxStakes(
  services: BureauServices,
  request: VerifyRequest,
  call: CallContext,
  finding: ProvenanceFinding,
  response: VerifyResponse,
  stakesTo: number,
): void {
  const { policy } = services.policies.findActivePolicy(call.principal.tenant);
  const settled = (name: ToolLevel, bound: number | null): number | null => {
    if (!isBoundBeyondScoredStakes(policy.levels[name], bound, stakesTo)) return bound;
    const isHeld = isAllowedAtStakes(services, request, call, finding, name, bound ?? STAKES_MAX);
    return isHeld ? bound : encodeStakesBound(stakesTo);
  };
  response.max_stakes = settled(request.tool_level, response.max_stakes);
  for (const name of TOOL_LEVELS) {
    const level = response.levels?.[name];
    if (level !== undefined) level.max_stakes = settled(name, level.max_stakes);
  }
}

function isAllowedAtStakes(
  services: BureauServices,
  request: VerifyRequest,
  call: CallContext,
  finding: ProvenanceFinding,
  toolLevel: ToolLevel,
  stakes: number,
): boolean {
  const { agent_id: agentId } = request;
  const active = services.policies.findActivePolicy(call.principal.tenant);
  const reading = services.engine.check(encodeAgentKey(agentId), stakes, services.nowMs);
  const vouching = findVouching(active.vouched, reading, agentId, toolLevel, services.nowMs);
  const ruling = decideLevelRuling(
    active,
    call.principal,
    toolLevel,
    reading,
    finding,
    vouching,
    stakes,
  );
  return ruling.verdictIndex === 0;
}
