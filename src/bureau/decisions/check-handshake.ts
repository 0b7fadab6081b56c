// The use cases of `POST /v1/check` (SPEC §4.3) and `POST /v1/handshake` (SPEC §2.4, §2.5):
// readings into legs, two legs into one decision. The combining rule is `max`, and only here.
import type {
  CheckRequest,
  CheckResponse,
  HandshakeRequest,
  HandshakeResponse,
  Leg,
} from "../../contract/messages.ts";
import { DECISIONS, REGIMES, TIERS } from "../../contract/vocabulary.ts";
import type { ReasonCode } from "../../contract/vocabulary.ts";
import type { Reading } from "../../engine/reading.ts";
import type { CallContext } from "../bureau.ts";
import { KIND_CHECK, KIND_HANDSHAKE, LEG_BACKWARD, LEG_FORWARD, logLeg } from "./log-entry.ts";
import { openTimes } from "../services.ts";
import type { BureauServices } from "../services.ts";
import { writeReasons } from "./reasons.ts";
import { findReserved } from "./test-agents.ts";

const CONNECT = DECISIONS.indexOf("connect");
/** SPEC §3: the connection opens up to here; `escalate` waits for a human, `refuse` never opens. */
const OPEN_MAX = DECISIONS.indexOf("connect_with_verification");

/** SPEC §2.5 rule 1: the most restrictive leg wins. Both arguments index DECISIONS. */
export function combineDecisions(first: number, second: number): number {
  return first > second ? first : second;
}

/** SPEC §2.8 leaves the scale open: 300-850, fractional; hundredths are far below its noise. */
export function roundEffective(score: number): number {
  return Math.round(score * 100) / 100;
}

/** Rounded down, so that the stakes named never draw a stricter decision; null: any stakes. */
export function maxStakes(reading: Reading): number | null {
  const stakesMax = reading.stakesMax;
  return stakesMax === Number.POSITIVE_INFINITY ? null : Math.floor(stakesMax * 10_000) / 10_000;
}

/** One agent at given stakes. A promise only for the reserved agent `slow`. */
export function check(
  services: BureauServices,
  request: CheckRequest,
  call: CallContext,
): CheckResponse | Promise<CheckResponse> {
  const { subject, stakes } = request;
  const measured = services.engine.check(subject, stakes, openTimes(services));
  const reserved = findReserved(subject, services.environment.isReservedEnabled);
  const reading = reserved === undefined ? measured : reserved.reading;
  const reasons: string[] = [];
  const codes: ReasonCode[] = [];
  if (reading.decisionIndex !== CONNECT) writeReasons(reading, stakes, reasons, codes);
  const response: CheckResponse = {
    request_id: call.requestId,
    subject,
    stakes,
    allowed: reading.decisionIndex <= OPEN_MAX,
    decision: DECISIONS[reading.decisionIndex]!,
    effective_score: roundEffective(reading.scoreEffective),
    tier: TIERS[reading.tierIndex]!,
    reasons,
    reason_codes: codes,
    max_stakes: maxStakes(reading),
    config_version: services.engine.configVersion(measured.configNumber),
    evaluated_at: services.times.evaluatedAt,
    expires_at: services.times.expiresAt,
  };
  if (reading.regimeIndex >= 0) response.regime = REGIMES[reading.regimeIndex]!;
  logLeg(services, call, reading, {
    kindIndex: KIND_CHECK,
    legIndex: LEG_FORWARD,
    subject,
    viewer: "",
    stakes,
    reasonCodes: codes,
    decisionIndex: reading.decisionIndex,
    configVersion: response.config_version,
    isReserved: reserved !== undefined,
  });
  if (reserved === undefined || reserved.delayMs === 0) return response;
  return services.environment.delay(reserved.delayMs).then(() => response);
}

/** Both directions for the same stakes. A promise only when a party is the reserved `slow`. */
export function handshake(
  services: BureauServices,
  request: HandshakeRequest,
  call: CallContext,
): HandshakeResponse | Promise<HandshakeResponse> {
  const { initiator, counterparty, stakes } = request;
  const measured = services.engine.handshake(initiator, counterparty, stakes, openTimes(services));
  const isEnabled = services.environment.isReservedEnabled;
  const reservedCounterparty = findReserved(counterparty, isEnabled);
  const reservedInitiator = findReserved(initiator, isEnabled);
  const forward = reservedCounterparty === undefined ? measured[0] : reservedCounterparty.reading;
  const backward = reservedInitiator === undefined ? measured[1] : reservedInitiator.reading;

  const forwardLeg = leg(counterparty, stakes, forward);
  const backwardLeg = leg(initiator, stakes, backward);
  const decisionIndex = combineDecisions(forward.decisionIndex, backward.decisionIndex);
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
    config_version: services.engine.configVersion(measured[0].configNumber),
    evaluated_at: services.times.evaluatedAt,
    expires_at: services.times.expiresAt,
  };
  const answered = {
    kindIndex: KIND_HANDSHAKE,
    stakes,
    decisionIndex,
    configVersion: response.config_version,
  };
  logLeg(services, call, forward, {
    ...answered,
    legIndex: LEG_FORWARD,
    subject: counterparty,
    viewer: initiator,
    reasonCodes: forwardLeg.reason_codes,
    isReserved: reservedCounterparty !== undefined,
  });
  logLeg(services, call, backward, {
    ...answered,
    legIndex: LEG_BACKWARD,
    subject: initiator,
    viewer: counterparty,
    reasonCodes: backwardLeg.reason_codes,
    isReserved: reservedInitiator !== undefined,
  });
  const delayMs = Math.max(reservedCounterparty?.delayMs ?? 0, reservedInitiator?.delayMs ?? 0);
  return delayMs === 0 ? response : services.environment.delay(delayMs).then(() => response);
}

function leg(subject: string, stakes: number, reading: Reading): Leg {
  const reasons: string[] = [];
  const codes: ReasonCode[] = [];
  // SPEC §2.5 rule 2: a leg with a clear decision has no reasons.
  if (reading.decisionIndex !== CONNECT) writeReasons(reading, stakes, reasons, codes);
  const scored: Leg = {
    subject,
    effective_score: roundEffective(reading.scoreEffective),
    tier: TIERS[reading.tierIndex]!,
    decision: DECISIONS[reading.decisionIndex]!,
    reasons,
    reason_codes: codes,
    max_stakes: maxStakes(reading),
  };
  if (reading.regimeIndex >= 0) scored.regime = REGIMES[reading.regimeIndex]!;
  return scored;
}

/** SPEC §2.5: combined reasons are those of both legs, each sentence once, a_to_b first. */
export function joinReasons(first: readonly string[], second: readonly string[]): string[] {
  const joined: string[] = [];
  for (const reason of first) joined.push(reason);
  for (const reason of second) if (!joined.includes(reason)) joined.push(reason);
  return joined;
}
