// Use case of `POST /v1/handshake` (SPEC §2.4, §2.5): two legs into one decision. The combining
// rule is `max`, and stands only here.
import type { HandshakeRequest, HandshakeResponse, Leg } from "../../contract/schemas/scores.ts";
import { DECISIONS } from "../../contract/vocabulary.ts";
import type { AgentScore } from "../../engine/reading.ts";
import type { CallContext } from "../bureau.ts";
import { setVerdictTime } from "../services.ts";
import type { BureauServices } from "../services.ts";
import { buildLeg, LAST_OPEN_DECISION_INDEX } from "./leg.ts";
import {
  type AnsweredLeg,
  KIND_HANDSHAKE,
  LEG_BACKWARD,
  LEG_FORWARD,
  logLeg,
} from "./log-entry.ts";
import { encodeAgentKey, isReservedAgent } from "../../contract/identifiers.ts";
import { isInShadowMode } from "../../policy/rules.ts";
import { selectReviewCode, applyReviewToDecision, countReviewLeg } from "./reviewed.ts";
import { findReservedAgent } from "./test-agents.ts";

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
  services: BureauServices,
  request: HandshakeRequest,
  call: CallContext,
): HandshakeResponse | Promise<HandshakeResponse> {
  const { initiator, counterparty, stakes } = request;
  const measured = scoreBothParties(services, request);
  const isEnabled = services.environment.isReservedEnabled;
  const reservedCounterparty = findReservedAgent(counterparty, isEnabled);
  const reservedInitiator = findReservedAgent(initiator, isEnabled);
  const forward = reservedCounterparty === undefined ? measured[0] : reservedCounterparty.reading;
  const backward = reservedInitiator === undefined ? measured[1] : reservedInitiator.reading;

  const forwardIndex = applyReviewToDecision(services, call, counterparty, forward, stakes);
  const backwardIndex = applyReviewToDecision(services, call, initiator, backward, stakes);
  const { version, policy } = services.policies.findActivePolicy(call.principal.tenant);
  const forwardLeg = buildLeg(services, call, counterparty, stakes, forward, forwardIndex);
  const backwardLeg = buildLeg(services, call, initiator, stakes, backward, backwardIndex);
  const decisionIndex = selectStricterDecisionIndex(forwardIndex, backwardIndex);
  const isByPerson =
    forwardIndex !== forward.decisionIndex || backwardIndex !== backward.decisionIndex;
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
    enforced: !call.principal.isShadow && !isInShadowMode(policy),
    config_version: services.engine.findConfigVersion(measured[0].configNumber),
    evaluated_at: services.times.evaluatedAt,
    expires_at: isByPerson ? services.times.evaluatedAt : services.times.expiresAt,
  };
  if (response.decision === "escalate" && response.enforced) {
    countReviewLeg(services, call, forwardLeg, stakes);
    countReviewLeg(services, call, backwardLeg, stakes);
  }
  logHandshakeLegs(services, call, response, [forward, backward], {
    kindIndex: KIND_HANDSHAKE,
    stakes,
    decisionIndex,
    configVersion: response.config_version,
    policyVersion: version,
    isEnforced: response.enforced,
  });
  const delayMs = Math.max(reservedCounterparty?.delayMs ?? 0, reservedInitiator?.delayMs ?? 0);
  return delayMs === 0 ? response : services.environment.delay(delayMs).then(() => response);
}

type SharedLegLogFields = Omit<
  AnsweredLeg,
  "legIndex" | "subject" | "viewer" | "reasonCodes" | "isReserved" | "reviewCode"
>;

/** Logs both legs: the counterparty as the initiator sees it, and the other way round. */
function logHandshakeLegs(
  services: BureauServices,
  call: CallContext,
  { initiator, counterparty, a_to_b: forwardLeg, b_to_a: backwardLeg }: HandshakeResponse,
  [forward, backward]: readonly [AgentScore, AgentScore],
  answered: SharedLegLogFields,
): void {
  const indexOf = ({ decision }: Leg) => DECISIONS.indexOf(decision);
  logLeg(services, call, forward, {
    ...answered,
    legIndex: LEG_FORWARD,
    subject: counterparty,
    viewer: initiator,
    reasonCodes: forwardLeg.reason_codes,
    isReserved: isReservedAgent(counterparty),
    reviewCode: selectReviewCode(forward.decisionIndex, indexOf(forwardLeg)),
  });
  logLeg(services, call, backward, {
    ...answered,
    legIndex: LEG_BACKWARD,
    subject: initiator,
    viewer: counterparty,
    reasonCodes: backwardLeg.reason_codes,
    isReserved: isReservedAgent(initiator),
    reviewCode: selectReviewCode(backward.decisionIndex, indexOf(backwardLeg)),
  });
}

function scoreBothParties(
  services: BureauServices,
  { initiator, counterparty, stakes }: HandshakeRequest,
): readonly [AgentScore, AgentScore] {
  const first = encodeAgentKey(initiator);
  const second = encodeAgentKey(counterparty);
  return services.engine.handshake(first, second, stakes, setVerdictTime(services));
}

/** Combined reasons (SPEC §2.5): those of both legs, each sentence once, a_to_b first. */
export function mergeReasons(first: readonly string[], second: readonly string[]): string[] {
  const joined: string[] = [];
  for (const reason of first) joined.push(reason);
  for (const reason of second) if (!joined.includes(reason)) joined.push(reason);
  return joined;
}
