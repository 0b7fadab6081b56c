// Plain sentences for reason codes: for a leg (why the decision is not clear) and for explain (what
// would change it). Sentences give the numbers that matter, never a threshold, a weight or the name
// of another agent (http-facing privacy rule: raw evidence stays with its tenant).
import { REASON_CODES } from "../../contract/vocabulary.ts";
import type { Objection } from "../../contract/schemas/disputes.ts";
import type { AgentExplanation } from "../../contract/schemas/scores.ts";
import type { LegCode, ReasonCode } from "../../contract/vocabulary.ts";
import type { AgentScore } from "../../engine/reading.ts";

/** Tenths of a percent, 0 to 100 %, made once: a sentence costs two lookups and a join. */
const PERCENT_BY_PERMILLE: readonly string[] = Array.from({ length: 1001 }, (_, permille) =>
  permille === 0
    ? "under 0.1 %"
    : permille < 100
      ? `${(permille / 10).toFixed(1)} %`
      : `${Math.round(permille / 10)} %`,
);

function formatProbability(probability: number): string {
  return PERCENT_BY_PERMILLE[Math.round(Math.min(Math.max(probability, 0), 1) * 1000)]!;
}

/** What sentences are about. */
type ReasonInputs = Pick<AgentScore, "isKnown" | "failureProbability" | "failurePessimistic">;
type ReasonSentence = (reading: ReasonInputs, stakes: number) => string;

const REASON_SENTENCES: Readonly<Record<ReasonCode, ReasonSentence>> = {
  THIN_FILE: (reading) =>
    reading.isKnown
      ? "What is known of the agent leaves much uncertain."
      : "No settled outcome of the agent is known.",
  FAILURE_HISTORY: (reading) =>
    `Settled outcomes put the agent's chance of failure at ${formatProbability(reading.failureProbability)}` +
    `, and at up to ${formatProbability(reading.failurePessimistic)} given what is not known.`,
  RECENT_FAILURE: () => "The agent failed recently.",
  NEGATIVE_TREND: () => "The agent's failures have become more frequent lately.",
  STAKE_ABOVE_PROVEN: (_, stakes) =>
    `Stakes of ${stakes} ask for more certainty than the agent's record gives.`,
  LOW_CREDIBILITY_EVIDENCE: () =>
    "Most of the agent's record comes from reporters of little standing.",
  CONCENTRATED_REPORTERS: () => "The agent's record comes from very few reporters.",
  RING_PATTERN: () => "Much of the agent's record comes from few agents that it praised itself.",
  UNVERIFIED_SOURCES: () =>
    "The agent's content has cited sources that cannot exist, or rested on what was taken back.",
  HALLUCINATION_SIGNAL: () =>
    "The agent's content has been found false against its sources, its record or its digest.",
  VIEWER_CAUTIOUS: () => "The other party's own dealings have failed unusually often of late.",
  FRAUD_FLAG: () => "The agent carries a signed fraud flag.",
  KEY_REVOKED: () => "The agent's key was revoked.",
  BASE_RATE: (reading, stakes) =>
    `A chance of failure of up to ${formatProbability(reading.failurePessimistic)} is not small enough for ` +
    `stakes of ${stakes}.`,
};

const BASE_RATE_INDEX = REASON_CODES.indexOf("BASE_RATE");

/** By engine index, so that the hot path never looks a name up. */
const REASON_SENTENCE_BY_INDEX: readonly ReasonSentence[] = REASON_CODES.map(
  (code) => REASON_SENTENCES[code],
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

const IMPROVEMENTS: Readonly<Record<ReasonCode, string>> = {
  THIN_FILE: "More settled outcomes, from several reporters, would narrow the uncertainty.",
  FAILURE_HISTORY: "Further successes would outweigh the recorded failures, which fade with time.",
  RECENT_FAILURE: "The latest failure weighs less with every week without another.",
  NEGATIVE_TREND: "A run of successes in the next two weeks would turn the trend.",
  STAKE_ABOVE_PROVEN: "Successes at growing stakes would raise what the agent has proven.",
  LOW_CREDIBILITY_EVIDENCE: "Outcomes reported by established agents would count for more.",
  CONCENTRATED_REPORTERS: "Outcomes from other reporters would broaden the record.",
  RING_PATTERN: "Outcomes from agents outside its own circle would count in full.",
  UNVERIFIED_SOURCES: "Citing sources that exist and stand would let the doubt fade.",
  HALLUCINATION_SIGNAL: "No further content that is found false would let the doubt fade.",
  VIEWER_CAUTIOUS: "This part depends on the other party's record, not on the agent.",
  FRAUD_FLAG: "Only the operator who set the fraud flag can lift it.",
  KEY_REVOKED: "Registering a new key would let its reports count again.",
  BASE_RATE: "Lower stakes, or a longer record of successes, would lead to a clear decision.",
};

/** One sentence per code: what would change the decision. */
export function listImprovements(codes: readonly ReasonCode[]): string[] {
  return codes.map((code) => IMPROVEMENTS[code]);
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
    const sentence = REASON_SENTENCES[code](told, highest?.stakes ?? 0);
    return { code, sentence, remedy: IMPROVEMENTS[code] };
  });
}
