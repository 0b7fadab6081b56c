// Credibility: mass is kept, invented regions stay poor however large, one voice is known as one.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  CREDIBILITY_OPTIONS,
  credibilityOf,
  personalisedPageRank,
  reporterClusters,
  stakesQuantile,
} from "../../src/kaizen/credibility.ts";
import type { ReportedEdges } from "../../src/kaizen/credibility.ts";

type Edge = readonly [reporter: number, subject: number, failure?: 0 | 1];

function edgesOf(agents: number, list: readonly Edge[]): ReportedEdges {
  return {
    agents,
    reporters: list.map(([reporter]) => reporter),
    subjects: list.map(([, subject]) => subject),
    failures: list.map(([, , failure]) => failure ?? 0),
    count: list.length,
  };
}

/** A ring of ten honest agents, 0 the seed, and `sybils` that praise one another and agent 10. */
function attacked(sybils: number): ReportedEdges {
  const honest = Array.from({ length: 10 }, (_, i): Edge[] => [
    [i, (i + 1) % 10],
    [i, (i + 3) % 10],
  ]).flat();
  const invented = Array.from({ length: sybils }, (_, i): Edge[] => [
    [11 + i, 10],
    [11 + i, 11 + ((i + 1) % sybils)],
  ]).flat();
  return edgesOf(11 + sybils, [...honest, ...invented]);
}

describe("personalised PageRank", () => {
  it("keeps all mass, whatever the graph", () => {
    const edge = fc.tuple(fc.nat(19), fc.nat(19), fc.constantFrom<0 | 1>(0, 1));
    fc.assert(
      fc.property(fc.array(edge, { maxLength: 80 }), fc.nat(19), (list, seed) => {
        const mass = personalisedPageRank(edgesOf(20, list), [seed], CREDIBILITY_OPTIONS);
        expect(mass.reduce((sum, x) => sum + x, 0)).toBeCloseTo(1, 9);
        expect(mass.every((x) => x >= 0)).toBe(true);
      }),
    );
  });

  it("gives an invented region nothing, and little through one honest mistake", () => {
    for (const sybils of [20, 200]) {
      const base = attacked(sybils);
      const found = credibilityOf(base, [0])!;
      for (let i = 10; i < base.agents; i++) expect(found.rho[i]).toBe(0.05);
      const count = base.count + 1;
      const tricked = {
        ...base,
        reporters: [...Array.from(base.reporters), 5],
        subjects: [...Array.from(base.subjects), 11],
        failures: [...Array.from(base.failures), 0],
        count,
      };
      const mass = personalisedPageRank(tricked, [0], CREDIBILITY_OPTIONS);
      const region = mass.slice(10).reduce((sum, x) => sum + x, 0);
      // What enters is what one honest agent gives away, not what the region claims.
      expect(region).toBeLessThan(0.25);
    }
  });

  it("counts no failure and no self-praise as trust", () => {
    const edges = edgesOf(3, [
      [0, 1, 1],
      [2, 2],
    ]);
    expect([...personalisedPageRank(edges, [0], CREDIBILITY_OPTIONS)]).toEqual([1, 0, 0]);
  });
});

describe("credibility", () => {
  it("says nothing without seeds", () => {
    expect(credibilityOf(attacked(20), [])).toBeUndefined();
  });

  it("knows reporters of the same agents as one voice, others not", () => {
    const list: Edge[] = [];
    for (const reporter of [0, 1, 2]) for (const s of [10, 11, 12, 13]) list.push([reporter, s]);
    for (const s of [10, 14, 15, 16]) list.push([3, s]);
    const clusters = reporterClusters(edgesOf(20, list), CREDIBILITY_OPTIONS);
    expect(clusters[0]).toBeGreaterThan(0);
    expect(clusters[1]).toBe(clusters[0]);
    expect(clusters[2]).toBe(clusters[0]);
    expect(clusters[3]).toBe(0);
  });

  it("takes the 95th percentile of the stakes", () => {
    expect(stakesQuantile(Array.from({ length: 101 }, (_, i) => 100 - i))).toBe(95);
    expect(stakesQuantile([])).toBe(0);
  });
});
