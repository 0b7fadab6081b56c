// The decision at stakes (SPEC §2.4, §2.5): connect, connect with verification, escalate or refuse, by
// the least expected cost under a tenant's terms. One function for every door; the largest stakes are the
// same inequalities solved for the stakes. Hot path: plain numbers, nothing allocated.
import {
  computeBaseFriction,
  computeReviewFriction,
  computeVerifyFriction,
} from "../contract/stakes-policy.ts";
import type { CatchRates, StakesTerms } from "../contract/stakes-policy.ts";
import { DECISION } from "../contract/vocabulary.ts";

/**
 * The part of a score that the decision reads. The cautious log-odds of failure at given stakes are
 * `stakesLogit`, plus `stakesNovelty` times ln((1 + stakes) / (1 + stakesProven)) above the proven ones,
 * plus `stakesUntested` beyond `stakesReach`. Stakes are in the bureau's unit of account.
 */
export interface StakesScore extends CatchRates {
  readonly stakesLogit: number;
  readonly stakesNovelty: number;
  readonly stakesUntested: number;
  readonly stakesProven: number;
  readonly stakesReach: number;
  /** Outcomes have resolved too little. */
  readonly isThin: boolean;
  /** Whether there is evidence enough to deny by. */
  readonly isJudged: boolean;
  /** Days since the agent was heard of; -1: never. */
  readonly silentDays: number;
  /** Index into DECISIONS of a reserved test agent; -1 for a measured score. */
  readonly fixedDecisionIndex: number;
}

/** Whether a record is denied or refused, whatever the stakes. */
export const STANDING = { clear: 0, denied: 1, refused: 2 } as const;
export type Standing = (typeof STANDING)[keyof typeof STANDING];

/** What decides, from the most permissive to the strictest. */
export const STAKES_CAUSE = {
  connect: 0,
  thin: 1,
  stale: 2,
  verification: 3,
  approval: 4,
  nearCertain: 5,
  denied: 6,
  refused: 7,
} as const;
export type StakesCause = (typeof STAKES_CAUSE)[keyof typeof STAKES_CAUSE];

const DECISION_BY_CAUSE: readonly number[] = [
  DECISION.connect,
  DECISION.connect_with_verification,
  DECISION.connect_with_verification,
  DECISION.connect_with_verification,
  DECISION.escalate,
  DECISION.escalate,
  DECISION.escalate,
  DECISION.refuse,
];
const CAUSE_BY_FIXED_DECISION: readonly StakesCause[] = [
  STAKES_CAUSE.connect,
  STAKES_CAUSE.verification,
  STAKES_CAUSE.denied,
  STAKES_CAUSE.refused,
];

/** Cautious probability of failure above which only a person lets an agent through. */
export const NEARLY_CERTAIN = 0.8;
/**
 * A closed form is off by a few units in the last place, by more where its terms nearly cancel: steps down,
 * each twice as long, until the decision holds. The last one halves.
 */
const ROUNDING_STEPS_MAX = 53;
/** Share of a number by which the next smaller one is less, at most. */
const STEP_SHARE = Number.EPSILON / 2;
/** Halvings of an interval of numbers: more change nothing. */
const SEARCH_STEPS = 60;
const STAKES_CEILING = 1e15;

/** What is asked: at which stakes (in the tenant's unit), by which terms. */
export interface StakesQuestion {
  readonly terms: StakesTerms;
  /** Whether a thin record may connect without verification. */
  readonly isThinAllowed: boolean;
  readonly stakes: number;
}

function computeProbability(logit: number): number {
  return 1 / (1 + Math.exp(-logit));
}

/** Cautious probability of failure at stakes in the unit of account. */
export function computeStakesRisk(score: StakesScore, stakes: number): number {
  let logit = score.stakesLogit;
  if (score.stakesNovelty > 0 && stakes > score.stakesProven) {
    logit += score.stakesNovelty * Math.log((1 + stakes) / (1 + score.stakesProven));
  }
  if (stakes > score.stakesReach) logit += score.stakesUntested;
  return computeProbability(logit);
}

/** Certainty equivalent of losing one deal: what the loss weighs grows with the amount. */
function computeLoss({ lossShare, riskTolerance }: StakesTerms, amount: number): number {
  return lossShare * amount * (1 + amount / riskTolerance);
}

/** Whether to connect without verification costs least: what verifying would save is below its cost. */
function isConnectCheaper(
  terms: StakesTerms,
  catches: CatchRates,
  risk: number,
  amount: number,
): boolean {
  const saved = risk * catches.verifyCatch * computeLoss(terms, amount);
  const friction = computeVerifyFriction(terms, catches) * (1 - risk) * amount;
  return saved <= terms.verificationCost + friction;
}

/** Whether to verify costs no more than to ask a person. */
function isVerifyCheaper(
  terms: StakesTerms,
  catches: CatchRates,
  risk: number,
  amount: number,
): boolean {
  const gain = catches.humanCatch - catches.verifyCatch;
  const saved = risk * gain * computeLoss(terms, amount);
  const dearer = computeReviewFriction(terms, catches) - computeBaseFriction(terms, catches);
  const cost = terms.reviewCost - terms.verificationCost + dearer * (1 - risk) * amount;
  return saved <= cost;
}

/** The amount that stakes in the tenant's unit count for, in the unit of account. */
export function computeAmount(terms: StakesTerms, stakes: number): number {
  return Math.max(stakes * terms.unit, terms.assumed);
}

/**
 * Largest stakes within a cap, both in the tenant's unit; a cap of 0 stands for what a request without stakes
 * counts for. 0 where the cap is below that: no request is within it.
 */
export function selectStakesCap({ assumed, unit }: StakesTerms, cap: number): number {
  if (cap === 0) return assumed / unit;
  return cap * unit < assumed ? 0 : cap;
}

/** Whether stakes, at the amount that they count for, are within a cap. */
export function isWithinStakesCap(terms: StakesTerms, stakes: number, cap: number): boolean {
  return computeAmount(terms, stakes) <= (cap === 0 ? terms.assumed : cap * terms.unit);
}

/** Whether the record has been silent for too long. One that was never heard of is thin, not stale. */
export function isSilent(score: Pick<StakesScore, "silentDays">, terms: StakesTerms): boolean {
  return score.silentDays > terms.staleAfterDays;
}

/** Whether silence holds back, as it does at sensitive levels. */
function isStale(score: StakesScore, terms: StakesTerms): boolean {
  return terms.isSensitive && isSilent(score, terms);
}

/**
 * What decides about an agent, in this order: refused, denied, nearly certain to fail, cheapest to
 * connect, cheapest to verify, else a person.
 */
export function findStakesCause(
  score: StakesScore,
  question: StakesQuestion,
  standing: Standing,
): StakesCause {
  if (score.fixedDecisionIndex >= 0) return CAUSE_BY_FIXED_DECISION[score.fixedDecisionIndex]!;
  if (standing === STANDING.refused) return STAKES_CAUSE.refused;
  if (standing === STANDING.denied) return STAKES_CAUSE.denied;
  const { terms, stakes } = question;
  const risk = computeStakesRisk(score, stakes * terms.unit);
  if (isNearlyCertain(score, terms, risk)) return STAKES_CAUSE.nearCertain;
  const amount = computeAmount(terms, stakes);
  if (isConnectCheaper(terms, score, risk, amount)) {
    if (score.isThin && !question.isThinAllowed) return STAKES_CAUSE.thin;
    return isStale(score, terms) ? STAKES_CAUSE.stale : STAKES_CAUSE.connect;
  }
  return isVerifyCheaper(terms, score, risk, amount)
    ? STAKES_CAUSE.verification
    : STAKES_CAUSE.approval;
}

function isNearlyCertain(score: StakesScore, terms: StakesTerms, risk: number): boolean {
  return terms.isSensitive && score.isJudged && risk > NEARLY_CERTAIN;
}

/** Index into DECISIONS of what a cause gives. */
export function selectDecisionIndex(cause: StakesCause): number {
  return DECISION_BY_CAUSE[cause]!;
}

/** Positive root of a V² + b V = c, where a and c are not negative; Infinity where it never gets there. */
function solveBorder(a: number, b: number, c: number): number {
  if (c === 0 && b >= 0) return 0;
  if (a === 0 && b <= 0) return Number.POSITIVE_INFINITY;
  const root = Math.sqrt(b * b + 4 * a * c);
  return b >= 0 ? (2 * c) / (b + root) : (root - b) / (2 * a);
}

type Border = typeof isConnectCheaper;

function computeLargestAmount(
  border: Border,
  terms: StakesTerms,
  catches: CatchRates,
  risk: number,
): number {
  const isFirst = border === isConnectCheaper;
  const caught = isFirst ? catches.verifyCatch : catches.humanCatch - catches.verifyCatch;
  const friction = isFirst
    ? computeVerifyFriction(terms, catches)
    : computeReviewFriction(terms, catches) - computeBaseFriction(terms, catches);
  const cost = isFirst ? terms.verificationCost : terms.reviewCost - terms.verificationCost;
  const slope = terms.lossShare * risk * caught;
  let amount = solveBorder(slope / terms.riskTolerance, slope - friction * (1 - risk), cost);
  if (amount === Number.POSITIVE_INFINITY) return amount;
  for (
    let step = 0;
    step < ROUNDING_STEPS_MAX && !border(terms, catches, risk, amount);
    step += 1
  ) {
    amount *= 1 - STEP_SHARE * 2 ** step;
  }
  return amount;
}

/** Largest stakes, in the unit of account, at which `border` holds; 0 where it does at none. */
function computeLargestStakes(score: StakesScore, terms: StakesTerms, border: Border): number {
  const within = computeProbability(score.stakesLogit);
  if (isNearlyCertain(score, terms, within)) return 0;
  if (score.stakesNovelty > 0) return searchLargestStakes(score, terms, border);
  const largest = computeLargestAmount(border, terms, score, within);
  if (largest < terms.assumed) return 0;
  const reach = score.stakesReach;
  if (score.stakesUntested === 0 || largest <= reach) return largest;
  const beyond = computeProbability(score.stakesLogit + score.stakesUntested);
  if (isNearlyCertain(score, terms, beyond)) return reach;
  const untested = computeLargestAmount(border, terms, score, beyond);
  return untested >= terms.assumed && untested > reach ? untested : reach;
}

/** By bisection, for configs in which the probability itself rises with the stakes. */
function searchLargestStakes(score: StakesScore, terms: StakesTerms, border: Border): number {
  const holds = (stakes: number) => {
    const risk = computeStakesRisk(score, stakes);
    if (isNearlyCertain(score, terms, risk)) return false;
    return border(terms, score, risk, Math.max(stakes, terms.assumed));
  };
  if (holds(STAKES_CEILING)) return Number.POSITIVE_INFINITY;
  if (!holds(0)) return 0;
  let high = 1;
  while (holds(high)) high *= 2;
  let low = high === 1 ? 0 : high / 2;
  for (let step = 0; step < SEARCH_STEPS; step += 1) {
    const middle = (low + high) / 2;
    if (holds(middle)) low = middle;
    else high = middle;
  }
  return low;
}

/** Whether what the stakes alone decide is to connect, or with `isVerified` to connect at all. */
function isConnectedAt(
  score: StakesScore,
  terms: StakesTerms,
  stakes: number,
  isVerified: boolean,
): boolean {
  const risk = computeStakesRisk(score, stakes * terms.unit);
  if (isNearlyCertain(score, terms, risk)) return false;
  const amount = computeAmount(terms, stakes);
  if (isConnectCheaper(terms, score, risk, amount)) return true;
  return isVerified && isVerifyCheaper(terms, score, risk, amount);
}

/** Takes the largest stakes in the unit of account to the tenant's: down, to where the decision holds. */
function convertToTenantUnit(
  score: StakesScore,
  terms: StakesTerms,
  largest: number,
  isVerified: boolean,
): number {
  if (terms.unit === 1 || largest === Number.POSITIVE_INFINITY) return largest;
  let stakes = largest / terms.unit;
  for (
    let step = 0;
    step < ROUNDING_STEPS_MAX && stakes > 0 && !isConnectedAt(score, terms, stakes, isVerified);
    step += 1
  ) {
    stakes *= 1 - STEP_SHARE * 2 ** step;
  }
  return stakes;
}

/**
 * Largest stakes, in the tenant's unit, that connect without verification: 0 for none, Infinity for any.
 */
export function computeConnectStakesMax(
  score: StakesScore,
  { terms, isThinAllowed }: Omit<StakesQuestion, "stakes">,
  standing: Standing,
): number {
  if (score.fixedDecisionIndex >= 0) {
    return score.fixedDecisionIndex === DECISION.connect ? Number.POSITIVE_INFINITY : 0;
  }
  const isHeldBack = standing !== STANDING.clear || (score.isThin && !isThinAllowed);
  if (isHeldBack || isStale(score, terms)) return 0;
  const largest = computeLargestStakes(score, terms, isConnectCheaper);
  return convertToTenantUnit(score, terms, largest, false);
}

/** Largest stakes, in the tenant's unit, that connect at all: with verification or without. */
export function computeOpenStakesMax(
  score: StakesScore,
  { terms }: Pick<StakesQuestion, "terms">,
  standing: Standing,
): number {
  if (score.fixedDecisionIndex >= 0) {
    return score.fixedDecisionIndex === DECISION.refuse ? 0 : Number.POSITIVE_INFINITY;
  }
  if (standing !== STANDING.clear) return 0;
  const verified = computeLargestStakes(score, terms, isVerifyCheaper);
  const connected = computeLargestStakes(score, terms, isConnectCheaper);
  return convertToTenantUnit(score, terms, Math.max(verified, connected), true);
}

/**
 * Largest stakes, in the tenant's unit, with a decision no stricter than the one that `cause` gave; for one
 * that waits for a person the largest that would connect, 0 where none does.
 */
export function computeDecisionStakesMax(
  score: StakesScore,
  question: StakesQuestion,
  standing: Standing,
  cause: StakesCause,
): number {
  // The closed form is rounded down: what was decided at the stakes asked holds there.
  if (cause === STAKES_CAUSE.connect) {
    return Math.max(question.stakes, computeConnectStakesMax(score, question, standing));
  }
  const open = computeOpenStakesMax(score, question, standing);
  return cause < STAKES_CAUSE.approval ? Math.max(question.stakes, open) : open;
}

/**
 * Largest cautious probability of failure that connects, and that connects with verification, at `stakes`
 * in the tenant's unit: the two borders solved for the probability.
 */
export function computeRiskBorders(
  terms: StakesTerms,
  catches: CatchRates,
  stakes: number,
): { readonly connect: number; readonly verification: number } {
  const amount = computeAmount(terms, stakes);
  if (amount === 0) return { connect: 1, verification: 1 };
  const loss = computeLoss(terms, amount);
  const friction = computeVerifyFriction(terms, catches) * amount;
  const connect = (terms.verificationCost + friction) / (catches.verifyCatch * loss + friction);
  const gain = catches.humanCatch - catches.verifyCatch;
  const dearer =
    (computeReviewFriction(terms, catches) - computeBaseFriction(terms, catches)) * amount;
  const verification =
    (terms.reviewCost - terms.verificationCost + dearer) / (gain * loss + dearer);
  return {
    connect: Math.min(1, connect),
    verification: Math.min(1, Math.max(connect, verification)),
  };
}
