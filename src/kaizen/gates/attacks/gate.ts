// Gate G9: what the attack scripts buy, in decisions. Every step of every script is asked under the
// champion and under the challenger, on the same tape, and the wrong answers are counted: an ALLOW
// at the policy's levels, a connect at stakes, an honest agent held back. Points of score decide
// nothing: sharper weights move more points and sell no more for it.
import type { ScoringConfig } from "../../../engine/config.ts";
import type { LoggedInputs, AgentScore } from "../../../engine/reading.ts";
import type { Holdout } from "../../model/holdout.ts";
import { computeMcNemarPValue } from "../../model/statistics.ts";
import { ATTACK_NAMES, ATTACK_SCRIPTS, ATTACK_STAKES } from "./scripts.ts";
import type { AttackCredibility, AttackScript, AttackRecordings, AttackLegs } from "./scripts.ts";
import { findEqualServiceThreshold, ATTACK_GOALS, shiftThresholdByOdds } from "./prizes.ts";
import type { AttackGoal, LegSide } from "./prizes.ts";
import { createGateResult, formatRounded } from "../register.ts";
import type { GatePolicy, GateResult } from "../register.ts";

/** The engine's own judgement of a taped leg under a config; the reading is reused by the next. */
export type AttackJudge = (config: ScoringConfig, leg: LoggedInputs) => Readonly<AgentScore>;

/** The scripts as they went, and the credibility that was in force meanwhile. */
export interface PlayedAttacks {
  /** Absent where the history names too few agents. */
  tapes?: AttackRecordings;
  credibility: AttackCredibility;
}

const DESCRIBED_HARMS_MAX = 3;

/** Wrong answers of one script and prize under one model. */
interface WrongAnswers {
  /** By victim, over the steps. */
  wrong: Uint16Array;
  all: number;
  /** Spent by the median victim until the first wrong answer; undefined when it never came. */
  price: number | undefined;
}

function computeMedian(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
}

/** One script's recording and one of its goals. */
interface AttackTrial {
  readonly tape: AttackRecordings[AttackScript];
  readonly prize: AttackGoal;
  readonly side: LegSide;
}

function countWrongAnswers(
  { tape, prize, side }: AttackTrial,
  judge: (leg: LoggedInputs) => Readonly<AgentScore>,
  isWrong = prize.isWrong,
): WrongAnswers {
  const { spent, asked } = tape;
  const each = ATTACK_STAKES.length;
  const offset = ATTACK_STAKES.findIndex((stakes) => stakes === prize.stakes);
  const victims = asked[0]![side].length / each;
  const wrong = new Uint16Array(victims);
  const prices = Array.from({ length: victims }, () => Infinity);
  asked.forEach((legs, step) => {
    for (let victim = 0; victim < victims; victim++) {
      if (!isWrong(judge(legs[side][victim * each + offset]!), side)) continue;
      wrong[victim]! += 1;
      prices[victim] = Math.min(prices[victim]!, spent[step]!);
    }
  });
  const price = computeMedian(prices);
  const all = wrong.reduce((sum, count) => sum + count, 0);
  return { wrong, all, price: Number.isFinite(price) ? price : undefined };
}

/** Wrong answers of the challenger against those of the champion. */
interface WrongAnswerExcess {
  /** Of the challenger, as they are judged here. */
  wrong: number;
  /** Share of the answers asked. */
  share: number;
  /** Chance of so many victims doing worse rather than better at one half. */
  p: number;
  isHarm: boolean;
}

function compareTakings(
  own: WrongAnswers,
  other: WrongAnswers,
  asked: number,
  policy: GatePolicy,
): WrongAnswerExcess {
  let [more, fewer] = [0, 0];
  own.wrong.forEach((count, victim) => {
    if (count > other.wrong[victim]!) more++;
    if (count < other.wrong[victim]!) fewer++;
  });
  const share = asked > 0 ? (own.all - other.all) / asked : 0;
  const p = computeMcNemarPValue(more, fewer);
  const isSure = p < policy.attack_p_max && share > policy.attack_excess_max;
  // Few victims prove nothing by their number: what is large needs no proof.
  return { wrong: own.all, share, p, isHarm: isSure || share > policy.attack_excess_large };
}

/** One script and prize under both models. */
interface AttackComparison {
  script: AttackScript;
  prize: string;
  asked: number;
  own: WrongAnswers;
  other: WrongAnswers;
  /** Beyond the challenger's own border by the margin. */
  excess: WrongAnswerExcess;
  /** The same with its border where it serves as many good outcomes as the champion. */
  alike?: WrongAnswerExcess;
  isHarm: boolean;
}

/** What all comparisons of one gate have in common. */
interface AttackContest {
  readonly tapes: AttackRecordings;
  readonly rivals: RivalConfigs;
  readonly judge: AttackJudge;
  readonly policy: GatePolicy;
}

function compareAttack(
  { tapes, rivals, judge, policy }: AttackContest,
  script: AttackScript,
  prize: AttackGoal,
): AttackComparison {
  const { side, champion, challenger, holdout } = rivals;
  const trial = { tape: tapes[script], prize, side };
  const byOwn = (leg: LoggedInputs) => judge(challenger, leg);
  const own = countWrongAnswers(trial, byOwn);
  const other = countWrongAnswers(trial, (leg) => judge(champion, leg));
  const asked = own.wrong.length * ATTACK_SCRIPTS[script].spent.length;
  const beyond = (border: number) => {
    const moved = shiftThresholdByOdds(prize, border, policy.attack_odds_margin);
    const isWrong: AttackGoal["isWrong"] = (reading) => prize.isWrongAt(reading, moved);
    const taken = countWrongAnswers(trial, byOwn, isWrong);
    return compareTakings(taken, other, asked, policy);
  };
  const excess = beyond(prize.selectThreshold(side, challenger));
  const found = { script, prize: prize.name, asked, own, other, excess };
  const border = findEqualServiceThreshold(prize, holdout, side);
  if (border === undefined) return { ...found, isHarm: excess.isHarm };
  const alike = beyond(border);
  return { ...found, alike, isHarm: excess.isHarm && alike.isHarm };
}

/** Median change of the pessimistic score of each script's victims over the script, in points. */
export function measureScoreLiftPoints(
  tapes: AttackRecordings,
  side: LegSide,
  judge: (leg: LoggedInputs) => Readonly<AgentScore>,
): Record<AttackScript, number> {
  const listScores = (legs: AttackLegs) =>
    legs[side].filter(({ stakes }) => stakes === 0).map((leg) => judge(leg).scoreEffective);
  const lift = (script: AttackScript) => {
    const before = listScores(tapes[script].before);
    const after = listScores(tapes[script].asked.at(-1)!);
    return computeMedian(after.map((score, i) => score - before[i]!));
  };
  const lifts = ATTACK_NAMES.map((script) => [script, lift(script)] as const);
  return Object.fromEntries(lifts) as Record<AttackScript, number>;
}

const formatShare = (share: number): string => `${formatRounded(share * 100, 1)} %`;

/** What a comparison is judged by: the smaller of its excesses. */
const computeComparisonWeight = ({ excess, alike = excess }: AttackComparison): number =>
  Math.min(excess.share, alike.share);

/**
 * A comparison in words. It is judged by the agents' probabilities alone, beyond the border by a margin; the
 * default policy, which also asks for a record, may hide what has become worse.
 */
function describeComparison(comparison: AttackComparison): string {
  const { script, prize, asked, own, other, excess, alike = excess } = comparison;
  const { unit } = ATTACK_SCRIPTS[script];
  const formatPrice = ({ price }: WrongAnswers) =>
    price === undefined ? "never" : `from ${price}`;
  const prices = `${formatPrice(own)} ${unit} on, under the champion ${formatPrice(other)}`;
  if (own.all > other.all)
    return `${script} gets ${prize} in ${own.all} of ${asked} answers, not ${other.all} (${prices})`;
  const judged = Math.min(excess.wrong, alike.wrong);
  return (
    `${script} would get ${prize} in ${judged} of ${asked} answers by its probability alone, not ` +
    `${other.all} (the policy's other rules leave ${own.all})`
  );
}

/** The largest few in words; the numbers have them all. */
function describeHarms(harms: readonly AttackComparison[]): string {
  const worst = harms
    .toSorted((a, b) => computeComparisonWeight(b) - computeComparisonWeight(a))
    .slice(0, DESCRIBED_HARMS_MAX);
  const others = harms.length - worst.length;
  return worst.map(describeComparison).join("; ") + (others > 0 ? `; and ${others} more` : "");
}

function listComparisonNumbers(comparisons: readonly AttackComparison[]): Record<string, number> {
  const numbers: Record<string, number> = {};
  for (const { script, prize, asked, own, other, excess, alike } of comparisons) {
    const name = `${script} ${prize}`;
    numbers[`${name}: asked`] = asked;
    numbers[`${name}: wrong`] = own.all;
    numbers[`${name}: champion wrong`] = other.all;
    numbers[`${name}: excess`] = excess.share;
    numbers[`${name}: p`] = excess.p;
    if (alike !== undefined) {
      numbers[`${name}: excess at equal service`] = alike.share;
      numbers[`${name}: p at equal service`] = alike.p;
    }
    if (own.price !== undefined) numbers[`${name}: price`] = own.price;
    if (other.price !== undefined) numbers[`${name}: champion price`] = other.price;
  }
  return numbers;
}

/** Two configs that differ in the scorecard of `side`, and the outcomes both were tested on. */
export interface RivalConfigs {
  side: LegSide;
  holdout: Holdout;
  champion: ScoringConfig;
  challenger: ScoringConfig;
}

/**
 * G9: what the scripts buy from the challenger against what they buy from the champion, under the
 * same standings and the default policy. Fails where any script gets any prize clearly more often:
 * by more than `attack_excess_max` of the answers and from more victims than chance would have it,
 * or by more than `attack_excess_large` at all.
 */
export function evaluateAttackGate(
  { tapes, credibility }: Required<PlayedAttacks>,
  rivals: RivalConfigs,
  judge: AttackJudge,
  policy: GatePolicy,
): GateResult {
  const { side, champion, challenger } = rivals;
  const contest = { tapes, rivals, judge, policy };
  const comparisons = ATTACK_NAMES.flatMap((script) =>
    ATTACK_GOALS[script].map((prize) => compareAttack(contest, script, prize)),
  );
  const harms = comparisons.filter(({ isHarm }) => isHarm);
  const total = (of: (each: AttackComparison) => number) =>
    comparisons.reduce((sum, each) => sum + of(each), 0);
  const [asked, wrong, before] = [
    total((each) => each.asked),
    total((each) => each.own.all),
    total((each) => each.other.all),
  ];
  const worst = comparisons.reduce((most, each) =>
    computeComparisonWeight(each) > computeComparisonWeight(most) ? each : most,
  );
  const [lifts, championLifts] = [
    measureScoreLiftPoints(tapes, side, (leg) => judge(challenger, leg)),
    measureScoreLiftPoints(tapes, side, (leg) => judge(champion, leg)),
  ];
  const numbers: Record<string, number> = {
    asked,
    wrong,
    champion_wrong: before,
    largest_excess: computeComparisonWeight(worst),
    harms: harms.length,
    denial_harms: harms.filter(({ alike }) => alike === undefined).length,
    credibility_in_force: credibility.isInForce ? 1 : 0,
    invented_believed: credibility.believed,
    ...listComparisonNumbers(comparisons),
  };
  // In points of score, for people: nothing is judged by them.
  for (const script of ATTACK_NAMES) {
    numbers[script] = lifts[script];
    numbers[`champion_${script}`] = championLifts[script];
  }
  const found =
    harms.length > 0
      ? describeHarms(harms)
      : computeComparisonWeight(worst) > 0
        ? `the most that gets worse: ${describeComparison(worst)}`
        : "no script gets anything more often";
  const sentence =
    `under the default policy the scripts get ${wrong} wrong answers out of ${asked} (champion ` +
    `${before}); ${found}; ` +
    (credibility.isInForce
      ? `${credibility.believed} invented agents came to be believed`
      : "no seeds are named, so that every reporter counts fully") +
    `; needed: none more often in over ${formatShare(policy.attack_excess_max)} of its answers beyond ` +
    `chance, or in over ${formatShare(policy.attack_excess_large)}`;
  return createGateResult("G9", { passed: harms.length === 0, numbers, sentence });
}
