// Communities of agents in the graph of reports (Louvain): who deals with whom, whatever was said.
// A ring that serves the same few agents, or itself, is one of them or a part of one.
import graphology from "graphology";
import louvainModule from "graphology-communities-louvain";
import type { RandomGenerator } from "../model/random.ts";
import type { ReportedEdges } from "./report-graph.ts";

type LouvainGraph = InstanceType<typeof graphology.UndirectedGraph<object, { weight: number }>>;

/** The package is its function; its types say that the function is a member. */
const louvain = louvainModule as unknown as (
  graph: LouvainGraph,
  options: { getEdgeWeight: "weight"; rng: () => number },
) => Record<string, number>;

/**
 * Pairs of agents that are looked at, the newest: bounds time and memory (some 400 bytes a pair).
 */
const PAIRS_MAX = 100_000;
/** Reports of one pair beyond which no more count: a pair is no community. */
const PAIR_REPORTS_MAX = 3;

/**
 * Community of each agent, numbered from 1; 0 for agents without a report among the newest pairs.
 * The same edges and the same chance give the same communities.
 */
export function detectCommunities(
  edges: Omit<ReportedEdges, "failures">,
  random: RandomGenerator,
): Uint32Array {
  const { agents, reporters, subjects, count } = edges;
  const counts = new Map<number, number>();
  for (let i = count - 1; i >= 0 && counts.size < PAIRS_MAX; i--) {
    const [a, b] = [reporters[i]!, subjects[i]!];
    if (a === b) continue;
    const pair = Math.min(a, b) * agents + Math.max(a, b);
    counts.set(pair, (counts.get(pair) ?? 0) + 1);
  }
  const found = new Uint32Array(agents);
  if (counts.size === 0) return found;
  const graph: LouvainGraph = new graphology.UndirectedGraph();
  for (const [pair, reports] of counts) {
    const [a, b] = [Math.floor(pair / agents), pair % agents];
    const weight = Math.min(PAIR_REPORTS_MAX, reports);
    graph.mergeEdgeWithKey(String(pair), a, b, { weight });
  }
  const communities = louvain(graph, { getEdgeWeight: "weight", rng: () => random.uniform() });
  for (const [agent, community] of Object.entries(communities)) {
    found[Number(agent)] = community + 1;
  }
  return found;
}
