// The decision of check and of a handshake's legs: at the stakes named, by the terms that a tenant has for
// requests without a tool level.
import type { ActivePolicy } from "./active-policy.ts";
import { selectConnectStanding } from "./standing.ts";
import type { PolicyRisk } from "./rule-inputs.ts";
import {
  computeConnectStakesMax,
  computeDecisionStakesMax,
  findStakesCause,
  selectDecisionIndex,
  STAKES_CAUSE,
  STANDING,
} from "./stakes-decision.ts";
import type { StakesCause, StakesQuestion, Standing } from "./stakes-decision.ts";

/** A request for a connection, as the decision sees it. */
export interface ConnectionQuery {
  readonly active: Pick<ActivePolicy, "policy" | "terms">;
  /**
   * `stakesTo`: the stakes, in the unit of account, up to which its probability is the same; left out
   * where `stakesMax` is of no interest.
   */
  readonly reading: PolicyRisk & { readonly stakesTo?: number };
  /** In the tenant's unit. */
  readonly stakes: number;
}

/** One decision. The object is reused on the hot path. */
export interface ConnectionDecision {
  question: StakesQuestion;
  standing: Standing;
  cause: StakesCause;
  /** Index into DECISIONS. */
  decisionIndex: number;
  /**
   * Largest stakes, in the tenant's unit, with a decision no stricter, Infinity for any; for one that waits
   * for a person the largest that would connect.
   */
  stakesMax: number;
}

export function createConnection({ terms, policy }: ConnectionQuery["active"]): ConnectionDecision {
  return {
    question: { terms: terms.connect, isThinAllowed: policy.levels.L2.thin === "allow", stakes: 0 },
    standing: STANDING.clear,
    cause: STAKES_CAUSE.connect,
    decisionIndex: 0,
    stakesMax: Number.POSITIVE_INFINITY,
  };
}

/** Fills `connection` with the decision on the query's reading. Returns it. */
export function decideConnection(
  query: ConnectionQuery,
  connection: ConnectionDecision,
): ConnectionDecision {
  const { active, reading, stakes } = query;
  const { policy, terms } = active;
  const question = {
    terms: terms.connect,
    isThinAllowed: policy.levels.L2.thin === "allow",
    stakes,
  };
  const standing = selectConnectStanding(policy, reading);
  const cause = findStakesCause(reading, question, standing);
  connection.question = question;
  connection.standing = standing;
  connection.cause = cause;
  connection.decisionIndex = selectDecisionIndex(cause);
  const stakesMax = computeDecisionStakesMax(reading, question, standing, cause);
  connection.stakesMax = capAtJudgedStakes(query, stakesMax);
  return connection;
}

/**
 * A tenant's own border of denial is compared with the probability at the stakes, which may be higher at
 * others: the answer holds no further than the stakes that are known to add the same to it. The record of a
 * leg is judged by the model of checks, of which only the proven stakes are known to add nothing.
 */
function capAtJudgedStakes(
  { active, reading, stakes }: ConnectionQuery,
  stakesMax: number,
): number {
  const { L2, L3 } = active.policy.levels;
  if (typeof L2.deny_from !== "number" && typeof L3.deny_from !== "number") return stakesMax;
  const { stakesTo = Number.POSITIVE_INFINITY, stakesProven } = reading;
  const isOwnModel = reading.recordProbability === reading.failureProbability;
  const to = isOwnModel ? stakesTo : Math.min(stakesTo, stakesProven);
  return Math.min(stakesMax, Math.max(stakes, to / active.terms.connect.unit));
}

/** Largest stakes, in the tenant's unit, that connect without verification. */
export function computeConnectionClear(
  query: ConnectionQuery,
  connection: ConnectionDecision,
): number {
  return computeConnectStakesMax(query.reading, connection.question, connection.standing);
}
