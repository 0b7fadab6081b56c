// Credibility: mass is kept, invented regions stay poor however large, one voice is known as one.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  DEFAULT_CREDIBILITY_PARAMETERS,
  computeCredibility,
  computePersonalisedPageRank,
  findReporterClusters,
} from "../../../src/kaizen/credibility/page-rank.ts";
import type { SeedShares, ReportedEdges } from "../../../src/kaizen/credibility/page-rank.ts";

type Edge = readonly [reporter: number, subject: number, failure?: 0 | 1, weight?: number];

function edgesOf(agents: number, list: readonly Edge[]): ReportedEdges {
  return {
    agents,
    reporters: list.map(([reporter]) => reporter),
    subjects: list.map(([, subject]) => subject),
    failures: list.map(([, , failure]) => failure ?? 0),
    weights: list.map(([, , , weight]) => weight ?? 1),
    count: list.length,
  };
}

function seedsAt(...agents: number[]): SeedShares {
  return new Map(agents.map((agent) => [agent, 1 / agents.length]));
}

/** A ring of ten honest agents, 0 the seed, and `sybils` that praise one another and agent 10. */
function attack(sybils: number): Edge[] {
  const honest = Array.from({ length: 10 }, (_, i): Edge[] => [
    [i, (i + 1) % 10],
    [i, (i + 3) % 10],
  ]).flat();
  const invented = Array.from({ length: sybils }, (_, i): Edge[] => [
    [11 + i, 10],
    [11 + i, 11 + ((i + 1) % sybils)],
    [11 + i, 11 + ((i * 7 + 5) % sybils)],
  ]).flat();
  return [...honest, ...invented];
}

describe("personalised PageRank", () => {
  it("keeps all mass, whatever the graph", () => {
    const weight = fc.constantFrom(0, 0.3, 1);
    const edge = fc.tuple(fc.nat(19), fc.nat(19), fc.constantFrom<0 | 1>(0, 1), weight);
    fc.assert(
      fc.property(fc.array(edge, { maxLength: 80 }), fc.nat(19), (list, seed) => {
        const mass = computePersonalisedPageRank(
          edgesOf(20, list),
          seedsAt(seed),
          DEFAULT_CREDIBILITY_PARAMETERS,
        );
        expect(mass.reduce((sum, x) => sum + x, 0)).toBeCloseTo(1, 9);
        expect(mass.every((x) => x >= 0)).toBe(true);
      }),
    );
  });

  it("gives an invented region nothing, and little through one honest mistake", () => {
    for (const sybils of [20, 200, 2000]) {
      const list = attack(sybils);
      const agents = 11 + sybils;
      const found = computeCredibility(edgesOf(agents, list), seedsAt(0))!;
      for (let i = 10; i < agents; i++)
        expect(found.rho[i]).toBe(DEFAULT_CREDIBILITY_PARAMETERS.rhoMin);
      const tricked = edgesOf(agents, [...list, [5, 11]]);
      const mass = computePersonalisedPageRank(tricked, seedsAt(0), DEFAULT_CREDIBILITY_PARAMETERS);
      const region = mass.slice(10).reduce((sum, x) => sum + x, 0);
      // What enters is what one honest agent gives away, not what the region claims.
      expect(region).toBeLessThan(0.25);
    }
  });

  it("does not believe a region more the more agents it invents", () => {
    const believed = [50, 500, 5000].map((sybils) => {
      const tricked = edgesOf(11 + sybils, [...attack(sybils), [5, 11]]);
      const { rho } = computeCredibility(tricked, seedsAt(0))!;
      // Honest standing holds: many poor agents do not shift what is ordinary.
      expect(Math.min(...rho.slice(0, 10))).toBeGreaterThan(0.5);
      return rho.slice(10).reduce((sum, x) => sum + x - DEFAULT_CREDIBILITY_PARAMETERS.rhoMin, 0);
    });
    expect(believed[2]! / believed[0]!).toBeLessThan(2);
  });

  it("counts no failure, no self-praise and no worthless report as trust", () => {
    const edges = edgesOf(3, [
      [0, 1, 1],
      [2, 2],
      [0, 2, 0, 0],
    ]);
    const mass = computePersonalisedPageRank(edges, seedsAt(0), DEFAULT_CREDIBILITY_PARAMETERS);
    expect([...mass]).toEqual([1, 0, 0]);
  });

  it("lets a pair carry no more than its cap, however often it reports", () => {
    const often = Array.from({ length: 1000 }, (): Edge => [0, 1]);
    const edges = edgesOf(3, [...often, [0, 2], [0, 2]]);
    const mass = computePersonalisedPageRank(edges, seedsAt(0), DEFAULT_CREDIBILITY_PARAMETERS);
    // Two reports already carry 1 - 1/e of what a thousand do.
    expect(mass[2]! / mass[1]!).toBeCloseTo(1 - Math.exp(-1), 3);
  });
});

describe("credibility", () => {
  it("says nothing without seeds", () => {
    expect(computeCredibility(edgesOf(31, attack(20)), new Map())).toBeUndefined();
  });

  it("believes whom the operator vouches for, though nobody speaks of them", () => {
    const { rho } = computeCredibility(edgesOf(3, [[0, 1]]), seedsAt(0))!;
    expect([...rho]).toEqual([1, expect.any(Number), DEFAULT_CREDIBILITY_PARAMETERS.rhoMin]);
    expect(rho[1]).toBeGreaterThan(0.5);
  });

  it("knows reporters of the same agents as one voice, others not", () => {
    const list: Edge[] = [];
    for (const reporter of [0, 1, 2]) for (const s of [10, 11, 12, 13]) list.push([reporter, s]);
    for (const s of [10, 14, 15, 16]) list.push([3, s]);
    const clusters = findReporterClusters(edgesOf(20, list), DEFAULT_CREDIBILITY_PARAMETERS);
    expect(clusters.slice(0, 4)).toEqual(Uint32Array.of(1, 1, 1, 0));
    // A voice that joins does not rename the others: their cap would start anew.
    for (const s of [10, 11, 12, 13]) list.push([9, s]);
    const grown = findReporterClusters(edgesOf(20, list), DEFAULT_CREDIBILITY_PARAMETERS);
    expect(grown.slice(0, 10)).toEqual(Uint32Array.of(1, 1, 1, 0, 0, 0, 0, 0, 0, 1));
  });
});
