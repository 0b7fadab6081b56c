// Use case of `POST /v1/trust/verify` (SPEC §2.2, §2.3, §4.1): reading, provenance and policy into
// one verdict. Hot path: one reply object, no closures, nothing awaited.
import type { VerifyRequest, VerifyResponse } from "../../contract/messages.ts";
import { REASON_CODES, REGIMES, RISK_LEVELS, TIERS, VERDICTS } from "../../contract/vocabulary.ts";
import type { Reading } from "../../engine/reading.ts";
import type { CallContext } from "../bureau.ts";
import { logVerify } from "./log-entry.ts";
import { openTimes } from "../services.ts";
import type { BureauServices } from "../services.ts";
import { decidePolicy, riskIndex } from "./policy.ts";
import type { Ruling } from "./policy.ts";
import type { ProvenanceFinding } from "./provenance.ts";
import { findReserved } from "./test-agents.ts";
import type { ReservedAgent } from "./test-agents.ts";

const REASONS_MAX = 4;
const SCORE_MIN = 300;
const PENALTY_MAX = 55;

/** Published value, 0 to 100, of an internal score, 300 to 850 (SPEC §2.3). */
export function normalizeScore(scoreInternal: number): number {
  return Math.round((100 * (scoreInternal - 300)) / 550);
}

/** SPEC §2.3 leaves it open: text that no source supports costs up to a tenth of the scale. */
function lowerScore(scoreInternal: number, penalty: number): number {
  return Math.max(SCORE_MIN, Math.round(scoreInternal - PENALTY_MAX * penalty));
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
    request.agent_id,
    request.stakes ?? 0,
    openTimes(services),
  );
  const configVersion = services.engine.configVersion(measured.configNumber);
  if (reserved === undefined) {
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
  const minimum = call.principal.minimumScores[request.tool_level];
  const failureCode = finding.hardFailureCode || (finding.softFailureCode ?? "");
  // The policy sees the agent's own score; the failure code carries the verdict on its text.
  const ruling = decidePolicy(
    request.tool_level,
    reading.failurePessimistic,
    Math.round(reading.scoreInternal) >= minimum,
    reading.isRefused,
    failureCode,
  );
  const scoreInternal = lowerScore(reading.scoreInternal, finding.penalty ?? 0);
  const width = reading.failurePessimistic - reading.failureOptimistic;
  const response: VerifyResponse = {
    request_id: call.requestId,
    trust_evaluation: {
      score: normalizeScore(scoreInternal),
      threshold_met: scoreInternal >= minimum,
      risk_level: RISK_LEVELS[riskIndex(reading.failurePessimistic)]!,
      internal_score: scoreInternal,
      tier: TIERS[reading.tierIndex]!,
      confidence: Math.round((1 - width) * 1000) / 1000,
    },
    provenance_data: finding.data,
    policy_action: { verdict: VERDICTS[ruling.verdictIndex]!, log_reason: ruling.logReason },
    reason_codes: reasonCodes(reading, ruling, finding),
    enforced: !call.principal.isShadow,
    config_version: configVersion,
    evaluated_at: services.times.evaluatedAt,
    expires_at: services.times.expiresAt,
  };
  if (reading.regimeIndex >= 0) {
    response.trust_evaluation.regime = REGIMES[reading.regimeIndex]!;
  }
  logVerify(services, request, call, reading, ruling, failureCode, response, isReserved);
  return response;
}

/**
 * At most four, by weight: broken provenance first, then the engine's, then the open questions of
 * provenance. SPEC §2.5 rule 2 carried over: a clear verdict gives no reasons against the agent.
 */
function reasonCodes(reading: Reading, ruling: Ruling, finding: ProvenanceFinding): string[] {
  const codes: string[] = [];
  const isHard = finding.hardFailureCode !== "";
  if (isHard) codes.push(finding.reasonCode);
  if (ruling.verdictIndex > 0 || ruling.isFlagged) {
    const room = REASONS_MAX - (finding.reasonCode === "" ? 0 : 1);
    for (let i = 0; i < reading.reasonCount && i < room; i += 1) {
      const code = REASON_CODES[reading.reasonIndexes[i]!]!;
      if (code !== finding.reasonCode) codes.push(code);
    }
  }
  if (!isHard && finding.reasonCode !== "") codes.push(finding.reasonCode);
  return codes;
}
