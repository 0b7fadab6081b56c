// Money of a back-test: what the decisions at stakes would have cost by the tenant's own numbers, beside
// verifying every deal and connecting every one, and the curves over its two main numbers. Counted of
// outcomes whose stakes were known beforehand. Pure: readings in, figures out.
import type {
  BacktestMoneyCurve,
  BacktestMoneyPlan,
  BacktestMoneyQuestion,
  BacktestMoneyRow,
} from "../contract/schemas/backtest.ts";
import {
  computeBaseFriction,
  computeReviewFriction,
  convertShareToBps,
  listStakesFaults,
  resolveStakesTerms,
} from "../contract/stakes-policy.ts";
import type { StakesPolicy, StakesTerms } from "../contract/stakes-policy.ts";
import { VERDICT } from "../contract/vocabulary.ts";
import { MINIMUM_SCORES_DEFAULT } from "../contract/policy.ts";
import type { ActivePolicy } from "./active-policy.ts";
import { roundStakesToHundredths } from "./backtest-tally.ts";
import type { BacktestCase } from "./backtest-tally.ts";
import { createConnection, decideConnection } from "./connection.ts";
import { fillRuleInputs } from "./policy-query.ts";
import { applyPolicyRules, isReviewRequired } from "./rules.ts";
import { createRuleInputs } from "./rule-inputs.ts";
import { STAKES_MARKED } from "./rulings.ts";

/** Steps of the curves: hundredths of a percent, and multiples of what a person's look costs. */
const TOLERATED_LOSS_STEPS = [0, 25, 50, 100, 150, 200, 250, 300, 400, 500, 750, 1000];
const RISK_TOLERANCE_STEPS = [50, 100, 200, 500, 1000, 2000, 5000, 10_000, 50_000];

/** Values that differ by less, relatively, are one: one may have been multiplied and divided by the unit. */
const SAME_VALUE = 1e-9;

/** What is done about one deal. */
const HANDLING = { connect: 0, verify: 1, review: 2, refuse: 3 } as const;
type Handling = (typeof HANDLING)[keyof typeof HANDLING];

const HANDLING_BY_DECISION: readonly Handling[] = [
  HANDLING.connect,
  HANDLING.verify,
  HANDLING.review,
  HANDLING.refuse,
];

/** Deals handled in one way or another, and what that costs. Amounts in the tenant's unit. */
class MoneyTally {
  readonly #terms: StakesTerms;
  #volume = 0;
  #lost = 0;
  #friction = 0;
  #review = 0;
  #badVolume = 0;
  #badConnected = 0;
  #good = 0;
  #goodConnected = 0;
  #goodHeld = 0;
  #count = 0;

  /** @param terms whose costs are counted, whatever decided. */
  constructor(terms: StakesTerms) {
    this.#terms = terms;
  }

  /** `stakes` are in the bureau's unit of account. */
  add({ reading, isBad, stakes }: BacktestCase, handling: Handling): void {
    const terms = this.#terms;
    const { verifyCatch, humanCatch } = reading;
    const missed = [1, 1 - verifyCatch, 1 - humanCatch, 0][handling]!;
    this.#count += 1;
    this.#volume += stakes;
    if (handling === HANDLING.verify) this.#review += terms.verificationCost;
    if (handling === HANDLING.review) this.#review += terms.reviewCost;
    if (isBad) {
      this.#badVolume += stakes;
      if (handling === HANDLING.connect) this.#badConnected += stakes;
      this.#lost += missed * terms.lossShare * stakes;
      return;
    }
    const frictions = [
      0,
      computeBaseFriction(terms, reading),
      computeReviewFriction(terms, reading),
      // A good deal that is refused is lost to a person's look at least.
      computeReviewFriction(terms, reading),
    ];
    this.#friction += frictions[handling]! * stakes;
    this.#good += 1;
    if (handling === HANDLING.connect) this.#goodConnected += 1;
    if (handling >= HANDLING.review) this.#goodHeld += 1;
  }

  get cost(): number {
    return this.#lost + this.#friction + this.#review;
  }

  get shares() {
    return {
      good_connected: divide(this.#goodConnected, this.#good),
      good_held: divide(this.#goodHeld, this.#good),
      bad_money_connected: divide(this.#badConnected, this.#badVolume),
      cost_share: divide(this.cost, this.#volume),
    };
  }

  buildRow(): Omit<BacktestMoneyRow, "asked" | "plan"> {
    const { unit } = this.#terms;
    const amount = (value: number) => roundStakesToHundredths(value / unit);
    return {
      deals: this.#count,
      volume: amount(this.#volume),
      lost: amount(this.#lost),
      friction: amount(this.#friction),
      review: amount(this.#review),
      cost: amount(this.cost),
      ...this.shares,
    };
  }
}

function divide(part: number, whole: number): number | null {
  return whole === 0 ? null : part / whole;
}

type RuledPolicy = Omit<ActivePolicy, "version">;

function handleConnection(active: RuledPolicy): (each: BacktestCase) => Handling {
  const connection = createConnection(active);
  const { unit } = active.terms.connect;
  return ({ reading, stakes }) => {
    const query = { active, reading, stakes: stakes / unit };
    return HANDLING_BY_DECISION[decideConnection(query, connection).decisionIndex]!;
  };
}

function handleVerify(active: RuledPolicy, level: "L2" | "L3"): (each: BacktestCase) => Handling {
  const rules = createRuleInputs();
  const { unit } = active.terms.connect;
  return ({ reading, agentId, nowMs, stakes }) => {
    const minimumScores = MINIMUM_SCORES_DEFAULT;
    const query = { active, reading, agentId, nowMs, stakes: stakes / unit, minimumScores, rules };
    const ruling = applyPolicyRules(fillRuleInputs(query, level));
    // Allowed for gateways that verify out of band: the deal is verified, not connected without.
    if (ruling === STAKES_MARKED) return HANDLING.verify;
    if (ruling.verdictIndex === VERDICT.ALLOW) return HANDLING.connect;
    if (ruling.verdictIndex === VERDICT.BLOCK) return HANDLING.refuse;
    return isReviewRequired(ruling, rules) ? HANDLING.review : HANDLING.verify;
  };
}

interface Plan {
  readonly asked: BacktestMoneyQuestion;
  readonly plan: BacktestMoneyPlan;
  readonly tally: MoneyTally;
  readonly handle: (each: BacktestCase) => Handling;
}

/** One policy with one number of its stakes replaced. */
interface CurveStep {
  readonly member: BacktestMoneyCurve["member"];
  readonly value: number;
  readonly tally: MoneyTally;
  readonly handle: (each: BacktestCase) => Handling;
}

export class BacktestMoney {
  readonly #plans: readonly Plan[];
  readonly #steps: readonly CurveStep[];
  readonly #inForce: Readonly<Record<BacktestMoneyCurve["member"], number>>;

  /** Costs are counted by the given policy's numbers where there is one, else by the live one's. */
  constructor(live: ActivePolicy, given: ActivePolicy | undefined) {
    const counted = given ?? live;
    this.#plans = (["check", "L2", "L3"] as const).flatMap((asked) => {
      const terms = counted.terms[asked === "check" ? "connect" : asked];
      const create = (plan: BacktestMoneyPlan, handle: (each: BacktestCase) => Handling): Plan => ({
        asked,
        plan,
        handle,
        tally: new MoneyTally(terms),
      });
      const byPolicy = (active: ActivePolicy) =>
        asked === "check" ? handleConnection(active) : handleVerify(active, asked);
      return [
        create("live", byPolicy(live)),
        ...(given === undefined ? [] : [create("given", byPolicy(given))]),
        create("always_verify", () => HANDLING.verify),
        create("connect_all", () => HANDLING.connect),
      ];
    });
    const terms = counted.terms.connect;
    const reviewCost = terms.reviewCost / terms.unit;
    this.#inForce = {
      tolerated_loss_bps: convertShareToBps(terms.baseToleratedLoss),
      risk_tolerance: terms.riskTolerance / terms.unit,
    };
    const factors = RISK_TOLERANCE_STEPS.map((factor) => factor * reviewCost);
    this.#steps = [
      ...this.#createSteps(counted, "tolerated_loss_bps", TOLERATED_LOSS_STEPS),
      ...this.#createSteps(counted, "risk_tolerance", factors),
    ];
  }

  /** The policy with one number replaced by each of `values` that it could have, and by its own. */
  #createSteps(counted: ActivePolicy, member: CurveStep["member"], values: readonly number[]) {
    const inForce = this.#inForce[member];
    const isInForce = (value: number) => Math.abs(value - inForce) <= SAME_VALUE * inForce;
    return [...values.filter((value) => !isInForce(value)), inForce]
      .toSorted((one, other) => one - other)
      .flatMap((value): CurveStep[] => {
        const stakes: StakesPolicy = { ...counted.policy.stakes, [member]: value };
        const isOwn = value === inForce;
        // A policy that would be refused has no place on the curve.
        if (!isOwn && listStakesFaults(stakes, "").length > 0) return [];
        const varied = isOwn ? counted : { ...counted, terms: resolveStakesTerms(stakes) };
        const tally = new MoneyTally(counted.terms.connect);
        return [{ member, value, tally, handle: handleConnection(varied) }];
      });
  }

  /** Counts one outcome whose stakes were known; the reading is of a check at these stakes. */
  add(each: BacktestCase): void {
    for (const { tally, handle } of this.#plans) tally.add(each, handle(each));
    for (const { tally, handle } of this.#steps) tally.add(each, handle(each));
  }

  buildFindings(): { money: BacktestMoneyRow[]; money_curves: BacktestMoneyCurve[] } {
    const money = this.#plans.map(({ asked, plan, tally }) => ({
      asked,
      plan,
      ...tally.buildRow(),
    }));
    const members = ["tolerated_loss_bps", "risk_tolerance"] as const;
    const curves = members.map((member) => {
      const steps = this.#steps.filter((each) => each.member === member);
      return {
        member,
        in_force: this.#inForce[member],
        points: steps.map(({ value, tally }) => ({ value, ...tally.shares })),
      };
    });
    return { money, money_curves: curves };
  }
}

/** Plans of a policy that cost more than verifying every deal, as sentences. */
export function listMoneyWarnings(money: readonly BacktestMoneyRow[]): string[] {
  return money.flatMap(({ asked, plan, cost }) => {
    if (plan !== "live" && plan !== "given") return [];
    const always = money.find((each) => each.asked === asked && each.plan === "always_verify");
    if (always === undefined || always.deals === 0 || cost <= always.cost) return [];
    const where = asked === "check" ? "check" : `verify at ${asked}`;
    return [
      `by these numbers verifying every deal would cost less than the ${plan} policy does in ` +
        `${where}: ${always.cost} instead of ${cost}`,
    ];
  });
}
