// The simulation of money: what a decision costs, whose stakes are drawn, who is established, and the whole on a
// small market.
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { drawStakes } from "../../bench/drawn-stakes.ts";
import { flagEstablished } from "../../bench/established.ts";
import type { RatedOutcome } from "../../bench/ratings.ts";
import { computeMedians, StakesTally } from "../../bench/stakes-tally.ts";
import type { StakesFigures } from "../../bench/stakes-tally.ts";
import { DECISION } from "../../src/contract/vocabulary.ts";
import { createSeededRandom } from "../../src/kaizen/model/bootstrap.ts";
import { lastLine } from "./_last-line.ts";

const DAY_MS = 86_400_000;
const { connect, connect_with_verification: verify, escalate, refuse } = DECISION;

function tally(...deals: [decision: number, stakes: number, isBad: boolean][]): StakesFigures {
  const counts = new StakesTally();
  for (const [decision, stakes, isBad] of deals) {
    counts.add({ decision, stakes, isBad, isEstablished: !isBad });
  }
  return counts.buildFigures();
}

test("a deal costs what a failure loses and what a look at a good one takes", () => {
  expect(tally([connect, 100, true]).cost).toEqual({ cheap: 100, typical: 100, dear: 100 });
  expect(tally([connect, 100, false]).cost).toEqual({ cheap: 0, typical: 0, dear: 0 });
  const close = (cost: StakesFigures["cost"], ...percents: [number, number, number]) => {
    const [cheap, typical, dear] = percents.map((each) => expect.closeTo(each, 9));
    expect(cost).toEqual({ cheap, typical, dear });
  };
  close(tally([verify, 100, false]).cost, 0.15, 2.5, 5);
  close(tally([verify, 100, true]).cost, 20, 20, 20);
  close(tally([escalate, 100, false]).cost, 7, 13, 23);
  close(tally([escalate, 100, true]).cost, 5, 5, 5);
  close(tally([escalate, 100, true]).with_all_fees.cost, 10, 13, 20);
  close(tally([refuse, 100, true]).with_all_fees.cost, 0, 0, 0);
  close(tally([refuse, 100, false]).cost, 2, 5, 8);
  // Always verifying is the same whatever was decided.
  close(tally([connect, 100, true], [refuse, 100, false]).always_verify, 10.075, 11.25, 12.5);
});

test("shares are those of good, bad and established deals, by number and by volume", () => {
  const figures = tally(
    [connect, 10, false],
    [escalate, 10, false],
    [connect, 100, true],
    [verify, 300, true],
  );
  expect(figures).toMatchObject({
    good_connect: 0.5,
    established_connect: 0.5,
    bad_connect: 0.5,
    bad_money: 0.25,
    good_held: 0.5,
  });
  expect(figures.bands).toMatchObject({
    "to 20": { deals: 0.5, good_connect: 0.5 },
    "to 100": { deals: 0.25, bad_connect: 1 },
    "to 500": { deals: 0.25, bad_connect: 0 },
    above: { deals: 0 },
  });
});

test("medians leave out draws without a figure", () => {
  const runs = [{ a: { b: 1 } }, { a: { b: Number.NaN } }, { a: { b: 3 } }, { a: { b: 8 } }];
  expect(computeMedians(runs)).toEqual({ a: { b: 3 } });
  expect(computeMedians([{ b: 1 }, { b: 2 }])).toEqual({ b: 1.5 });
  expect(computeMedians([{ b: Number.NaN }])).toEqual({ b: null });
});

/** Deals of `agents` agents in turn; one in five fails. */
function buildDeals(count: number, agents: number): RatedOutcome[] {
  return Array.from({ length: count }, (_, i) => ({
    subject: `agent://a/${i % agents}`,
    reporter: `agent://r/${i}`,
    failure: i % 5 === 0 ? 1 : 0,
    stakes: 1,
    timeMs: i * DAY_MS,
  }));
}

test("stakes have a median of 148, a level for each agent, and do not know the outcome", () => {
  const deals = buildDeals(20_000, 997);
  const drawn = drawStakes(deals, 3, 1);
  expect(drawStakes(deals, 3, 1)).toEqual(drawn);
  expect(drawStakes(deals, 4, 1)).not.toEqual(drawn);
  const logs = drawn.map(({ stakes }) => Math.log(stakes)).toSorted((a, b) => a - b);
  expect(Math.exp(logs[10_000]!)).toBeGreaterThan(130);
  expect(Math.exp(logs[10_000]!)).toBeLessThan(170);
  expect([Math.exp(logs[0]!), Math.exp(logs.at(-1)!)]).toEqual([
    expect.closeTo(5, 9),
    expect.closeTo(10_000, 6),
  ]);
  const flipped = deals.map((each): RatedOutcome => ({
    ...each,
    failure: each.failure === 1 ? 0 : 1,
  }));
  expect(drawStakes(flipped, 3, 1).map(({ stakes }) => stakes)).toEqual(
    drawn.map(({ stakes }) => stakes),
  );
  const threefold = drawStakes(deals, 3, 3);
  threefold.forEach(({ stakes, failure }, i) => {
    expect(stakes).toBe(drawn[i]!.stakes * (failure === 1 ? 3 : 1));
  });
  // Deals of one agent are closer to each other than deals of different ones.
  const spread = (step: number) =>
    drawn.slice(step).reduce((sum, { stakes }, i) => {
      return sum + Math.abs(Math.log(stakes / drawn[i]!.stakes));
    }, 0);
  expect(spread(997)).toBeLessThan(0.9 * spread(1));
});

test("established: ten reporters, few failures, heard of within half a year, as far as known", () => {
  const at = (day: number, reporter: number, failure: 0 | 1 = 0): RatedOutcome => {
    const [subject, timeMs] = ["agent://a/s", day * DAY_MS];
    return { subject, reporter: `agent://r/${reporter}`, failure, stakes: 1, timeMs };
  };
  const ten = Array.from({ length: 10 }, (_, i) => at(i, i));
  const last = (outcomes: RatedOutcome[], days = 0) =>
    flagEstablished(outcomes, { days, of: "all" }).at(-1);
  expect(last([...ten, at(10, 1)])).toBe(1);
  expect(last([...ten.slice(1), at(10, 10), at(11, 1)]), "nine reporters and a tenth").toBe(1);
  expect(last([...ten.slice(1), at(11, 1)]), "nine reporters").toBe(0);
  expect(last([...ten, at(10, 1, 1)]), "a failure itself").toBe(0);
  expect(last([...ten, at(10, 1, 1), at(11, 1)]), "one of eleven failed").toBe(0);
  expect(last([...ten, at(189, 1)]), "180 days of silence").toBe(1);
  expect(last([...ten, at(190, 1)]), "181 days").toBe(0);
  expect(last([...ten, at(10, 1)], 7), "three are known after a week").toBe(0);
  expect(last([...ten, at(10, 1, 1), at(17, 1)], 7), "the failure is not known").toBe(1);
});

/** A market of 3,000 hourly deals; every tenth seller fails most of the time. */
function writeMarket(): string {
  const random = createSeededRandom(7);
  const lines = Array.from({ length: 3000 }, (_, i) => {
    const seller = Math.floor(random.uniform() * 60);
    const buyer = 100 + Math.floor(random.uniform() * 200);
    const fails = random.uniform() < (seller % 10 === 0 ? 0.7 : 0.01);
    return `${buyer},${seller},${fails ? -1 : 1},${1_600_000_000 + i * 3600}`;
  });
  const file = join(mkdtempSync(join(tmpdir(), "eval-stakes-")), "market.csv");
  writeFileSync(file, lines.join("\n"));
  return file;
}

test("eval:stakes: good deals connect, money is not lost, L3 is no looser than L2", async () => {
  const report = await lastLine("bench/eval-stakes.ts", "--file", writeMarket(), "--seeds", "2");
  expect(Object.keys(report)).toEqual(["seeds", "lag0", "lag7"]);
  expect(report["seeds"]).toBe(2);
  for (const lag of ["lag0", "lag7"]) {
    const {
      check,
      handshake,
      verify_l2: l2,
      verify_l3: l3,
    } = report[lag] as Record<string, StakesFigures>;
    for (const each of [check!, handshake!, l2!]) {
      expect(each.established_connect, lag).toBeGreaterThan(0.3);
      expect(each.bad_money, lag).toBeLessThan(0.1);
      expect(each.cost.typical, lag).toBeLessThan(each.always_verify.typical);
    }
    expect(l3!.good_connect).toBeLessThanOrEqual(l2!.good_connect);
    expect(l3!.bad_money).toBeLessThanOrEqual(l2!.bad_money);
    expect(l3!.always_verify).toEqual(check!.always_verify);
  }
});
