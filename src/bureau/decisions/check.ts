// Use case of `POST /v1/check` (SPEC §4.3): one agent at given stakes.
import type { CheckRequest, CheckResponse } from "../../contract/schemas/scores.ts";
import { DECISIONS, REGIMES, TIERS } from "../../contract/vocabulary.ts";
import type { LegCode } from "../../contract/vocabulary.ts";
import type { CallContext } from "../bureau.ts";
import { openTimes } from "../services.ts";
import type { BureauServices } from "../services.ts";
import { CONNECT, maxStakes, OPEN_MAX, roundEffective, stakesByPerson } from "./leg.ts";
import { KIND_CHECK, LEG_FORWARD, logLeg } from "./log-entry.ts";
import { agentKey } from "../../contract/identifiers.ts";
import { highestLevelAllowed } from "../../policy/highest-level.ts";
import { isShadowed } from "../../policy/rules.ts";
import { reviewCode, reviewedDecision, reviewLeg } from "./reviewed.ts";
import { writeReasons } from "./reasons.ts";
import { findReserved } from "./test-agents.ts";

/**
 * Scores one agent at given stakes. Returns a promise only for the reserved agent `slow`.
 * @throws ServiceFault `reserved_agent` when test agents are switched off.
 */
export function check(
  services: BureauServices,
  request: CheckRequest,
  call: CallContext,
): CheckResponse | Promise<CheckResponse> {
  const { subject, stakes } = request;
  const measured = services.engine.check(agentKey(subject), stakes, openTimes(services));
  const reserved = findReserved(subject, services.environment.isReservedEnabled);
  const reading = reserved === undefined ? measured : reserved.reading;
  const decisionIndex = reviewedDecision(services, call, subject, reading, stakes);
  const code = reviewCode(reading.decisionIndex, decisionIndex);
  const active = services.policies.of(call.principal.tenant);
  const reasons: string[] = [];
  const codes: LegCode[] = code === "" ? [] : [code];
  if (decisionIndex !== CONNECT) writeReasons(reading, stakes, reasons, codes);
  const response: CheckResponse = {
    request_id: call.requestId,
    subject,
    stakes,
    allowed: decisionIndex <= OPEN_MAX,
    enforced: !call.principal.isShadow && !isShadowed(active.policy),
    decision: DECISIONS[decisionIndex]!,
    effective_score: roundEffective(reading.scoreEffective),
    tier: TIERS[reading.tierIndex]!,
    reasons,
    reason_codes: codes,
    max_stakes: code === "" ? maxStakes(reading) : stakesByPerson(code, stakes),
    tool_level_max: highestLevelAllowed(
      active,
      reading,
      subject,
      stakes,
      call.principal.minimumScores,
      false,
      services.nowMs,
    ),
    config_version: services.engine.configVersion(measured.configNumber),
    evaluated_at: services.times.evaluatedAt,
    expires_at: code === "" ? services.times.expiresAt : services.times.evaluatedAt,
  };
  if (reading.regimeIndex >= 0) response.regime = REGIMES[reading.regimeIndex]!;
  if (response.enforced) reviewLeg(services, call, response, stakes);
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
