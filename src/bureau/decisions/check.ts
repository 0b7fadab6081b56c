// Use case of `POST /v1/check` (SPEC §4.3): one agent at given stakes.
import type { CheckRequest, CheckResponse } from "../../contract/schemas/scores.ts";
import { DECISIONS, REGIMES, TIERS } from "../../contract/vocabulary.ts";
import type { LegCode } from "../../contract/vocabulary.ts";
import type { CallContext } from "../bureau.ts";
import { setVerdictTime } from "../services.ts";
import type { BureauServices } from "../services.ts";
import {
  CONNECT_INDEX,
  encodeMaxStakes,
  LAST_OPEN_DECISION_INDEX,
  roundEffectiveScore,
  computeReviewedMaxStakes,
} from "./leg.ts";
import { KIND_CHECK, LEG_FORWARD, logLeg } from "./log-entry.ts";
import { encodeAgentKey } from "../../contract/identifiers.ts";
import { findHighestAllowedLevel } from "../../policy/highest-level.ts";
import { isInShadowMode } from "../../policy/rules.ts";
import { selectReviewCode, applyReviewToDecision, countReviewLeg } from "./reviewed.ts";
import { appendReasons } from "./reasons.ts";
import { findReservedAgent } from "./test-agents.ts";

/**
 * Scores one agent at given stakes. Returns a promise only for the reserved agent `slow`.
 * @throws ServiceFault `reserved_agent` when test agents are switched off.
 */
export function checkAgent(
  services: BureauServices,
  request: CheckRequest,
  call: CallContext,
): CheckResponse | Promise<CheckResponse> {
  const { subject, stakes } = request;
  const measured = services.engine.check(encodeAgentKey(subject), stakes, setVerdictTime(services));
  const reserved = findReservedAgent(subject, services.environment.isReservedEnabled);
  const reading = reserved === undefined ? measured : reserved.reading;
  const decisionIndex = applyReviewToDecision(services, call, subject, reading, stakes);
  const code = selectReviewCode(reading.decisionIndex, decisionIndex);
  const active = services.policies.findActivePolicy(call.principal.tenant);
  const reasons: string[] = [];
  const codes: LegCode[] = code === "" ? [] : [code];
  if (decisionIndex !== CONNECT_INDEX) appendReasons(reading, stakes, reasons, codes);
  const response: CheckResponse = {
    request_id: call.requestId,
    subject,
    stakes,
    allowed: decisionIndex <= LAST_OPEN_DECISION_INDEX,
    enforced: !call.principal.isShadow && !isInShadowMode(active.policy),
    decision: DECISIONS[decisionIndex]!,
    effective_score: roundEffectiveScore(reading.scoreEffective),
    tier: TIERS[reading.tierIndex]!,
    reasons,
    reason_codes: codes,
    max_stakes: code === "" ? encodeMaxStakes(reading) : computeReviewedMaxStakes(code, stakes),
    tool_level_max: findHighestAllowedLevel(
      active,
      reading,
      subject,
      stakes,
      call.principal.minimumScores,
      false,
      services.nowMs,
    ),
    config_version: services.engine.findConfigVersion(measured.configNumber),
    evaluated_at: services.times.evaluatedAt,
    expires_at: code === "" ? services.times.expiresAt : services.times.evaluatedAt,
  };
  if (reading.regimeIndex >= 0) response.regime = REGIMES[reading.regimeIndex]!;
  if (response.enforced) countReviewLeg(services, call, response, stakes);
  logLeg(services, call, reading, {
    kindIndex: KIND_CHECK,
    legIndex: LEG_FORWARD,
    subject,
    viewer: "",
    stakes,
    reasonCodes: codes,
    decisionIndex,
    configVersion: response.config_version,
    policyVersion: active.version,
    isEnforced: response.enforced,
    isReserved: reserved !== undefined,
    reviewCode: code,
  });
  if (reserved === undefined || reserved.delayMs === 0) return response;
  return services.environment.delay(reserved.delayMs).then(() => response);
}
