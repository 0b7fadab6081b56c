// bench:growth: slopes that are exact where the points lie on a line, plans that follow their formulas,
// and a report of every size.
import fc from "fast-check";
import { expect, test } from "vitest";
import { assertRoom } from "../../bench/growth/history.ts";
import { planOf } from "../../bench/growth/plan.ts";
import { type Point, slopeOf, slopePerTenfold } from "../../bench/growth/slopes.ts";
import { lastLine } from "./_last-line.ts";

test("points on a line give the line", () => {
  const number = fc.integer({ min: -1000, max: 1000 });
  const sizes = fc.uniqueArray(fc.integer({ min: 1, max: 1e6 }), { minLength: 2, maxLength: 6 });
  fc.assert(
    fc.property(number, number, sizes, (base, slope, at) => {
      const found = slopeOf(at.map((size): Point => [size, base + slope * size]));
      expect(found.slope).toBeCloseTo(slope, 6);
      expect(found.base / 1e3).toBeCloseTo(base / 1e3, 3);
      expect(found.r2).toBeCloseTo(1, 6);
    }),
  );
});

test("a power law gives its exponent, a logarithm its cost of a tenfold", () => {
  const sizes = [1000, 10_000, 100_000];
  expect(slopeOf(sizes.map((n): Point => [n, 3 * n ** 1.2])).exponent).toBeCloseTo(1.2, 9);
  const found = slopePerTenfold(sizes.map((n): Point => [n, 50 + 25 * Math.log10(n)]));
  expect(found.slope).toBeCloseTo(25, 9);
  expect(
    slopeOf([
      [1, 0],
      [2, 5],
    ] as const).exponent,
  ).toBeNull();
  expect(() =>
    slopeOf([
      [5, 1],
      [5, 2],
    ] as const),
  ).toThrow("a slope needs two sizes");
});

const demand = { agents: 1e10, requestsPerSecond: 1e6, outcomesPerSecond: 1e5, keptDays: 10 };
const costs = { agentBytes: 214.748_364_8, baseBytes: 4e8, requestUs: 10, outcomeUs: 20 };
const rest = { journalBytes: 300, storeBytes: 100, replayUs: 2 };

test("ten billion agents are bound by memory, a million agents by their requests", () => {
  // 4 GiB at three quarters hold 15,000,000 of these.
  expect(planOf(demand, { ...costs, ...rest })).toMatchObject({
    processes: 667,
    agents_a_process: 14_992_504,
    bound_by: "agents",
    // (1e6 x 10 + 1e5 x 20) us a second, on half of each core.
    cores: 24,
    disk_bytes: 1e5 * 86_400 * 10 * 400,
    replay_seconds_a_process: 1,
  });
  const small = planOf({ ...demand, agents: 1e6 }, { ...costs, ...rest });
  expect(small).toMatchObject({ processes: 3, bound_by: "requests" });
});

test("a history that the disk cannot hold is refused before it is written", () => {
  expect(() => assertRoom(1e15)).toThrow(/need some .* GB, .* has .* GB: fewer --outcomes/);
});

test("bench:growth: every size, slopes and the plan", async () => {
  const report = await lastLine("bench/growth.ts", "--smoke");
  const tables = report["tables"] as { agents: number; bytes_an_agent: number }[];
  expect(tables.map(({ agents }) => agents)).toEqual([1000, 5000]);
  for (const { bytes_an_agent } of tables) expect(bytes_an_agent).toBeLessThan(400);
  const histories = report["histories"] as { outcomes: number; kaizen_seconds: number }[];
  expect(histories.map(({ outcomes }) => outcomes)).toEqual([1000, 3000]);
  for (const { kaizen_seconds } of histories) expect(kaizen_seconds).toBeGreaterThan(0);
  const slopes = report["slopes"] as Record<string, { slope: number; exponent: number }>;
  expect(slopes["journal_bytes"]!.exponent).toBeCloseTo(1, 1);
  expect(slopes["table_bytes"]!.slope).toBeLessThan(400);
  expect(report["plan"]).toMatchObject({ bound_by: "agents" });
});
