// One direction of a decision in its wire form (SPEC §2.4), shared by check and handshake.
import type { Leg } from "../../contract/schemas/scores.ts";
import { DECISIONS, REGIMES, TIERS } from "../../contract/vocabulary.ts";
import type { LegCode, ReviewCode } from "../../contract/vocabulary.ts";
import type { AgentScore } from "../../engine/reading.ts";
import type { CallContext } from "../bureau.ts";
import type { BureauServices } from "../services.ts";
import { findHighestAllowedLevel } from "../../policy/highest-level.ts";
import { selectReviewCode } from "./reviewed.ts";
import { appendReasons } from "./reasons.ts";

export const CONNECT_INDEX = DECISIONS.indexOf("connect");
/** SPEC §3: the connection opens up to here; `escalate` waits for a human, `refuse` never opens. */
export const LAST_OPEN_DECISION_INDEX = DECISIONS.indexOf("connect_with_verification");

/** SPEC §2.8 leaves the scale open: 300-850, fractional; hundredths are far below its noise. */
export function roundEffectiveScore(score: number): number {
  return Math.round(score * 100) / 100;
}

/** Rounded down, so that the stakes named never draw a stricter decision; null: any stakes. */
export function encodeStakesBound(stakes: number): number | null {
  return stakes === Number.POSITIVE_INFINITY ? null : Math.floor(stakes * 10_000) / 10_000;
}

/**
 * Largest stakes with a decision no stricter; of one that waits for a person the largest that would
 * open without; 0 for a refusal, null for any stakes.
 */
export function encodeMaxStakes(reading: AgentScore): number | null {
  return encodeStakesBound(reading.stakesMax);
}

/** A person's word is for the stakes that were asked about. */
export function computeReviewedMaxStakes(code: ReviewCode, stakes: number): number {
  return code === "REVIEW_UPHELD" ? 0 : stakes;
}

/** The leg of one reading at these stakes; `decisionIndex` is what a person made of its decision. */
export function buildLeg(
  services: BureauServices,
  { principal }: CallContext,
  subject: string,
  stakes: number,
  reading: AgentScore,
  decisionIndex: number,
): Leg {
  const reasons: string[] = [];
  const code = selectReviewCode(reading.decisionIndex, decisionIndex);
  const codes: LegCode[] = code === "" ? [] : [code];
  // SPEC §2.5 rule 2: a leg with a clear decision has no reasons.
  if (decisionIndex !== CONNECT_INDEX) appendReasons(reading, stakes, reasons, codes);
  const scored: Leg = {
    subject,
    effective_score: roundEffectiveScore(reading.scoreEffective),
    tier: TIERS[reading.tierIndex]!,
    decision: DECISIONS[decisionIndex]!,
    reasons,
    reason_codes: codes,
    max_stakes: code === "" ? encodeMaxStakes(reading) : computeReviewedMaxStakes(code, stakes),
    tool_level_max: findHighestAllowedLevel(
      services.policies.findActivePolicy(principal.tenant),
      reading,
      subject,
      stakes,
      principal.minimumScores,
      true,
      services.nowMs,
    ),
  };
  if (reading.regimeIndex >= 0) scored.regime = REGIMES[reading.regimeIndex]!;
  return scored;
}
