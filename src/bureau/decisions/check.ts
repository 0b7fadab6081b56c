// Use case of `POST /v1/check` (SPEC §4.3): one agent at given stakes.
import type { CheckRequest, CheckResponse } from "../../contract/schemas/scores.ts";
import { DECISION, DECISIONS, REGIMES, TIERS } from "../../contract/vocabulary.ts";
import type { LegCode, OverrideCode } from "../../contract/vocabulary.ts";
import type { CallContext } from "../bureau.ts";
import { holdStakes, logAndKeepStakes } from "./activity-limits.ts";
import { decideLeg, findHighestLevel, selectExpiresAt } from "./condition-override.ts";
import { appendLegReasons, roundEffectiveScore, selectLegMaxStakes } from "./leg.ts";
import { KIND_CHECK, LAST_OPEN_DECISION_INDEX, LEG_FORWARD, logLeg } from "./log-entry.ts";
import { encodeAgentKey } from "../../contract/identifiers.ts";
import { isInShadowMode } from "../../policy/rules.ts";
import { countReviewLeg, isReviewCode } from "./review-override.ts";
import { findReservedAgent } from "./test-agents.ts";
import type { VerdictContext } from "./verdict-context.ts";

/**
 * Scores one agent at given stakes. Returns a promise only for the reserved agent `slow`.
 * @throws ServiceFault `reserved_agent` when test agents are switched off.
 */
export function checkAgent(
  context: VerdictContext,
  request: CheckRequest,
  call: CallContext,
): CheckResponse | Promise<CheckResponse> {
  const { subject, stakes } = request;
  const { engine, environment } = context.services;
  context.begin(call, subject, stakes);
  const atStakes = context.convertToAccountUnit(stakes);
  const measured = engine.check(encodeAgentKey(subject), atStakes, context.nowMs);
  const reserved = findReservedAgent(subject, environment.isReservedEnabled);
  const reading = reserved === undefined ? measured : reserved.reading;
  context.reading = reading;
  if (reserved === undefined && request.reserve !== false) holdStakes(context);
  const decisionIndex = decideLeg(context);
  const { active, times, overrideCode: code } = context;
  const isForOneCall = isReviewCode(code) || context.held !== undefined;
  const reasons: string[] = [];
  const codes: LegCode[] = [];
  appendLegReasons(context, decisionIndex, reasons, codes);
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
    max_stakes: selectLegMaxStakes(context),
    tool_level_max: findHighestLevel(context, false),
    config_version: engine.findConfigVersion(measured.configNumber),
    evaluated_at: times.evaluatedAt,
    expires_at: isForOneCall ? times.evaluatedAt : selectExpiresAt(context),
  };
  if (reading.regimeIndex >= 0) response.regime = REGIMES[reading.regimeIndex]!;
  if (response.enforced) countReviewLeg(context, response);
  logAndKeepStakes(context, [context], decisionIndex, () =>
    logCheck(context, response, reserved !== undefined, code),
  );
  if (reserved === undefined || reserved.delayMs === 0) return response;
  return environment.delay(reserved.delayMs).then(() => response);
}

function logCheck(
  context: VerdictContext,
  response: CheckResponse,
  isReserved: boolean,
  overrideCode: OverrideCode,
): void {
  const { active, connection, reading } = context;
  logLeg(context, reading, {
    kindIndex: KIND_CHECK,
    legIndex: LEG_FORWARD,
    subject: response.subject,
    viewer: "",
    stakes: response.stakes,
    reasonCodes: response.reason_codes,
    decisionIndex: DECISION[response.decision],
    measuredIndex: connection.decisionIndex,
    stakesMax: connection.stakesMax,
    configVersion: response.config_version,
    policyVersion: active.version,
    isEnforced: response.enforced,
    isReserved,
    overrideCode,
  });
}
