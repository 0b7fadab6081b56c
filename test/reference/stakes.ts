// Slow, obvious decision at stakes: the expected cost of each way to go on, and the cheapest of them. Nothing
// shared with src/policy/ but the numbers of the terms.
import type { CatchRates, StakesTerms } from "../../src/contract/stakes-policy.ts";
import type { Standing, StakesScore } from "../../src/policy/stakes-decision.ts";

export interface ReferenceQuestion {
  readonly score: StakesScore;
  readonly terms: StakesTerms;
  readonly isThinAllowed: boolean;
  readonly standing: Standing;
  /** In the tenant's unit. */
  readonly stakes: number;
}

export interface ReferenceDecision {
  /** Index into DECISIONS. */
  readonly decision: number;
  /** Two costs, or a probability and its bound, are so close that rounding may decide. */
  readonly isClose: boolean;
}

const CLOSE = 1e-9;
const CLEAR = 0;
const REFUSED = 2;
const CONNECT = 0;
const VERIFY = 1;
const ESCALATE = 2;
const REFUSE = 3;

/** Cautious probability of failure at stakes in the unit of account. */
export function referenceRisk(score: StakesScore, stakes: number): number {
  const grown = Math.max(0, Math.log((1 + stakes) / (1 + score.stakesProven)));
  const untested = stakes > score.stakesReach ? score.stakesUntested : 0;
  return 1 / (1 + Math.exp(-(score.stakesLogit + score.stakesNovelty * grown + untested)));
}

interface Costs {
  readonly connect: number;
  /** Verifying by the level's own friction, which connecting is compared with, and by that of the policy. */
  readonly verifyAtLevel: number;
  readonly verify: number;
  readonly person: number;
}

/** Expected costs of one deal of `amount`: fees, friction of good deals, what is lost of bad ones. */
export function referenceCosts(
  terms: StakesTerms,
  { verifyCatch, humanCatch }: CatchRates,
  risk: number,
  amount: number,
): Costs {
  const lost = risk * terms.lossShare * amount * (1 + amount / terms.riskTolerance);
  const good = (1 - risk) * amount;
  const friction = terms.baseToleratedLoss * verifyCatch;
  const personFriction =
    terms.reviewFriction ?? Math.max(0.05, 1.25 * terms.baseToleratedLoss * humanCatch);
  const verifying = terms.verificationCost + (1 - verifyCatch) * lost;
  return {
    connect: lost,
    verifyAtLevel: verifying + terms.toleratedLoss * verifyCatch * good,
    verify: verifying + friction * good,
    person: terms.reviewCost + personFriction * good + (1 - humanCatch) * lost,
  };
}

const isNear = (a: number, b: number) => Math.abs(a - b) <= CLOSE * Math.max(a, b);

/** The three rules on the record, then the cheapest way to go on; of equal ones the mildest. */
export function referenceDecision(question: ReferenceQuestion): ReferenceDecision {
  const { score, terms, standing } = question;
  if (standing === REFUSED) return { decision: REFUSE, isClose: false };
  if (standing !== CLEAR) return { decision: ESCALATE, isClose: false };
  const stakes = question.stakes * terms.unit;
  const risk = referenceRisk(score, stakes);
  const isAsked = terms.isSensitive && score.isJudged;
  const isCloseToCertain = isAsked && isNear(risk, 0.8);
  if (isAsked && risk > 0.8) return { decision: ESCALATE, isClose: isCloseToCertain };
  const amount = Math.max(stakes, terms.assumed);
  const { connect, verifyAtLevel, verify, person } = referenceCosts(terms, score, risk, amount);
  const isClose = isCloseToCertain || isNear(connect, verifyAtLevel) || isNear(verify, person);
  if (connect <= verifyAtLevel) {
    const isThin = score.isThin && !question.isThinAllowed;
    const isStale = terms.isSensitive && score.silentDays > terms.staleAfterDays;
    return { decision: isThin || isStale ? VERIFY : CONNECT, isClose };
  }
  return { decision: verify <= person ? VERIFY : ESCALATE, isClose };
}
