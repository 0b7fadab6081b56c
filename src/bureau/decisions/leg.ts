// One direction of a decision in its wire form (SPEC §2.4), shared by check and handshake.
import type { Leg } from "../../contract/schemas/scores.ts";
import { DECISION, DECISIONS, REGIMES, TIERS } from "../../contract/vocabulary.ts";
import type { LegCode, ReviewCode } from "../../contract/vocabulary.ts";
import { findHighestAllowedLevel } from "../../policy/policy-query.ts";
import { selectReviewCode } from "./review-override.ts";
import { appendReasons } from "./reasons.ts";
import { encodeStakesBound } from "./stakes-bound.ts";
import type { VerdictContext } from "./verdict-context.ts";

/** SPEC §2.8 leaves the scale open: 300-850, fractional; hundredths are far below its noise. */
export function roundEffectiveScore(score: number): number {
  return Math.round(score * 100) / 100;
}

/** A review decision holds for the requested stakes only. */
export function computeReviewedMaxStakes(code: ReviewCode, stakes: number): number {
  return code === "REVIEW_UPHELD" ? 0 : stakes;
}

/**
 * The leg of the context's agent in a handshake, by the decision in `context.connection`; `decisionIndex` is
 * that decision after a review.
 */
export function buildLeg(context: VerdictContext, decisionIndex: number): Leg {
  const { reading, agentId: subject, stakes, connection } = context;
  const reasons: string[] = [];
  const code = selectReviewCode(connection.decisionIndex, decisionIndex);
  const codes: LegCode[] = code === "" ? [] : [code];
  // SPEC §2.5 rule 2: a leg with a clear decision has no reasons.
  if (decisionIndex !== DECISION.connect) appendReasons(context, connection, reasons, codes);
  const scored: Leg = {
    subject,
    effective_score: roundEffectiveScore(reading.scoreEffective),
    tier: TIERS[reading.tierIndex]!,
    decision: DECISIONS[decisionIndex]!,
    reasons,
    reason_codes: codes,
    max_stakes:
      code === ""
        ? encodeStakesBound(connection.stakesMax)
        : computeReviewedMaxStakes(code, stakes),
    tool_level_max: findHighestAllowedLevel(context, true),
  };
  if (reading.regimeIndex >= 0) scored.regime = REGIMES[reading.regimeIndex]!;
  return scored;
}
