// Use case of `POST /v1/handshake` (SPEC §2.4, §2.5): two legs into one decision. The combining
// rule is `max`, and stands only here.
import type { HandshakeRequest, HandshakeResponse, Leg } from "../../contract/schemas/scores.ts";
import { DECISIONS } from "../../contract/vocabulary.ts";
import type { Reading } from "../../engine/reading.ts";
import type { CallContext } from "../bureau.ts";
import { openTimes } from "../services.ts";
import type { BureauServices } from "../services.ts";
import { leg, OPEN_MAX } from "./leg.ts";
import {
  type AnsweredLeg,
  KIND_HANDSHAKE,
  LEG_BACKWARD,
  LEG_FORWARD,
  logLeg,
} from "./log-entry.ts";
import { agentKey, isReservedAgent } from "../../contract/identifiers.ts";
import { isShadowed } from "../../policy/rules.ts";
import { reviewCode, reviewedDecision, reviewLeg } from "./reviewed.ts";
import { findReserved } from "./test-agents.ts";

/** SPEC §2.5 rule 1: the most restrictive leg wins. Both arguments index DECISIONS. */
export function combineDecisions(first: number, second: number): number {
  return first > second ? first : second;
}

/**
 * Scores both directions for the same stakes. Returns a promise only when a party is the reserved
 * `slow`.
 * @throws ServiceFault `reserved_agent` when test agents are switched off.
 */
export function handshake(
  services: BureauServices,
  request: HandshakeRequest,
  call: CallContext,
): HandshakeResponse | Promise<HandshakeResponse> {
  const { initiator, counterparty, stakes } = request;
  const measured = measure(services, request);
  const isEnabled = services.environment.isReservedEnabled;
  const reservedCounterparty = findReserved(counterparty, isEnabled);
  const reservedInitiator = findReserved(initiator, isEnabled);
  const forward = reservedCounterparty === undefined ? measured[0] : reservedCounterparty.reading;
  const backward = reservedInitiator === undefined ? measured[1] : reservedInitiator.reading;

  const forwardIndex = reviewedDecision(services, call, counterparty, forward, stakes);
  const backwardIndex = reviewedDecision(services, call, initiator, backward, stakes);
  const { version, policy } = services.policies.of(call.principal.tenant);
  const forwardLeg = leg(services, call, counterparty, stakes, forward, forwardIndex);
  const backwardLeg = leg(services, call, initiator, stakes, backward, backwardIndex);
  const decisionIndex = combineDecisions(forwardIndex, backwardIndex);
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
    connected: decisionIndex <= OPEN_MAX,
    reasons: joinReasons(forwardLeg.reasons, backwardLeg.reasons),
    enforced: !call.principal.isShadow && !isShadowed(policy),
    config_version: services.engine.configVersion(measured[0].configNumber),
    evaluated_at: services.times.evaluatedAt,
    expires_at: isByPerson ? services.times.evaluatedAt : services.times.expiresAt,
  };
  if (response.decision === "escalate" && response.enforced) {
    reviewLeg(services, call, forwardLeg, stakes);
    reviewLeg(services, call, backwardLeg, stakes);
  }
  logBoth(services, call, response, [forward, backward], {
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

type Both = Omit<
  AnsweredLeg,
  "legIndex" | "subject" | "viewer" | "reasonCodes" | "isReserved" | "reviewCode"
>;

/** Logs both legs: the counterparty as the initiator sees it, and the other way round. */
function logBoth(
  services: BureauServices,
  call: CallContext,
  { initiator, counterparty, a_to_b: forwardLeg, b_to_a: backwardLeg }: HandshakeResponse,
  [forward, backward]: readonly [Reading, Reading],
  answered: Both,
): void {
  const indexOf = ({ decision }: Leg) => DECISIONS.indexOf(decision);
  logLeg(services, call, forward, {
    ...answered,
    legIndex: LEG_FORWARD,
    subject: counterparty,
    viewer: initiator,
    reasonCodes: forwardLeg.reason_codes,
    isReserved: isReservedAgent(counterparty),
    reviewCode: reviewCode(forward.decisionIndex, indexOf(forwardLeg)),
  });
  logLeg(services, call, backward, {
    ...answered,
    legIndex: LEG_BACKWARD,
    subject: initiator,
    viewer: counterparty,
    reasonCodes: backwardLeg.reason_codes,
    isReserved: isReservedAgent(initiator),
    reviewCode: reviewCode(backward.decisionIndex, indexOf(backwardLeg)),
  });
}

function measure(
  services: BureauServices,
  { initiator, counterparty, stakes }: HandshakeRequest,
): readonly [Reading, Reading] {
  const first = agentKey(initiator);
  const second = agentKey(counterparty);
  return services.engine.handshake(first, second, stakes, openTimes(services));
}

/** Combined reasons (SPEC §2.5): those of both legs, each sentence once, a_to_b first. */
export function joinReasons(first: readonly string[], second: readonly string[]): string[] {
  const joined: string[] = [];
  for (const reason of first) joined.push(reason);
  for (const reason of second) if (!joined.includes(reason)) joined.push(reason);
  return joined;
}
