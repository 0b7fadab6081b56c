// One direction of a decision in its wire form (SPEC §2.4), shared by check and handshake.
import type { Leg } from "../../contract/schemas/scores.ts";
import { DECISION, DECISIONS, EXPOSURE_CODE, REGIMES, TIERS } from "../../contract/vocabulary.ts";
import type { LegCode } from "../../contract/vocabulary.ts";
import { appendConditionReasons, findHighestLevel, isNamedInLeg } from "./condition-override.ts";
import { appendReasons } from "./reasons.ts";
import { encodeStakesBound } from "./stakes-bound.ts";
import type { VerdictContext } from "./verdict-context.ts";

/** SPEC §2.8 leaves the scale open: 300-850, fractional; hundredths are far below its noise. */
export function roundEffectiveScore(score: number): number {
  return Math.round(score * 100) / 100;
}

/** Largest stakes of the leg that was decided last: a review decision holds for the requested ones only. */
export function selectLegMaxStakes(context: VerdictContext): number | null {
  const { overrideCode: code, stakes, connection, conditionFacts, unsettled } = context;
  if (code === "CLEARED") return conditionFacts.clearedStakesMax;
  if (code === "REVIEW_OVERTURNED") return stakes;
  if (code === "" || code === "WATCHED" || code === EXPOSURE_CODE)
    return encodeStakesBound(Math.max(0, connection.stakesMax - unsettled));
  return 0;
}

/**
 * Reasons of the leg that was decided last. SPEC §2.5 rule 2: a leg with a clear decision has none; a code for it
 * stands only where a reviewer overturned.
 */
export function appendLegReasons(
  context: VerdictContext,
  decisionIndex: number,
  reasons: string[],
  codes: LegCode[],
): void {
  const { connection, overrideCode: code } = context;
  const isNamed = code !== "" && isNamedInLeg(code, decisionIndex);
  if (isNamed && code !== "WATCHED") codes.push(code);
  if (decisionIndex === DECISION.connect) return;
  if (code === EXPOSURE_CODE) {
    reasons.push(describeUnsettledStakes(context));
    return;
  }
  appendConditionReasons(context, reasons, codes);
  const isByCondition = code === "SUSPENDED" || code === "STOPPED";
  if (isByCondition && connection.decisionIndex === DECISION.connect) return;
  appendReasons(context, connection, reasons, codes);
  // A mark, no reason: it comes last.
  if (isNamed && code === "WATCHED") codes.push(code);
}

function describeUnsettledStakes({ unsettled }: VerdictContext): string {
  return `Earlier stakes of ${Number(unsettled.toPrecision(6))} that no outcome has settled count with these.`;
}

/**
 * The leg of the context's agent in a handshake, by the decision in `context.connection`; `decisionIndex` is
 * that decision after a review and operators' conditions.
 */
export function buildLeg(context: VerdictContext, decisionIndex: number): Leg {
  const { reading, agentId: subject } = context;
  const reasons: string[] = [];
  const codes: LegCode[] = [];
  appendLegReasons(context, decisionIndex, reasons, codes);
  const scored: Leg = {
    subject,
    effective_score: roundEffectiveScore(reading.scoreEffective),
    tier: TIERS[reading.tierIndex]!,
    decision: DECISIONS[decisionIndex]!,
    reasons,
    reason_codes: codes,
    max_stakes: selectLegMaxStakes(context),
    tool_level_max: findHighestLevel(context, true),
  };
  if (reading.regimeIndex >= 0) scored.regime = REGIMES[reading.regimeIndex]!;
  return scored;
}
