// Gate G9: what the attack scripts buy, in decisions. Every step of every script is asked under the
// champion and under the challenger, on the same tape, and the wrong answers are counted: an ALLOW
// at the policy's levels, a connect at stakes, an honest agent held back. Points of score decide
// nothing: sharper weights move more points and sell no more for it.
import { DEFAULT_POLICY } from "../../contract/policy.ts";
import { DECISIONS, VERDICTS } from "../../contract/vocabulary.ts";
import type { ScoringConfig } from "../../engine/config.ts";
import type { LoggedInputs, Reading } from "../../engine/reading.ts";
import { decidePolicy } from "../../policy/rules.ts";
import { mcnemarOneSided } from "../model/statistics.ts";
import { ATTACK_NAMES, ATTACK_SCRIPTS, ATTACK_STAKES } from "./attacks.ts";
import type { AttackCredibility, AttackScript, AttackTapes, Legs } from "./attacks.ts";
import type { GatePolicy, GateResult } from "./gate.ts";

const ALLOW = VERDICTS.indexOf("ALLOW");
const QUARANTINE = VERDICTS.indexOf("QUARANTINE");
const CONNECT = DECISIONS.indexOf("connect");
const VERIFIED = DECISIONS.indexOf("connect_with_verification");

type Side = keyof Legs;

/** The engine's own judgement of a taped leg under a config; the reading is reused by the next. */
export type AttackJudge = (config: ScoringConfig, leg: LoggedInputs) => Readonly<Reading>;

/** The scripts as they went, and the credibility that was in force meanwhile. */
export interface PlayedAttacks {
  /** Absent where the history names too few agents. */
  tapes?: AttackTapes;
  credibility: AttackCredibility;
}

/** A wrong answer that an attack is after. */
interface Prize {
  name: string;
  /** One of ATTACK_STAKES. */
  stakes: number;
  isWrong: (reading: Readonly<Reading>, side: Side) => boolean;
}

function verdictAt(level: "L2" | "L3", reading: Readonly<Reading>, side: Side): number {
  const rules = DEFAULT_POLICY.levels[level];
  const bound = side === "check" ? rules.allow_up_to : rules.allow_handshake_up_to;
  return decidePolicy(level, rules, reading, true, "", true, bound).verdictIndex;
}

const allowedAt = (level: "L2" | "L3"): Prize => ({
  name: `ALLOW at ${level}`,
  stakes: 0,
  isWrong: (reading, side) => verdictAt(level, reading, side) === ALLOW,
});
const connectedAt = (stakes: number): Prize => ({
  name: `connect at ${stakes}`,
  stakes,
  isWrong: ({ decisionIndex }) => decisionIndex === CONNECT,
});
const AT_STAKES: readonly Prize[] = [
  connectedAt(1),
  connectedAt(10),
  {
    name: "verified connect at 100",
    stakes: 100,
    isWrong: ({ decisionIndex }) => decisionIndex <= VERIFIED,
  },
];
const FRAUD: readonly Prize[] = [allowedAt("L2"), allowedAt("L3"), ...AT_STAKES];
const SLANDER: readonly Prize[] = [
  {
    name: "held back at L2",
    stakes: 0,
    isWrong: (reading, side) => verdictAt("L2", reading, side) !== ALLOW,
  },
  {
    name: "denied at L2",
    stakes: 0,
    isWrong: (reading, side) => verdictAt("L2", reading, side) >= QUARANTINE,
  },
];
/** What each script is after: cheap trades are honest ones, until the stakes are large. */
const PRIZES: Readonly<Record<AttackScript, readonly Prize[]>> = {
  sybil_20x5: FRAUD,
  sybil_200x20: FRAUD,
  whitewash: FRAUD,
  on_off: FRAUD,
  bad_mouthing: SLANDER,
  cheap_trades: AT_STAKES,
  streak: FRAUD,
};

/** Wrong answers of one script and prize under one model. */
interface Taking {
  /** By victim, over the steps. */
  wrong: Uint16Array;
  all: number;
  /** Spent by the median victim until the first wrong answer; undefined when it never came. */
  price: number | undefined;
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
}

function takingOf(
  tapes: AttackTapes,
  script: AttackScript,
  prize: Prize,
  side: Side,
  judge: (leg: LoggedInputs) => Readonly<Reading>,
): Taking {
  const { spent, asked } = tapes[script];
  const each = ATTACK_STAKES.length;
  const offset = ATTACK_STAKES.findIndex((stakes) => stakes === prize.stakes);
  const victims = asked[0]![side].length / each;
  const wrong = new Uint16Array(victims);
  const prices = Array.from({ length: victims }, () => Infinity);
  asked.forEach((legs, step) => {
    for (let victim = 0; victim < victims; victim++) {
      if (!prize.isWrong(judge(legs[side][victim * each + offset]!), side)) continue;
      wrong[victim]! += 1;
      prices[victim] = Math.min(prices[victim]!, spent[step]!);
    }
  });
  const price = median(prices);
  const all = wrong.reduce((sum, count) => sum + count, 0);
  return { wrong, all, price: Number.isFinite(price) ? price : undefined };
}

/** One script and prize under both models. */
interface Comparison {
  script: AttackScript;
  prize: string;
  asked: number;
  own: Taking;
  other: Taking;
  /** Share of the answers by which the challenger gives more wrong ones. */
  excess: number;
  /** Chance of so many victims doing worse rather than better at one half. */
  p: number;
  isHarm: boolean;
}

function compare(
  script: AttackScript,
  { name: prize }: Prize,
  own: Taking,
  other: Taking,
  policy: GatePolicy,
): Comparison {
  const asked = own.wrong.length * ATTACK_SCRIPTS[script].spent.length;
  let [more, fewer] = [0, 0];
  own.wrong.forEach((count, victim) => {
    if (count > other.wrong[victim]!) more++;
    if (count < other.wrong[victim]!) fewer++;
  });
  const excess = asked > 0 ? (own.all - other.all) / asked : 0;
  const p = mcnemarOneSided(more, fewer);
  const isSure = p < policy.attack_p_max && excess > policy.attack_excess_max;
  // Few victims prove nothing by their number: what is large needs no proof.
  const isHarm = isSure || excess > policy.attack_excess_large;
  return { script, prize, asked, own, other, excess, p, isHarm };
}

/** Median change of the pessimistic score of each script's victims over the script, in points. */
export function attackLifts(
  tapes: AttackTapes,
  side: Side,
  judge: (leg: LoggedInputs) => Readonly<Reading>,
): Record<AttackScript, number> {
  const scoresOf = (legs: Legs) =>
    legs[side].filter(({ stakes }) => stakes === 0).map((leg) => judge(leg).scoreEffective);
  const lift = (script: AttackScript) => {
    const before = scoresOf(tapes[script].before);
    const after = scoresOf(tapes[script].asked.at(-1)!);
    return median(after.map((score, i) => score - before[i]!));
  };
  const lifts = ATTACK_NAMES.map((script) => [script, lift(script)] as const);
  return Object.fromEntries(lifts) as Record<AttackScript, number>;
}

function wordsOf({ script, prize, asked, own, other }: Comparison): string {
  const { unit } = ATTACK_SCRIPTS[script];
  const priceOf = ({ price }: Taking) => (price === undefined ? "never" : `from ${price}`);
  const prices = `${priceOf(own)} ${unit} on, under the champion ${priceOf(other)}`;
  return `${script} gets ${prize} in ${own.all} of ${asked} answers, not ${other.all} (${prices})`;
}

function numbersOf(comparisons: readonly Comparison[]): Record<string, number> {
  const numbers: Record<string, number> = {};
  for (const { script, prize, asked, own, other, excess, p } of comparisons) {
    const name = `${script} ${prize}`;
    numbers[`${name}: asked`] = asked;
    numbers[`${name}: wrong`] = own.all;
    numbers[`${name}: champion wrong`] = other.all;
    numbers[`${name}: excess`] = excess;
    numbers[`${name}: p`] = p;
    if (own.price !== undefined) numbers[`${name}: price`] = own.price;
    if (other.price !== undefined) numbers[`${name}: champion price`] = other.price;
  }
  return numbers;
}

/** Two configs that differ in the scorecard of `side`. */
export interface Rivals {
  side: Side;
  champion: ScoringConfig;
  challenger: ScoringConfig;
}

/**
 * G9: what the scripts buy from the challenger against what they buy from the champion, under the
 * same standings and the default policy. Fails where any script gets any prize clearly more often:
 * by more than `attack_excess_max` of the answers and from more victims than chance would have it,
 * or by more than `attack_excess_large` at all.
 */
export function attackGate(
  { tapes, credibility }: Required<PlayedAttacks>,
  { side, champion, challenger }: Rivals,
  judge: AttackJudge,
  policy: GatePolicy,
): GateResult {
  const byOwn = (leg: LoggedInputs) => judge(challenger, leg);
  const byOther = (leg: LoggedInputs) => judge(champion, leg);
  const comparisons = ATTACK_NAMES.flatMap((script) =>
    PRIZES[script].map((prize) => {
      const own = takingOf(tapes, script, prize, side, byOwn);
      const other = takingOf(tapes, script, prize, side, byOther);
      return compare(script, prize, own, other, policy);
    }),
  );
  const harms = comparisons.filter(({ isHarm }) => isHarm);
  const total = (of: (each: Comparison) => number) =>
    comparisons.reduce((sum, each) => sum + of(each), 0);
  const [asked, wrong, before] = [
    total((each) => each.asked),
    total((each) => each.own.all),
    total((each) => each.other.all),
  ];
  const worst = comparisons.reduce((most, each) => (each.excess > most.excess ? each : most));
  const [lifts, championLifts] = [
    attackLifts(tapes, side, byOwn),
    attackLifts(tapes, side, byOther),
  ];
  const numbers: Record<string, number> = {
    asked,
    wrong,
    champion_wrong: before,
    largest_excess: worst.excess,
    credibility_in_force: credibility.isInForce ? 1 : 0,
    invented_believed: credibility.believed,
    ...numbersOf(comparisons),
  };
  // In points of score, for people: nothing is judged by them.
  for (const script of ATTACK_NAMES) {
    numbers[script] = lifts[script];
    numbers[`champion_${script}`] = championLifts[script];
  }
  const found =
    harms.length > 0
      ? harms.map(wordsOf).join("; ")
      : worst.excess > 0
        ? `the most that gets worse: ${wordsOf(worst)}`
        : "no script gets anything more often";
  const sentence =
    `under the default policy the scripts get ${wrong} wrong answers out of ${asked} (champion ` +
    `${before}); ${found}; ` +
    (credibility.isInForce
      ? `${credibility.believed} invented agents came to be believed`
      : "no seeds are named, so that every reporter counts fully");
  return { id: "G9", name: "attacks", passed: harms.length === 0, numbers, sentence };
}
