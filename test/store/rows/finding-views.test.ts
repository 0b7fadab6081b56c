// Findings in SQL over a generated market: the ring, the lenient reporter and the harsh ones are at the
// head of their views, repeated times and amounts too; clean markets give none.
import { expect, test } from "vitest";
import { generateMarket, MARKET_NOW_MS } from "../../kaizen/credibility/_market.ts";
import { openFindingRows, readHeads } from "./_finding-rows.ts";

test("a ring, a lenient and two harsh reporters lead their views and are findings", async () => {
  const market = generateMarket({ ring: 8, hasOddAgents: true, seed: 5 });
  const rows = await openFindingRows(market);
  const rings = await rows.ask(`SELECT agent, members, closed_share, inside_failure_rate,
      outside_outcomes, outside_failure_rate FROM rings ORDER BY agent`);
  for (const [, members, closed, inside, outsiders, outside] of rings) {
    expect([Number(members), closed, inside, Number(outsiders)]).toEqual([8, 1, 0, 60]);
    expect(outside).toBeGreaterThan(0.2);
  }
  const heads = await readHeads(rows);
  expect(heads.ring).toEqual(market.ring.toSorted());
  expect(heads.lenient).toContain(market.lenient);
  expect(heads.harsh).toEqual(expect.arrayContaining(market.harsh));
  const found = await rows.ask("SELECT kind, agent FROM findings ORDER BY kind, agent");
  expect(found).toEqual([
    ...market.harsh.toSorted().map((agent) => ["harsh", agent]),
    ["lenient", market.lenient],
    ...market.ring.toSorted().map((agent) => ["ring", agent]),
  ]);
  rows.close();
});

test("a severity is what others say of the same agents against what a reporter says", async () => {
  const market = generateMarket({ outcomes: 1 });
  const tell = (reporter: string, subject: string, good: number, bad: number) =>
    Array.from({ length: good + bad }, (_, i) => ({
      ...market.outcomes[0]!,
      reporter,
      subject,
      outcome: i < bad ? (0 as const) : (1 as const),
    }));
  const outcomes = [
    ...tell("agent://a/1", "agent://s/1", 10, 0),
    ...tell("agent://b/1", "agent://s/1", 5, 5),
    // What an agent says of itself is no part of it.
    ...tell("agent://s/1", "agent://s/1", 9, 0),
  ];
  const rows = await openFindingRows({ ...market, outcomes });
  const found = await rows.ask(`SELECT reporter, CAST(outcomes AS DOUBLE), CAST(failures AS DOUBLE),
      expected_failures, deviation FROM reporter_severity ORDER BY reporter`);
  // A quarter of all outcomes failed; five outcomes of that rate count beforehand.
  const expected = [
    ["agent://a/1", 10, 0, (10 * (5 + 5 * 0.25)) / 15],
    ["agent://b/1", 10, 5, (10 * (0 + 5 * 0.25)) / 15],
  ] as const;
  expect(found).toHaveLength(2);
  for (const [i, [reporter, count, failures, foretold]] of expected.entries()) {
    expect(found[i]!.slice(0, 3)).toEqual([reporter, count, failures]);
    expect(found[i]![3]).toBeCloseTo(foretold, 9);
    const deviation = 2 * (Math.sqrt(failures + 0.375) - Math.sqrt(foretold + 0.375));
    expect(found[i]![4]).toBeCloseTo(deviation, 9);
  }
  rows.close();
});

test("a pair of equal amounts at equal times is a repetition", async () => {
  const market = generateMarket({ outcomes: 2000, seed: 8 });
  const robot = Array.from({ length: 24 }, (_, i) => ({
    ...market.outcomes[0]!,
    reporter: "agent://robot/1",
    subject: "agent://shop-1/s-1",
    outcome: 1 as const,
    stakes: 9.99,
    settledAtMs: MARKET_NOW_MS - i * 3_600_000,
  }));
  const rows = await openFindingRows({ ...market, outcomes: [...market.outcomes, ...robot] });
  const [row] = await rows.ask(`SELECT reporter, CAST(outcomes AS DOUBLE), usual_stakes,
      same_stakes_share, CAST(usual_gap_seconds AS DOUBLE), same_gap_share FROM repeated_reports
    ORDER BY same_stakes_share * same_gap_share DESC LIMIT 1`);
  expect(row).toEqual(["agent://robot/1", 24, 9.99, 1, 3600, 1]);
  expect(await rows.ask("SELECT kind, agent, about FROM findings")).toEqual([
    ["repetition", "agent://robot/1", "agent://shop-1/s-1"],
  ]);
  rows.close();
});

test.each([1, 2, 3])("a clean market gives no finding (seed %i)", async (seed) => {
  const rows = await openFindingRows(generateMarket({ seed, twoWayShare: seed % 2 }));
  expect(await rows.ask("FROM findings")).toEqual([]);
  rows.close();
});
