// Reasons of a decision: their sentences for a leg, for explain and for a dispute, in order of weight.
import { type ReasonSentence, REASONS } from "../../contract/reasons.ts";
import type { ReasonStakes } from "../../contract/reasons.ts";
import { DECISION, REASON_CODES } from "../../contract/vocabulary.ts";
import type { Objection } from "../../contract/schemas/disputes.ts";
import type { AgentExplanation } from "../../contract/schemas/scores.ts";
import type { LegCode, ReasonCode } from "../../contract/vocabulary.ts";
import type { AgentScore } from "../../engine/reading.ts";
import { computeConnectionClear } from "../../policy/connection.ts";
import type { ConnectionDecision, ConnectionQuery } from "../../policy/connection.ts";
import { computeAmount, STAKES_CAUSE } from "../../policy/stakes-decision.ts";
import type { StakesCause } from "../../policy/stakes-decision.ts";
import { encodeStakesBound } from "./stakes-bound.ts";

/** Reasons in one answer. */
export const REASONS_PER_ANSWER = 4;

const findReasonIndex = (code: ReasonCode) => REASON_CODES.indexOf(code);
const BASE_RATE_INDEX = findReasonIndex("BASE_RATE");
const STAKE_ABOVE_PROVEN_INDEX = findReasonIndex("STAKE_ABOVE_PROVEN");

/** By engine index, so that the hot path never looks a name up. */
const REASON_SENTENCE_BY_INDEX: readonly ReasonSentence[] = REASON_CODES.map(
  (code) => REASONS[code].sentence,
);

/** What the stakes or the policy's own rules give as a reason; -1 where the record alone decides. */
const REASON_INDEX_BY_CAUSE: Readonly<Record<StakesCause, number>> = {
  [STAKES_CAUSE.connect]: -1,
  [STAKES_CAUSE.thin]: -1,
  [STAKES_CAUSE.stale]: findReasonIndex("STALE_RECORD"),
  [STAKES_CAUSE.verification]: findReasonIndex("STAKES_NEED_VERIFICATION"),
  [STAKES_CAUSE.approval]: findReasonIndex("STAKES_NEED_APPROVAL"),
  [STAKES_CAUSE.nearCertain]: findReasonIndex("STAKES_NEED_APPROVAL"),
  [STAKES_CAUSE.denied]: -1,
  [STAKES_CAUSE.refused]: -1,
};

/** Reads a query's reading as reasons need it. */
interface ReasonQuery extends ConnectionQuery {
  readonly reading: AgentScore;
}

/**
 * Writes the reasons of a connection that is not clear into the two given arrays: what the stakes ask for,
 * then the engine's by weight, four in all. None never goes without one: when the engine names none, it is
 * the stakes or the general rate of failure.
 */
export function appendReasons(
  query: ReasonQuery,
  connection: ConnectionDecision,
  reasons: string[],
  codes: LegCode[],
): void {
  const { reading } = query;
  const at = describeReasonStakes(query, connection);
  const add = (index: number) => {
    reasons.push(REASON_SENTENCE_BY_INDEX[index]!(reading, at));
    codes.push(REASON_CODES[index]!);
  };
  const own = REASON_INDEX_BY_CAUSE[connection.cause];
  const countMax = REASONS_PER_ANSWER - (own < 0 ? 0 : 1);
  if (own >= 0) add(own);
  for (let i = 0; i < reading.reasonCount && i < countMax; i += 1) add(reading.reasonIndexes[i]!);
  if (reading.reasonCount === 0 && own < 0) add(selectFallbackIndex(query, connection));
}

/** Nothing about the agent stands out: it is the stakes, or how often anybody fails. */
function selectFallbackIndex(
  { reading, stakes }: ReasonQuery,
  { question }: ConnectionDecision,
): number {
  const amount = computeAmount(question.terms, stakes);
  return amount > reading.stakesProven ? STAKE_ABOVE_PROVEN_INDEX : BASE_RATE_INDEX;
}

function describeReasonStakes(query: ReasonQuery, connection: ConnectionDecision): ReasonStakes {
  const { stakes } = query;
  const { terms } = connection.question;
  const isPassingVerified = connection.decisionIndex >= DECISION.escalate;
  const passing = isPassingVerified
    ? connection.stakesMax
    : computeConnectionClear(query, connection);
  return {
    stakes,
    counted: computeAmount(terms, stakes) / terms.unit,
    passing: encodeStakesBound(passing),
    isPassingVerified,
  };
}

/** One sentence per code: what would change the decision. */
export function listImprovements(codes: readonly ReasonCode[]): string[] {
  return codes.map((code) => REASONS[code].improvement);
}

/** What counts against an agent that is explained, as the agent's own people are told. */
export function listObjections({
  known: isKnown,
  failure_probability: failure,
  evidence,
  decisions,
  reason_codes: named,
}: AgentExplanation): Objection[] {
  const told = {
    isKnown,
    failureProbability: failure.expected,
    failurePessimistic: failure.pessimistic,
    silentDays: evidence.silent_days ?? -1,
  };
  // The reasons are those of the highest stakes.
  const highest = decisions.at(-1);
  const isClear = highest === undefined || highest.decision === "connect";
  const codes: ReasonCode[] = named.length === 0 && !isClear ? ["BASE_RATE"] : named;
  const stakes = highest?.stakes ?? 0;
  const at: ReasonStakes = {
    stakes,
    counted: stakes,
    passing: highest?.max_stakes ?? null,
    isPassingVerified: highest?.decision !== "connect_with_verification",
  };
  return codes.map((code) => ({
    code,
    sentence: REASONS[code].sentence(told, at),
    remedy: REASONS[code].improvement,
  }));
}
