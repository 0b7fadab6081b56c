// The use case of `POST /v1/trust/verify` (SPEC §2.2, §2.3, §4.1): reading, provenance and policy
// into one verdict. Hot path: one reply object, no closures, nothing awaited.
import { STAKES_MAX } from "../../contract/limits.ts";
import type { LevelPolicy } from "../../contract/policy.ts";
import type { VerifyRequest, VerifyResponse } from "../../contract/schemas/scores.ts";
import { agentKey } from "../../contract/identifiers.ts";
import { REGIMES, RISK_LEVELS, TIERS, TOOL_LEVELS, VERDICTS } from "../../contract/vocabulary.ts";
import type { ToolLevel } from "../../contract/vocabulary.ts";
import type { Reading } from "../../engine/reading.ts";
import type { CallContext } from "../bureau.ts";
import { noteAssessment } from "./assessments.ts";
import { logVerify } from "./log-entry.ts";
import { openTimes } from "../services.ts";
import type { BureauServices } from "../services.ts";
import { stakesOnWire } from "./leg.ts";
import {
  selectFailureCode,
  isInLot,
  buildAuditSampleKey,
  reasonCodes,
  ruleAt,
  stakesBound,
} from "./level-ruling.ts";
import { judgeLevels } from "./levels.ts";
import { isByPerson, reviewed, countReviewCall } from "./reviewed.ts";
import type { ActivePolicy } from "../../policy/active-policy.ts";
import { isDrawn } from "../../policy/audit.ts";
import {
  asksPerson,
  AUDITED,
  selectMinimumScore,
  OVERTURNED,
  riskIndex,
  THIN_FLAGGED,
  THIN_TOLERATED,
} from "../../policy/rules.ts";
import type { Ruling } from "../../policy/rules.ts";
import { type VouchedNamespace, vouchingFor } from "../../policy/vouching.ts";
import type { ProvenanceFinding } from "./provenance.ts";
import { findReserved } from "./test-agents.ts";
import type { ReservedAgent } from "./test-agents.ts";

const SCORE_MIN = 300;
const PENALTY_MAX = 55;
const RISK_OF_BROKEN_EVIDENCE = RISK_LEVELS.indexOf("HIGH");

/** Published value, 0 to 100, of an internal score, 300 to 850 (SPEC §2.3). */
export function normalizeScore(scoreInternal: number): number {
  return Math.round((100 * (scoreInternal - 300)) / 550);
}

/**
 * SPEC §2.3 leaves it open: text that no source supports costs up to a tenth of the scale. Broken
 * evidence costs all of it: a certain finding never weighs less than a doubt.
 */
function lowerScore(scoreInternal: number, finding: ProvenanceFinding): number {
  const penalty = finding.hardFailureCode === "" ? (finding.penalty ?? 0) : 1;
  return Math.max(SCORE_MIN, Math.round(scoreInternal - PENALTY_MAX * penalty));
}

/** Risk of the request: the agent's own, and at least HIGH where its content is proved wrong. */
function requestRisk(failureProbability: number, finding: ProvenanceFinding): number {
  const own = riskIndex(failureProbability);
  return finding.hardFailureCode === "" ? own : Math.max(own, RISK_OF_BROKEN_EVIDENCE);
}

/**
 * Verdict on one request. Returns a promise only for the reserved `slow`, and for a text too large
 * to be assessed in place.
 * @throws ServiceFault `reserved_agent` when test agents are switched off.
 */
export function verify(
  services: BureauServices,
  request: VerifyRequest,
  call: CallContext,
): VerifyResponse | Promise<VerifyResponse> {
  const reserved = findReserved(request.agent_id, services.environment.isReservedEnabled);
  const finding =
    reserved?.provenance ?? services.provenance.assess(request.context, call.principal.tenant);
  if (finding instanceof Promise) {
    return finding.then((found) => answer(services, request, call, found, reserved));
  }
  return answer(services, request, call, finding, reserved);
}

/** Reads the engine only now: its reading and the times of the verdict are shared by all calls. */
function answer(
  services: BureauServices,
  request: VerifyRequest,
  call: CallContext,
  finding: ProvenanceFinding,
  reserved: ReservedAgent | undefined,
): VerifyResponse | Promise<VerifyResponse> {
  // SPEC §2.2 has no stakes: without them nothing is at risk beyond the tool's own level.
  const measured = services.engine.check(
    agentKey(request.agent_id),
    request.stakes ?? 0,
    openTimes(services),
  );
  const configVersion = services.engine.configVersion(measured.configNumber);
  if (reserved === undefined) {
    noteAssessment(services.assessments, request, call.principal, finding, services.nowMs);
    return respond(services, request, call, measured, finding, configVersion, false);
  }
  const response = respond(services, request, call, reserved.reading, finding, configVersion, true);
  if (reserved.delayMs === 0) return response;
  return services.environment.delay(reserved.delayMs).then(() => response);
}

function respond(
  services: BureauServices,
  request: VerifyRequest,
  call: CallContext,
  reading: Reading,
  finding: ProvenanceFinding,
  configVersion: string,
  isReserved: boolean,
): VerifyResponse {
  const { agent_id: agentId, tool_level: toolLevel } = request;
  const active = services.policies.of(call.principal.tenant);
  const level = active.policy.levels[toolLevel];
  const minimum = selectMinimumScore(level, call.principal.minimumScores[toolLevel]);
  const vouching = vouchingFor(active.vouched, reading, agentId, toolLevel, services.nowMs);
  const stakes = request.stakes ?? 0;
  const ruling = rule(services, request, call, active, reading, finding, vouching, isReserved);
  const isForOneCall = ruling === AUDITED || isByPerson(ruling);
  const { stakesTo } = reading;
  const scoreInternal = lowerScore(reading.scoreInternal, finding);
  const width = reading.failurePessimistic - reading.failureOptimistic;
  const response: VerifyResponse = {
    request_id: call.requestId,
    trust_evaluation: {
      score: normalizeScore(scoreInternal),
      threshold_met: scoreInternal >= minimum,
      risk_level: RISK_LEVELS[requestRisk(reading.failureProbability, finding)]!,
      internal_score: scoreInternal,
      tier: TIERS[reading.tierIndex]!,
      confidence: Math.round((1 - width) * 1000) / 1000,
    },
    provenance_data: finding.data,
    policy_action: { verdict: VERDICTS[ruling.verdictIndex]!, log_reason: ruling.logReason },
    reason_codes: reasonCodes(reading, ruling, finding),
    // A person's word is for the stakes that were asked about.
    max_stakes:
      ruling === OVERTURNED ? stakes : stakesOnWire(stakesBound(level, reading, ruling, vouching)),
    enforced: !call.principal.isShadow && !level.shadow,
    config_version: configVersion,
    policy_version: active.version,
    evaluated_at: services.times.evaluatedAt,
    // A lot is for one call, and a person may decide anew: no cache may hold it.
    expires_at: isForOneCall ? services.times.evaluatedAt : services.times.expiresAt,
  };
  if (reading.regimeIndex >= 0) {
    response.trust_evaluation.regime = REGIMES[reading.regimeIndex]!;
  }
  if (request.levels === true && !isForOneCall) {
    response.levels = judgeLevels(services, request, call, reading, finding, ruling, scoreInternal);
  }
  if (asksPerson(ruling, level, reading)) {
    const review = countReviewCall(services, request, call, reading, finding, ruling);
    if (review !== undefined) response.review = review;
  }
  const failureCode = selectFailureCode(finding);
  logVerify(services, request, call, reading, ruling, failureCode, minimum, response, isReserved);
  const isOpen = response.levels !== undefined || isBeyond(level, response.max_stakes, stakesTo);
  if (isOpen && !isForOneCall) {
    settleStakes(services, request, call, finding, response, stakesTo);
  }
  return response;
}

/** The ruling on the request itself: the policy's, then a person's, then that of a lot. */
function rule(
  services: BureauServices,
  request: VerifyRequest,
  call: CallContext,
  active: ActivePolicy,
  reading: Reading,
  finding: ProvenanceFinding,
  vouching: VouchedNamespace | undefined,
  isReserved: boolean,
): Ruling {
  const { agent_id: agentId, tool_level: toolLevel, stakes = 0 } = request;
  const asked = ruleAt(active, call.principal, toolLevel, reading, finding, vouching, stakes);
  // A reserved agent answers the same whatever people decide.
  if (isReserved) return onceADay(services, agentId, asked);
  const ruled = reviewed(services, request, call, toolLevel, reading, finding, asked);
  const isDrawable = isInLot(active, call.principal, toolLevel, reading, finding, ruled, stakes);
  const level = active.policy.levels[toolLevel];
  if (isDrawable && hasWon(services, call, agentId, level)) return AUDITED;
  return onceADay(services, agentId, ruled);
}

/**
 * Draws the lot of an audit. An agent's first challenge of the day takes part and no other: who asks
 * again wins nothing.
 */
function hasWon(
  services: BureauServices,
  call: CallContext,
  agentId: string,
  { audit_one_in: oneIn }: LevelPolicy,
): boolean {
  const isFirst = services.auditedToday.isFirst(buildAuditSampleKey(call, agentId), services.nowMs);
  return isFirst && isDrawn(call.requestId, oneIn!);
}

/** A thin record is flagged the first time of the day; after that it is only tolerated. */
function onceADay(services: BureauServices, agentId: string, ruling: Ruling): Ruling {
  if (ruling !== THIN_FLAGGED) return ruling;
  return services.flaggedToday.isFirst(agentId, services.nowMs) ? ruling : THIN_TOLERATED;
}

/** Whether stakes up to a bound make the agent itself riskier, and the level minds. */
function isBeyond(level: LevelPolicy, bound: number | null, stakesTo: number): boolean {
  return level.enforce && (bound ?? Number.POSITIVE_INFINITY) > stakesTo;
}

/**
 * Beyond `stakesTo` a bound holds only if the level, asked at the bound, still allows. Comes last,
 * because it uses the thread's one reading.
 */
function settleStakes(
  services: BureauServices,
  request: VerifyRequest,
  call: CallContext,
  finding: ProvenanceFinding,
  response: VerifyResponse,
  stakesTo: number,
): void {
  const { policy } = services.policies.of(call.principal.tenant);
  const settled = (name: ToolLevel, bound: number | null): number | null => {
    if (!isBeyond(policy.levels[name], bound, stakesTo)) return bound;
    const isHeld = isAllowedAt(services, request, call, finding, name, bound ?? STAKES_MAX);
    return isHeld ? bound : stakesOnWire(stakesTo);
  };
  response.max_stakes = settled(request.tool_level, response.max_stakes);
  for (const name of TOOL_LEVELS) {
    const level = response.levels?.[name];
    if (level !== undefined) level.max_stakes = settled(name, level.max_stakes);
  }
}

function isAllowedAt(
  services: BureauServices,
  request: VerifyRequest,
  call: CallContext,
  finding: ProvenanceFinding,
  toolLevel: ToolLevel,
  stakes: number,
): boolean {
  const { agent_id: agentId } = request;
  const active = services.policies.of(call.principal.tenant);
  const reading = services.engine.check(agentKey(agentId), stakes, services.nowMs);
  const vouching = vouchingFor(active.vouched, reading, agentId, toolLevel, services.nowMs);
  const ruling = ruleAt(active, call.principal, toolLevel, reading, finding, vouching, stakes);
  return ruling.verdictIndex === 0;
}
