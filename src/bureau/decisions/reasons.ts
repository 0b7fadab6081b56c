// Reasons of a decision: their sentences for a leg, for explain and for a dispute, in order of weight.
import { type ReasonSentence, REASONS } from "../../contract/reasons.ts";
import { REASON_CODES } from "../../contract/vocabulary.ts";
import type { Objection } from "../../contract/schemas/disputes.ts";
import type { AgentExplanation } from "../../contract/schemas/scores.ts";
import type { LegCode, ReasonCode } from "../../contract/vocabulary.ts";
import type { AgentScore } from "../../engine/reading.ts";

const BASE_RATE_INDEX = REASON_CODES.indexOf("BASE_RATE");

/** By engine index, so that the hot path never looks a name up. */
const REASON_SENTENCE_BY_INDEX: readonly ReasonSentence[] = REASON_CODES.map(
  (code) => REASONS[code].sentence,
);

/**
 * Writes a reading's reasons, by weight, into the two given arrays. A decision that is not clear
 * never goes without one: when the engine names none, the general rate of failure is the reason.
 */
export function appendReasons(
  { reading, stakes }: { readonly reading: AgentScore; readonly stakes: number },
  reasons: string[],
  codes: LegCode[],
): void {
  for (let i = 0; i < reading.reasonCount; i += 1) {
    const index = reading.reasonIndexes[i]!;
    reasons.push(REASON_SENTENCE_BY_INDEX[index]!(reading, stakes));
    codes.push(REASON_CODES[index]!);
  }
  if (reading.reasonCount === 0) {
    reasons.push(REASON_SENTENCE_BY_INDEX[BASE_RATE_INDEX]!(reading, stakes));
    codes.push("BASE_RATE");
  }
}

/** One sentence per code: what would change the decision. */
export function listImprovements(codes: readonly ReasonCode[]): string[] {
  return codes.map((code) => REASONS[code].improvement);
}

/** What counts against an agent that is explained, as the agent's own people are told. */
export function listObjections({
  known: isKnown,
  failure_probability: failure,
  decisions,
  reason_codes: named,
}: AgentExplanation): Objection[] {
  const told = {
    isKnown,
    failureProbability: failure.expected,
    failurePessimistic: failure.pessimistic,
  };
  // The reasons are those of the highest stakes.
  const highest = decisions.at(-1);
  const isClear = highest === undefined || highest.decision === "connect";
  const codes: ReasonCode[] = named.length === 0 && !isClear ? ["BASE_RATE"] : named;
  return codes.map((code) => {
    const sentence = REASONS[code].sentence(told, highest?.stakes ?? 0);
    return { code, sentence, remedy: REASONS[code].improvement };
  });
}
