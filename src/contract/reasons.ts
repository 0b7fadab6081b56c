// Texts of the reason codes: the sentence of a leg, what would improve it, and what the code means.
// Sentences give the numbers that matter, never a threshold, a weight or the name of another agent: raw evidence
// stays with its tenant.
import type { ReasonCode } from "./vocabulary.ts";

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

/** What sentences are about. Probabilities are 0 to 1. */
export interface ReasonInputs {
  readonly isKnown: boolean;
  readonly failureProbability: number;
  readonly failurePessimistic: number;
  /** Days since the agent was heard of; -1: never. */
  readonly silentDays: number;
}

/** The stakes that a decision is about, in the tenant's unit. */
export interface ReasonStakes {
  /** As they were named; 0 for none. */
  readonly stakes: number;
  /** What they count for: at least the assumed ones. */
  readonly counted: number;
  /** Largest stakes at which the decision would be a milder one; 0 for none, null for any. */
  readonly passing: number | null;
  /** Whether that milder decision is to connect with verification. */
  readonly isPassingVerified: boolean;
}

export type ReasonSentence = (reading: ReasonInputs, at: ReasonStakes) => string;

/** As the subject of a sentence in the plural. */
function describeStakes({ stakes, counted }: ReasonStakes): string {
  if (stakes >= counted) return `Stakes of ${stakes}`;
  const named = stakes === 0 ? "Without named stakes, the" : `Stakes of ${stakes} count for the`;
  return stakes === 0 ? `${named} assumed stakes of ${counted}` : `${named} assumed ${counted} and`;
}

/** The amount that would pass, as every sentence about stakes gives it. */
function describePassing({ passing, isPassingVerified }: ReasonStakes): string {
  const passes = isPassingVerified ? "connect with verification" : "connect without verification";
  if (passing === null) return `any amount would ${passes}`;
  return passing === 0 ? `no amount would ${passes}` : `up to ${passing} would ${passes}`;
}

/** All texts of one code. */
interface ReasonTexts {
  /** Why the decision is not clear. */
  readonly sentence: ReasonSentence;
  /** What would change the decision. */
  readonly improvement: string;
  /** The code alone, for readers who have no decision at hand. */
  readonly meaning: string;
}

export const REASONS: Readonly<Record<ReasonCode, ReasonTexts>> = {
  THIN_FILE: {
    sentence: (reading) =>
      reading.isKnown
        ? "What is known of the agent leaves much uncertain."
        : "No settled outcome of the agent is known.",
    improvement: "More settled outcomes, from several reporters, would narrow the uncertainty.",
    meaning: "little is known of the agent",
  },
  FAILURE_HISTORY: {
    sentence: (reading) =>
      `Settled outcomes put the agent's chance of failure at ${formatProbability(reading.failureProbability)}` +
      `, and at up to ${formatProbability(reading.failurePessimistic)} given what is not known.`,
    improvement: "Further successes would outweigh the recorded failures, which fade with time.",
    meaning: "settled outcomes failed more often than usual",
  },
  RECENT_FAILURE: {
    sentence: () => "The agent failed recently.",
    improvement: "The latest failure weighs less with every week without another.",
    meaning: "the agent failed recently",
  },
  NEGATIVE_TREND: {
    sentence: () => "The agent's failures have become more frequent lately.",
    improvement: "A run of successes in the next two weeks would turn the trend.",
    meaning: "failures have become more frequent",
  },
  STAKE_ABOVE_PROVEN: {
    sentence: (_, at) =>
      `${describeStakes(at)} ask for more certainty than the agent's record gives: ` +
      `${describePassing(at)}.`,
    improvement: "Successes at growing stakes would raise what the agent has proven.",
    meaning: "the stakes exceed what the agent has succeeded at",
  },
  LOW_CREDIBILITY_EVIDENCE: {
    sentence: () => "Most of the agent's record comes from reporters of little standing.",
    improvement: "Outcomes reported by established agents would count for more.",
    meaning: "most of the record comes from reporters of little standing",
  },
  CONCENTRATED_REPORTERS: {
    sentence: () => "The agent's record comes from very few reporters.",
    improvement: "Outcomes from other reporters would broaden the record.",
    meaning: "the record comes from very few reporters",
  },
  RING_PATTERN: {
    sentence: () => "Much of the agent's record comes from few agents that it praised itself.",
    improvement: "Outcomes from agents outside its own circle would count in full.",
    meaning: "much of the record comes from agents that the agent praised itself",
  },
  UNVERIFIED_SOURCES: {
    sentence: () =>
      "The agent's content has cited sources that cannot exist, or rested on what was taken back.",
    improvement: "Citing sources that exist and stand would let the doubt fade.",
    meaning: "the agent's content cited sources that cannot exist or were taken back",
  },
  HALLUCINATION_SIGNAL: {
    sentence: () =>
      "The agent's content has been found false against its sources, its record or its digest.",
    improvement: "No further content that is found false would let the doubt fade.",
    meaning: "the agent's content was found false against its sources",
  },
  VIEWER_CAUTIOUS: {
    sentence: () => "The other party's own dealings have failed unusually often of late.",
    improvement: "This part depends on the other party's record, not on the agent.",
    meaning: "the reason lies with the other party of the handshake",
  },
  FRAUD_FLAG: {
    sentence: () => "The agent carries a signed fraud flag.",
    improvement: "Only the operator who set the fraud flag can lift it.",
    meaning: "the agent carries a signed fraud flag",
  },
  KEY_REVOKED: {
    sentence: () => "The agent's key was revoked.",
    improvement: "Registering a new key would let its reports count again.",
    meaning: "the agent's newest signing key is revoked",
  },
  BASE_RATE: {
    sentence: (reading, at) =>
      `A chance of failure of up to ${formatProbability(reading.failurePessimistic)} is not small enough for ` +
      `stakes of ${Math.max(at.stakes, at.counted)}: ${describePassing(at)}.`,
    improvement: "Lower stakes, or a longer record of successes, would lead to a clear decision.",
    meaning: "nothing stands out, and the usual risk is too much for these stakes",
  },
  STALE_RECORD: {
    sentence: ({ silentDays }) =>
      `The agent was last heard of ${Math.floor(silentDays)} days ago: a good record that old is verified again.`,
    improvement: "One more settled outcome would count the record as current.",
    meaning: "nothing was heard of the agent for long",
  },
  STAKES_NEED_VERIFICATION: {
    sentence: (_, at) => `${describeStakes(at)} ask for verification: ${describePassing(at)}.`,
    improvement: "Lower stakes, or more successes, would let the agent pass without verification.",
    meaning: "at these stakes verifying costs less than what a failure would lose",
  },
  STAKES_NEED_APPROVAL: {
    sentence: (_, at) =>
      `${describeStakes(at)} ask for a person's approval: ${describePassing(at)}.`,
    improvement: "Lower stakes, or a person's decision, would let the agent pass.",
    meaning: "at these stakes a person decides",
  },
};
