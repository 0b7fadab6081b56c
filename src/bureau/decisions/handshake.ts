// Use case of `POST /v1/handshake` (SPEC §2.4, §2.5): two legs into one decision. The combining
// rule is `max`, and stands only here.
import type { HandshakeRequest, HandshakeResponse } from "../../contract/schemas/scores.ts";
import { DECISION, DECISIONS } from "../../contract/vocabulary.ts";
import type { OverrideCode } from "../../contract/vocabulary.ts";
import type { AgentScore } from "../../engine/reading.ts";
import type { CallContext } from "../bureau.ts";
import { buildLeg } from "./leg.ts";
import {
  type AnsweredLeg,
  KIND_HANDSHAKE,
  LAST_OPEN_DECISION_INDEX,
  LEG_BACKWARD,
  LEG_FORWARD,
  logLeg,
} from "./log-entry.ts";
import { encodeAgentKey, isReservedAgent } from "../../contract/identifiers.ts";
import type { HeldStakes } from "../../contract/activity/source.ts";
import { holdLegStakes, logAndKeepStakes } from "./activity-limits.ts";
import { decideLeg, selectExpiresAt } from "./condition-override.ts";
import { isInShadowMode } from "../../policy/rules.ts";
import { countReviewLeg, isReviewCode } from "./review-override.ts";
import { findReservedAgent } from "./test-agents.ts";
import type { VerdictContext } from "./verdict-context.ts";

/** SPEC §2.5 rule 1: the most restrictive leg wins. Both arguments index DECISIONS. */
export function selectStricterDecisionIndex(first: number, second: number): number {
  return first > second ? first : second;
}

/**
 * Scores both directions for the same stakes. Returns a promise only when a party is the reserved
 * `slow`.
 * @throws ServiceFault `reserved_agent` when test agents are switched off.
 */
export function decideHandshake(
  context: VerdictContext,
  request: HandshakeRequest,
  call: CallContext,
): HandshakeResponse | Promise<HandshakeResponse> {
  const { initiator, counterparty, stakes } = request;
  const { engine, environment } = context.services;
  context.begin(call, counterparty, stakes);
  const measured = engine.handshake(
    encodeAgentKey(initiator),
    encodeAgentKey(counterparty),
    context.convertToAccountUnit(stakes),
    context.nowMs,
  );
  const reservedCounterparty = findReservedAgent(counterparty, environment.isReservedEnabled);
  const reservedInitiator = findReservedAgent(initiator, environment.isReservedEnabled);
  const forward = reservedCounterparty === undefined ? measured[0] : reservedCounterparty.reading;
  const backward = reservedInitiator === undefined ? measured[1] : reservedInitiator.reading;

  const isHeld = request.reserve !== false;
  context.reading = forward;
  if (isHeld && reservedCounterparty === undefined) holdLegStakes(context);
  const forwardIndex = decideLeg(context);
  const forwardLeg = buildLeg(context, forwardIndex);
  const measuredForward = keepMeasuredLeg(context);
  context.agentId = initiator;
  context.reading = backward;
  context.resetActivity();
  if (isHeld && reservedInitiator === undefined) holdLegStakes(context);
  const backwardIndex = decideLeg(context);
  const backwardLeg = buildLeg(context, backwardIndex);
  const measuredBackward = keepMeasuredLeg(context);
  const { active, times } = context;
  const decisionIndex = selectStricterDecisionIndex(forwardIndex, backwardIndex);
  const legs = [measuredForward, measuredBackward] as const;
  const isForOneCall = legs.some(isLegForOneCall);
  const response: HandshakeResponse = {
    request_id: call.requestId,
    initiator,
    counterparty,
    stakes,
    a_to_b: forwardLeg,
    b_to_a: backwardLeg,
    decision: DECISIONS[decisionIndex]!,
    connected: decisionIndex <= LAST_OPEN_DECISION_INDEX,
    reasons: mergeReasons(forwardLeg.reasons, backwardLeg.reasons),
    enforced: !call.principal.isShadow && !isInShadowMode(active.policy),
    config_version: engine.findConfigVersion(measured[0].configNumber),
    evaluated_at: times.evaluatedAt,
    expires_at: isForOneCall ? times.evaluatedAt : selectExpiresAt(context),
  };
  if (response.decision === "escalate" && response.enforced) {
    countReviewLeg(context, forwardLeg);
    countReviewLeg(context, backwardLeg);
  }
  logAndKeepStakes(context, legs, decisionIndex, () => logHandshakeLegs(context, response, legs));
  const delayMs = Math.max(reservedCounterparty?.delayMs ?? 0, reservedInitiator?.delayMs ?? 0);
  return delayMs === 0 ? response : environment.delay(delayMs).then(() => response);
}

/** A leg as it was measured, and what replaced or marked its decision. */
interface MeasuredLeg {
  readonly reading: AgentScore;
  readonly measuredIndex: number;
  readonly stakesMax: number;
  readonly overrideCode: OverrideCode;
  readonly held: HeldStakes | undefined;
}

function keepMeasuredLeg({ reading, connection, overrideCode, held }: VerdictContext): MeasuredLeg {
  const { decisionIndex: measuredIndex, stakesMax } = connection;
  return { reading, measuredIndex, stakesMax, overrideCode, held };
}

/** Review decisions, and stakes that are held, are for one call. */
function isLegForOneCall({ overrideCode, held }: MeasuredLeg): boolean {
  return isReviewCode(overrideCode) || held !== undefined;
}

/** Logs both legs: the counterparty as the initiator sees it, and the other way round. */
function logHandshakeLegs(
  context: VerdictContext,
  response: HandshakeResponse,
  [forward, backward]: readonly [MeasuredLeg, MeasuredLeg],
): void {
  const { initiator, counterparty, a_to_b: forwardLeg, b_to_a: backwardLeg } = response;
  const shared = {
    kindIndex: KIND_HANDSHAKE,
    stakes: response.stakes,
    decisionIndex: DECISION[response.decision],
    configVersion: response.config_version,
    policyVersion: context.active.version,
    isEnforced: response.enforced,
  } satisfies Partial<AnsweredLeg>;
  logLeg(context, forward.reading, {
    ...shared,
    measuredIndex: forward.measuredIndex,
    stakesMax: forward.stakesMax,
    legIndex: LEG_FORWARD,
    subject: counterparty,
    viewer: initiator,
    reasonCodes: forwardLeg.reason_codes,
    isReserved: isReservedAgent(counterparty),
    overrideCode: forward.overrideCode,
  });
  logLeg(context, backward.reading, {
    ...shared,
    measuredIndex: backward.measuredIndex,
    stakesMax: backward.stakesMax,
    legIndex: LEG_BACKWARD,
    subject: initiator,
    viewer: counterparty,
    reasonCodes: backwardLeg.reason_codes,
    isReserved: isReservedAgent(initiator),
    overrideCode: backward.overrideCode,
  });
}

/** Combined reasons (SPEC §2.5): those of both legs, each sentence once, a_to_b first. */
export function mergeReasons(first: readonly string[], second: readonly string[]): string[] {
  const joined: string[] = [];
  for (const reason of first) joined.push(reason);
  for (const reason of second) if (!joined.includes(reason)) joined.push(reason);
  return joined;
}
