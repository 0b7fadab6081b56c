// Rings: all members and none else are found, with and without seeds; none is a believed reporter or
// allowed at L3; honest reporters keep what they have; clean markets raise nothing.
import fc from "fast-check";
import { describe, expect, it, test } from "vitest";
import { RING_BIT } from "../../../src/contract/standings.ts";
import { loadDefaultConfig } from "../../../src/engine/config.ts";
import type { ReportedEdges } from "../../../src/kaizen/credibility/page-rank.ts";
import { findClosedGroups, judgeRings } from "../../../src/kaizen/credibility/rings.ts";
import { parseSeedRules } from "../../../src/kaizen/credibility/seeds.ts";
import {
  computeRingMarks,
  computeStandingBatch,
  createStandingPolicy,
} from "../../../src/kaizen/credibility/standings.ts";
import type { StandingBatch, StandingHistory } from "../../../src/kaizen/credibility/standings.ts";
import { buildHistory, judgeMarket } from "./_judged-market.ts";
import { generateMarket, type Market } from "./_market.ts";

const POLICY = createStandingPolicy(loadDefaultConfig());

const namesOf = ({ ids }: StandingHistory, members: Uint32Array) =>
  [...members].map((member) => ids[member]!).toSorted();

const findRings = ({ edges }: StandingHistory) => judgeRings(edges, findClosedGroups(edges));

/** The batch that the service would write: of rings alone without seeds. */
function computeBatch(market: Market, share: number) {
  const history = buildHistory(market);
  if (share === 0) return computeRingMarks(history);
  return computeStandingBatch(history, parseSeedRules(market.seedRules(share)), POLICY)!;
}

describe.each([0, 0.1, 0.3])("with %d of the buyers' namespaces as seeds", (share) => {
  test.each([
    [5, 60],
    [8, 6],
    [8, 20],
    [12, 60],
  ])(
    "a ring of %i with %i sales each is found, not believed and not allowed",
    (ring, ringSales) => {
      for (const twoWayShare of [0, 0.5]) {
        const market = generateMarket({
          seed: ring,
          ring,
          ringSales,
          hasOddAgents: true,
          twoWayShare,
        });
        const history = buildHistory(market);
        const { standings, rings } = computeBatch(market, share);
        expect(rings.map((members) => namesOf(history, members))).toEqual([market.ring.toSorted()]);
        const written = standings.agents.filter(({ agent }) => market.ring.includes(agent));
        expect(written).toHaveLength(ring);
        for (const { cluster, credibility } of written) {
          expect(cluster & RING_BIT).toBe(RING_BIT);
          expect(credibility).toBe(0);
        }
        expect(new Set(written.map(({ cluster }) => cluster)).size).toBe(1);
        for (const judge of [
          judgeMarket(market, { after: standings }),
          judgeMarket(market, { before: standings }),
        ]) {
          for (const member of market.ring) {
            const { verdict, codes } = judge(member);
            expect(verdict).not.toBe("ALLOW");
            expect(codes[0]).toBe("RING_PATTERN");
          }
        }
      }
    },
  );
});

test("honest reporters are believed as they were without the ring", () => {
  const believed = (ring: number) => {
    const market = generateMarket({ seed: 4, ring, twoWayShare: 0.5 });
    const { standings } = computeBatch(market, 0.1);
    const found = standings.agents.filter(
      ({ agent, credibility }) => credibility > 0.35 && agent.startsWith("agent://buyers-"),
    );
    return found.map(({ agent }) => agent).toSorted();
  };
  const without = believed(0);
  expect(without.length).toBeGreaterThan(200);
  expect(believed(8)).toEqual(without);
});

test("no ring is found in 20 clean markets, one-way and two-way", () => {
  for (let seed = 1; seed <= 20; seed++) {
    const market = generateMarket({ seed, twoWayShare: seed % 2 });
    expect(findRings(buildHistory(market))).toEqual([]);
  }
});

test("a ring keeps its number, and loses its mark when outsiders fare well with it", () => {
  const market = generateMarket({ seed: 2, ring: 6, ringSales: 20 });
  const history = buildHistory(market);
  const { standings } = computeRingMarks(history);
  const written = new Map(standings.agents.map((standing) => [standing.agent, standing]));
  expect(computeRingMarks({ ...history, written }).standings.agents).toEqual([]);
  const made = generateMarket({ seed: 2, ring: 6, ringSales: 20 });
  const mended = {
    ...made,
    outcomes: made.outcomes.map((each) => ({ ...each, outcome: 1 as const })),
  };
  const { standings: after } = computeRingMarks({ ...buildHistory(mended), written });
  expect(after.agents).toHaveLength(6);
  for (const { cluster } of after.agents) expect(cluster).toBe(0);
});

type Report = readonly [reporter: number, subject: number, failed?: boolean];

function edgesOf(agents: number, reports: readonly Report[]): ReportedEdges {
  return {
    agents,
    reporters: reports.map(([reporter]) => reporter),
    subjects: reports.map(([, subject]) => subject),
    failures: reports.map(([, , failed]) => (failed === true ? 1 : 0)),
    count: reports.length,
  };
}

/** Members 0 to 5 praise each other three times; 10 to 59 are customers of theirs. */
function club(outsideFailures: number): Report[] {
  const inside = Array.from({ length: 6 * 6 * 3 }, (_, i): Report => [
    i % 6,
    Math.floor(i / 6) % 6,
  ]);
  const outside = Array.from({ length: 50 }, (_, i): Report => [
    10 + i,
    i % 6,
    i < outsideFailures,
  ]);
  return [...inside.filter(([a, b]) => a !== b), ...outside];
}

describe("a closed group", () => {
  it("is a ring only when it fails outsiders", () => {
    const found = (reports: Report[]) => {
      const edges = edgesOf(2000, reports);
      return judgeRings(edges, findClosedGroups(edges)).map((members) => [...members]);
    };
    expect(findClosedGroups(edgesOf(60, club(0)))).toHaveLength(1);
    expect(found(club(0))).toEqual([]);
    expect(found(club(4))).toEqual([]);
    expect(found(club(22))).toEqual([[0, 1, 2, 3, 4, 5]]);
    // One outsider alone, however often it says so, proves nothing.
    const loud = Array.from({ length: 500 }, (): Report => [10, 0, true]);
    expect(found([...club(0), ...loud])).toEqual([]);
  });

  it("is judged by trusted outsiders where they have said enough", () => {
    const slander = Array.from({ length: 600 }, (_, i): Report => [100 + i, i % 6, true]);
    const edges = edgesOf(2000, [...club(0), ...slander]);
    const groups = findClosedGroups(edges);
    expect(judgeRings(edges, groups)).toHaveLength(1);
    expect(judgeRings(edges, groups, (agent) => agent < 100)).toHaveLength(0);
  });

  it("are not made by strangers of one tenant, who may invent any number of outsiders", () => {
    const told: [reporter: number, subject: number, failure: number, stranger: number][] = [];
    const members = [0, 1, 2, 3, 4];
    for (const a of members) {
      for (const b of members) for (let n = 0; a !== b && n < 10; n++) told.push([a, b, 0, 0]);
      for (let buyer = 10; buyer < 90; buyer++) told.push([buyer, a, buyer % 20 === 0 ? 1 : 0, 0]);
      for (let invented = 100; invented < 150; invented++) {
        told.push([invented, a, 1, 1], [invented, a, 1, 1]);
      }
    }
    for (let n = 0; n < 400; n++) told.push([10 + (n % 80), 200 + (n % 20), n % 20 ? 0 : 1, 0]);
    const column = (at: number) => Uint32Array.from(told, (each) => each[at]!);
    const [reporters, subjects, failures, strangers] = [0, 1, 2, 3].map(column);
    const edges = {
      agents: 300,
      reporters: reporters!,
      subjects: subjects!,
      failures: failures!,
      count: told.length,
    };
    const groups = findClosedGroups(edges);
    expect(groups.map((each) => [...each])).toEqual([members]);
    // The same words of reporters who are somebody would make one.
    expect(judgeRings(edges, groups)).toHaveLength(1);
    expect(judgeRings({ ...edges, strangers: strangers! }, groups)).toEqual([]);
  });

  it("is that of a slow search for pairs within two triangles", () => {
    const report = fc.tuple(fc.nat(13), fc.nat(13)).filter(([a, b]) => a !== b);
    fc.assert(
      fc.property(fc.array(report, { maxLength: 60 }), (pairs) => {
        const reports = pairs.flatMap(([a, b]): Report[] => [
          [a, b],
          [a, b],
          [b, a],
          [b, a],
        ]);
        const found = findClosedGroups(edgesOf(14, reports)).map((members) => [...members]);
        expect(found.toSorted(byFirst)).toEqual(searchSlowly(pairs).toSorted(byFirst));
      }),
      { numRuns: 300 },
    );
  });
});

const byFirst = (a: number[], b: number[]) => a[0]! - b[0]!;

/** Drops loose pairs one by one, then walks what is left. */
function searchSlowly(pairs: readonly (readonly [number, number])[]): number[][] {
  const kept = new Set(pairs.map(([a, b]) => `${Math.min(a, b)} ${Math.max(a, b)}`));
  const has = (a: number, b: number) => kept.has(`${Math.min(a, b)} ${Math.max(a, b)}`);
  const all = Array.from({ length: 14 }, (_, i) => i);
  for (let isChanged = true; isChanged;) {
    isChanged = false;
    for (const pair of kept) {
      const [a, b] = pair.split(" ").map(Number) as [number, number];
      if (all.filter((c) => has(a, c) && has(b, c)).length >= 2) continue;
      kept.delete(pair);
      isChanged = true;
    }
  }
  const groups: number[][] = [];
  for (const first of all) {
    if (groups.some((group) => group.includes(first))) continue;
    const group = [first];
    for (const member of group) {
      for (const other of all) if (has(member, other) && !group.includes(other)) group.push(other);
    }
    if (group.length >= 4) groups.push(group.toSorted((a, b) => a - b));
  }
  return groups;
}

test("believed reporters that mainly praise one another are counted, a two-way market is not", () => {
  const share = (market: Market) =>
    (computeBatch(market, 0.1) as StandingBatch).figures.closed_share;
  const market = generateMarket({ seed: 7 });
  expect(share(market)).toBe(0);
  expect(share(generateMarket({ seed: 7, twoWayShare: 1 }))).toBe(0);
  // A circle in which none praises back is no closed group, and still a circle.
  const first = market.outcomes[0]!;
  const circle = Array.from({ length: 9 * 20 }, (_, i) => ({
    ...first,
    outcome: 1 as const,
    reporter: `agent://circle/${i % 9}`,
    subject: `agent://circle/${(i + 1) % 9}`,
  }));
  const entry = market.outcomes.slice(0, 2000).map((each) => ({
    ...each,
    outcome: 1 as const,
    subject: "agent://circle/0",
  }));
  const outcomes = [...market.outcomes, ...circle, ...entry];
  expect(share({ ...market, outcomes })).toBeGreaterThan(0.9);
});
