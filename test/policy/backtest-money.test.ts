// The money of a back-test against sums made by hand: every way to handle a deal, good and bad; another
// unit; curves that have the number in force on them; and the sentence about verifying every deal.
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { DEFAULT_POLICY } from "../../src/contract/policy.ts";
import type { BacktestMoneyRow } from "../../src/contract/schemas/backtest.ts";
import type { StakesPolicy } from "../../src/contract/stakes-policy.ts";
import { createActivePolicy } from "../../src/policy/active-policy.ts";
import type { ActivePolicy } from "../../src/policy/active-policy.ts";
import { BacktestMoney, listMoneyWarnings } from "../../src/policy/backtest-money.ts";
import { createCase, createPolicyWithStakes, type Deal, DEALS } from "./_deals.ts";

const SHIPPED = createActivePolicy(DEFAULT_POLICY);

function countMoney(deals: readonly Deal[], live = SHIPPED, given?: ActivePolicy) {
  const money = new BacktestMoney(live, given);
  for (const deal of deals) money.add(createCase(deal));
  return money.buildFindings();
}

function findRow(money: readonly BacktestMoneyRow[], asked: string, plan: string) {
  return money.find((each) => each.asked === asked && each.plan === plan)!;
}

describe("the money of a back-test", () => {
  it("is what was lost, what good deals paid in friction, and the fees", () => {
    const { money } = countMoney(DEALS);
    const sums = {
      deals: 8,
      volume: 2800,
      // Verifying misses a fifth of the failures, a person a twentieth, who refuses none.
      lost: 100 + 0.2 * 100 + 0.05 * 1000,
      friction: 0.02 * 100 + 0.05 * 1000 + 0.05 * 200,
      review: 2 * 0.5 + 2 * 5,
      cost: 243,
      good_connected: 1 / 4,
      good_held: 2 / 4,
      bad_money_connected: 100 / 1400,
      cost_share: expect.closeTo(243 / 2800, 12) as number,
    };
    for (const asked of ["check", "L2", "L3"]) {
      expect(findRow(money, asked, "live")).toEqual({ asked, plan: "live", ...sums });
      expect(findRow(money, asked, "always_verify")).toMatchObject({
        lost: 280,
        friction: 28,
        review: 4,
        cost: 312,
        good_connected: 0,
        good_held: 0,
      });
      expect(findRow(money, asked, "connect_all")).toMatchObject({
        lost: 1400,
        friction: 0,
        review: 0,
        cost: 1400,
        bad_money_connected: 1,
      });
    }
    expect(money.map(({ plan }) => plan)).not.toContain("given");
  });

  it("is counted by the given policy's numbers for both policies, each at its level's share", () => {
    const given = createPolicyWithStakes({
      review_cost: 10,
      levels: { L3: { loss_share: 2 } },
    });
    const { money } = countMoney(DEALS, SHIPPED, given);
    // The live policy decides as before; verifying costs 1 and a person 10.
    const live = { lost: 170, friction: 62, review: 2 * 1 + 2 * 10 };
    expect(findRow(money, "check", "live")).toMatchObject(live);
    expect(findRow(money, "L3", "live")).toMatchObject({ ...live, lost: 340 });
    expect(findRow(money, "L3", "connect_all").lost).toBe(2800);
    expect(findRow(money, "check", "given").deals).toBe(8);
  });

  it("counts a deal that is allowed and marked as verified", () => {
    const marked = createPolicyWithStakes({ on_verification: "allow_marked" });
    const row = findRow(countMoney(DEALS, marked).money, "L2", "live");
    expect(row).toEqual(findRow(countMoney(DEALS).money, "L2", "live"));
  });

  it("has other amounts in another unit, and the same shares", () => {
    // Amounts of the policy are in hundreds: the decisions are those of the shipped numbers.
    const inHundreds = createPolicyWithStakes({ unit: 100, review_cost: 0.05 });
    const one = countMoney(DEALS).money;
    const other = countMoney(DEALS, inHundreds).money;
    for (const [at, { volume, lost, friction, review, cost, ...rest }] of one.entries()) {
      const expected = { volume, lost, friction, review, cost };
      for (const [name, amount] of Object.entries(expected)) {
        expect(other[at]![name as keyof typeof expected]).toBeCloseTo(amount / 100, 2);
      }
      expect(other[at]).toMatchObject(rest);
    }
  });

  it("of any deals is between nothing and all of them lost, and adds up", () => {
    const deal = fc.record({
      risk: fc.double({ min: 1e-6, max: 0.999, noNaN: true }),
      stakes: fc.integer({ min: 1, max: 100_000 }),
      isBad: fc.boolean(),
      isRefused: fc.boolean(),
    });
    fc.assert(
      fc.property(fc.array(deal, { minLength: 1, maxLength: 20 }), (deals) => {
        const { money } = countMoney(deals);
        const sum = (isBad: boolean) =>
          deals.reduce((all, each) => all + (each.isBad === isBad ? each.stakes : 0), 0);
        const [good, bad] = [sum(false), sum(true)];
        for (const row of money) {
          expect(row.volume).toBe(good + bad);
          expect(row.cost).toBeCloseTo(row.lost + row.friction + row.review, 1);
          expect(row.lost).toBeLessThanOrEqual(bad);
          expect(row.friction).toBeLessThanOrEqual(0.05 * good + 0.01);
          expect(row.review).toBeLessThanOrEqual(5 * deals.length);
        }
        const always = findRow(money, "check", "always_verify");
        expect(always.cost).toBeCloseTo(0.2 * bad + 0.02 * good + 0.5 * deals.length, 1);
      }),
    );
  });
});

describe("the curves of a back-test", () => {
  const listValues = (stakes: StakesPolicy, member: string) => {
    const { money, money_curves: curves } = countMoney(DEALS, createPolicyWithStakes(stakes));
    const { in_force: inForce, points } = curves.find((each) => each.member === member)!;
    const point = points.find(({ value }) => value === inForce)!;
    return { inForce, values: points.map(({ value }) => value), point, money };
  };

  it("have the number in force as one step, with the shares of check under the policy", () => {
    for (const [stakes, member, value] of [
      [{}, "tolerated_loss_bps", 250],
      [{ tolerated_loss_bps: 175 }, "tolerated_loss_bps", 175],
      [{}, "risk_tolerance", 5000],
      [{ review_cost: 3, unit: 0.1 }, "risk_tolerance", 3000],
      [{ review_cost: 3, risk_tolerance: 7000 }, "risk_tolerance", 7000],
    ] as const) {
      const { inForce, values, point, money } = listValues(stakes, member);
      expect(inForce).toBeCloseTo(value, 9);
      expect(values).toEqual(values.toSorted((one, other) => one - other));
      expect(values.filter((each) => Math.abs(each - value) < 1e-6)).toHaveLength(1);
      const { good_connected, good_held, bad_money_connected, cost_share } = findRow(
        money,
        "check",
        "live",
      );
      const { value: _, ...shares } = point;
      expect(shares).toEqual({ good_connected, good_held, bad_money_connected, cost_share });
    }
  });

  it("connect more where more loss is tolerated", () => {
    const moderate = { risk: 0.02, stakes: 100, isBad: false };
    const { money_curves: curves } = countMoney([...DEALS, moderate]);
    const { points } = curves.find(({ member }) => member === "tolerated_loss_bps")!;
    const connected = points.map((each) => each.good_connected!);
    expect(connected).toEqual(connected.toSorted((one, other) => one - other));
    expect(connected[0]).toBeLessThan(connected.at(-1)!);
  });

  it("leave out what the policy could not be set to", () => {
    // A person's look would cost good deals less than verifying does.
    const { values } = listValues({ review_friction: 0.05 }, "tolerated_loss_bps");
    expect(values.at(-1)).toBe(500);
    expect(listValues({}, "tolerated_loss_bps").values.at(-1)).toBe(1000);
  });
});

describe("warnings about money", () => {
  const none = countMoney([]).money;
  const withCosts = (costs: Readonly<Record<string, number>>) =>
    countMoney(DEALS).money.map((row) => ({ ...row, cost: costs[row.plan] ?? row.cost }));

  it("name the policy and the question where verifying every deal costs less", () => {
    expect(listMoneyWarnings(withCosts({ live: 500 }))).toEqual(
      ["check", "verify at L2", "verify at L3"].map(
        (where) =>
          "by these numbers verifying every deal would cost less than the live policy does in " +
          `${where}: 312 instead of 500`,
      ),
    );
  });

  it("are none where the policy costs no more, whatever connecting all costs, and without deals", () => {
    expect(listMoneyWarnings(withCosts({ live: 312, connect_all: 5000 }))).toEqual([]);
    expect(listMoneyWarnings(none)).toEqual([]);
  });
});
