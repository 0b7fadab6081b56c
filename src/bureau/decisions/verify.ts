// The use case of `POST /v1/trust/verify` (SPEC §2.2, §2.3, §4.1): reading, provenance and policy
// into one verdict. Hot path: one reply object, no closures, nothing awaited.
import type { LevelPolicy } from "../../contract/policy.ts";
import type { VerifyRequest, VerifyResponse } from "../../contract/schemas/scores.ts";
import { agentKey } from "../../contract/identifiers.ts";
import { REASON_CODES, REGIMES, RISK_LEVELS, TIERS, VERDICTS } from "../../contract/vocabulary.ts";
import type { Reading } from "../../engine/reading.ts";
import type { CallContext } from "../bureau.ts";
import { noteAssessment } from "./assessments.ts";
import { logVerify } from "./log-entry.ts";
import { openTimes } from "../services.ts";
import type { BureauServices } from "../services.ts";
import { stakesOnWire } from "./leg.ts";
import { isAuditable, isDrawn } from "../../policy/audit.ts";
import {
  AUDITED,
  decidePolicy,
  isMinimumMet,
  minimumScoreOf,
  riskIndex,
  THIN_FLAGGED,
  THIN_TOLERATED,
  VOUCHED,
} from "../../policy/rules.ts";
import type { Ruling } from "../../policy/rules.ts";
import { areStakesVouched, vouchingFor } from "../../policy/vouching.ts";
import type { VouchedNamespace } from "../../policy/vouching.ts";
import type { ProvenanceFinding } from "./provenance.ts";
import { findReserved } from "./test-agents.ts";
import type { ReservedAgent } from "./test-agents.ts";

const REASONS_MAX = 4;
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
    return finding.then((settled) => answer(services, request, call, settled, reserved));
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
  const { version, policy, vouched } = services.policies.of(call.principal.tenant);
  const level = policy.levels[toolLevel];
  const keyMinimum = call.principal.minimumScores[toolLevel];
  const minimum = minimumScoreOf(level, keyMinimum);
  const vouching = vouchingFor(vouched, reading, agentId, toolLevel, services.nowMs);
  const failureCode = finding.hardFailureCode || (finding.softFailureCode ?? "");
  const ruling = ruleOn(services, request, call, reading, finding, level, vouching, isReserved);
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
    max_stakes: stakesAllowed(level, reading, ruling, vouching?.stakesMax ?? 0),
    enforced: !call.principal.isShadow && !level.shadow,
    config_version: configVersion,
    policy_version: version,
    evaluated_at: services.times.evaluatedAt,
    // A lot is for one call: no cache may hold it.
    expires_at: ruling === AUDITED ? services.times.evaluatedAt : services.times.expiresAt,
  };
  if (reading.regimeIndex >= 0) {
    response.trust_evaluation.regime = REGIMES[reading.regimeIndex]!;
  }
  logVerify(services, request, call, reading, ruling, failureCode, minimum, response, isReserved);
  return response;
}

/** The policy on the agent's own score: what its text deserves, the failure code decides. */
function ruleOn(
  services: BureauServices,
  request: VerifyRequest,
  call: CallContext,
  reading: Reading,
  finding: ProvenanceFinding,
  level: LevelPolicy,
  vouching: VouchedNamespace | undefined,
  isReserved: boolean,
): Ruling {
  const { agent_id: agentId, tool_level: toolLevel } = request;
  const keyMinimum = call.principal.minimumScores[toolLevel];
  const isMet = isMinimumMet(toolLevel, level, reading.scoreInternal, keyMinimum);
  const failureCode = finding.hardFailureCode || (finding.softFailureCode ?? "");
  const isSourced = finding.data.source_verified || isSilent(finding);
  const ruling = decidePolicy(
    toolLevel,
    level,
    reading,
    isMet,
    failureCode,
    isSourced,
    level.allow_up_to,
    vouching !== undefined,
    areStakesVouched(vouching, request.stakes ?? 0),
  );
  const isOnlyRecord =
    isMet && failureCode === "" && (isSourced || !level.require_verified_sources);
  if (isOnlyRecord && !isReserved && isInSample(services, request, call, level, ruling)) {
    return AUDITED;
  }
  return onceADay(services, agentId, ruling);
}

/** Whether the request cited nothing that could have been verified. */
function isSilent(finding: ProvenanceFinding): boolean {
  return finding.reasonCode === "PROVENANCE_NOT_ASSESSED" || finding.reasonCode === "NO_SOURCES";
}

/**
 * Whether this request is let through by lot. An agent's first challenge of the day takes part and no
 * other: who asks again wins nothing. Where nothing is enforced, nothing needs to be let through.
 */
function isInSample(
  services: BureauServices,
  { agent_id: agentId, stakes }: VerifyRequest,
  { principal, requestId }: CallContext,
  level: LevelPolicy,
  ruling: Ruling,
): boolean {
  if (!isAuditable(level, ruling, stakes ?? 0) || level.shadow || principal.isShadow) return false;
  const isFirst = services.auditedToday.isFirst(`${principal.tenant} ${agentId}`, services.nowMs);
  return isFirst && isDrawn(requestId, level.audit_one_in!);
}

/** A thin record is flagged the first time of the day; after that it is only tolerated. */
function onceADay(services: BureauServices, agentId: string, ruling: Ruling): Ruling {
  if (ruling !== THIN_FLAGGED) return ruling;
  return services.flaggedToday.isFirst(agentId, services.nowMs) ? ruling : THIN_TOLERATED;
}

/**
 * Largest stakes at which the answer would still be ALLOW: null for any, 0 where the answer is
 * another already, whatever the stakes. Rounded down, so that naming them draws no stricter answer.
 */
function stakesAllowed(
  level: LevelPolicy,
  reading: Reading,
  ruling: Ruling,
  stakesVouched: number,
): number | null {
  if (ruling === AUDITED) return stakesOnWire(level.audit_max_stakes ?? 0);
  if (ruling.verdictIndex > 0 && !ruling.logReason.startsWith("STAKES_")) return 0;
  if (!level.enforce || !level.counts_stakes) return null;
  return stakesOnWire(Math.max(reading.stakesClear, stakesVouched));
}

/**
 * At most four, by weight: broken provenance first, then the engine's, then the open questions of
 * provenance. SPEC §2.5 rule 2 carried over: a clear verdict gives no reasons against the agent; one
 * that rests on the operator's word or on a lot says so.
 */
function reasonCodes(reading: Reading, ruling: Ruling, finding: ProvenanceFinding): string[] {
  const codes: string[] = [];
  const isHard = finding.hardFailureCode !== "";
  if (isHard) codes.push(finding.reasonCode);
  if (ruling === VOUCHED || ruling === AUDITED) codes.push(ruling.logReason);
  if (ruling.verdictIndex > 0 || ruling.isFlagged) {
    const own = ruling === AUDITED ? 1 : 0;
    const room = REASONS_MAX - own - (finding.reasonCode === "" ? 0 : 1);
    for (let i = 0; i < reading.reasonCount && i < room; i += 1) {
      const code = REASON_CODES[reading.reasonIndexes[i]!]!;
      if (code !== finding.reasonCode) codes.push(code);
    }
  }
  if (!isHard && finding.reasonCode !== "") codes.push(finding.reasonCode);
  // A verdict that is not clear never goes without a reason: the general rate of failure is one.
  if (ruling.verdictIndex > 0 && codes.length === 0) codes.push("BASE_RATE");
  return codes;
}
