// Graph of reporters: bounded whatever the history, heaviest first, and true to the batch it shows.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { loadDefaultConfig } from "../../../src/engine/config.ts";
import { selectGraphPart } from "../../../src/kaizen/credibility/reporter-graph.ts";
import type { ReporterGraph } from "../../../src/kaizen/credibility/reporter-graph.ts";
import {
  computeStandingBatch,
  createStandingPolicy,
} from "../../../src/kaizen/credibility/standings.ts";

const POLICY = createStandingPolicy(loadDefaultConfig());
type Report = readonly [by: number, of: number, failed: boolean];

function graphOf(agents: number, reports: readonly Report[], seeds: readonly number[]) {
  const ids = Array.from({ length: agents }, (_, i) => `agent://a/${i}`);
  const history = {
    ids,
    edges: {
      agents,
      reporters: reports.map(([by]) => by),
      subjects: reports.map(([, of]) => of),
      failures: reports.map(([, , failed]) => (failed ? 1 : 0)),
      weights: reports.map(() => 1),
      count: reports.length,
    },
    stakes: reports.map(() => 1),
    keyHolders: new Map<string, string>(),
    written: new Map(),
    stakesHigh: 0,
    isInForce: false,
  };
  const rules = {
    agents: seeds.map((i) => ids[i]!),
    namespaces: [],
    hasKeys: false,
    hasEarliest: false,
  };
  return computeStandingBatch(history, rules, POLICY)!.graph();
}

const nodeOf = ({ nodes }: ReporterGraph, i: number) =>
  nodes.find(({ id }) => id === `agent://a/${i}`);

/** Seed 0 vouches for 1, 1 for 2 and 3; 4, 5 and 6 praise 7, 8 and 9 and one another. */
const MARKET: Report[] = [
  [0, 1, false],
  [1, 2, false],
  [1, 3, true],
  [2, 1, false],
  ...[4, 5, 6].flatMap((by): Report[] => [7, 8, 9].map((of) => [by, of, false])),
  [4, 5, false],
];

describe("the graph of a batch", () => {
  it("shows seeds, believed and strangers with clusters, and who vouched for whom", () => {
    const graph = graphOf(10, MARKET, [0]);
    expect(graph.reporters).toBe(6);
    expect(nodeOf(graph, 0)).toMatchObject({ kind: "seed", credibility: 1, reports: 1 });
    expect(nodeOf(graph, 1)).toMatchObject({ kind: "believed", cluster: 0, reports: 2 });
    expect(nodeOf(graph, 3)).toBeUndefined();
    const ring = [5, 6].map((i) => nodeOf(graph, i)!);
    expect(ring.map(({ kind, mass }) => [kind, mass])).toEqual([
      ["stranger", 0],
      ["stranger", 0],
    ]);
    expect(ring[0]!.cluster).toBeGreaterThan(0);
    expect(ring[0]!.cluster).toBe(ring[1]!.cluster);
    const named = graph.edges.map(({ from, to }) => [graph.nodes[from]!.id, graph.nodes[to]!.id]);
    expect(named).toContainEqual(["agent://a/0", "agent://a/1"]);
    expect(named).toContainEqual(["agent://a/4", "agent://a/5"]);
    // A failure vouches for nobody, and 3 has reported nothing.
    expect(named.flat()).not.toContain("agent://a/3");
  });

  it("around a reporter has its neighbours, and none that the batch does not know", () => {
    const graph = graphOf(10, MARKET, [0]);
    const part = selectGraphPart(graph, 500, "agent://a/4")!;
    expect(part.nodes.map(({ id }) => id)).toEqual(["agent://a/4", "agent://a/5"]);
    expect(selectGraphPart(graph, 500, "agent://a/9")).toBeUndefined();
    expect(selectGraphPart(graph, 1, "agent://a/4")!.nodes).toHaveLength(1);
  });

  it("keeps 5,000 reporters and shows 500 with 2,000 edges of a large history", () => {
    const agents = 8000;
    const reports = Array.from({ length: 60_000 }, (_, i): Report => [
      i % agents,
      (i * 7919 + Math.floor(i / agents)) % agents,
      false,
    ]);
    const graph = graphOf(agents, reports, [0, 1, 2]);
    expect(graph.reporters).toBe(agents);
    expect(graph.nodes).toHaveLength(5000);
    const part = selectGraphPart(graph, 500)!;
    expect(part.nodes).toHaveLength(500);
    expect(part.edges.length).toBeLessThanOrEqual(2000);
  });

  it("is sound whatever was reported", () => {
    const agent = fc.nat({ max: 11 });
    const list = fc.array(fc.tuple(agent, agent, fc.boolean()), { minLength: 1, maxLength: 60 });
    fc.assert(
      fc.property(list, fc.integer({ min: 1, max: 12 }), agent, (reports, limit, centre) => {
        const graph = graphOf(12, reports, [0, 1]);
        expect(graph.nodes).toHaveLength(graph.reporters);
        const around = graph.nodes[centre % graph.nodes.length]!.id;
        for (const part of [
          selectGraphPart(graph, limit)!,
          selectGraphPart(graph, limit, around)!,
        ]) {
          expect(part.nodes.length).toBeLessThanOrEqual(limit);
          expect(new Set(part.nodes.map(({ id }) => id)).size).toBe(part.nodes.length);
          let last = Infinity;
          for (const { from, to, mass, weight } of part.edges) {
            expect([part.nodes[from], part.nodes[to]]).not.toContain(undefined);
            expect(from).not.toBe(to);
            expect(mass).toBeLessThanOrEqual(last);
            expect(weight).toBeGreaterThan(0);
            last = mass;
          }
        }
        expect(selectGraphPart(graph, limit, around)!.nodes[0]!.id).toBe(around);
      }),
    );
  });
});
