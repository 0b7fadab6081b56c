// Graph of reporters of a batch, small enough to keep and to draw: who vouched for whom, how much of
// the seeds' mass went along, who is in which cluster. For people; the fold knows nothing of it.
import graphology from "graphology";
import louvainModule from "graphology-communities-louvain";
import type { RandomGenerator } from "../model/bootstrap.ts";
import type { ReportedEdges, PositiveReportGraph } from "./page-rank.ts";
import { decodeAgentKey } from "../../contract/identifiers.ts";

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

/** Reporters of a batch that are kept: seeds, then believed by mass and strangers by reports, by turns. */
const REPORTERS_KEPT_MAX = 5000;
/** Seeds that an overview shows first; more of them take their turns with the believed. */
const OVERVIEW_SEEDS_MAX = 50;
/** Edges between them that are kept: the heaviest. */
const EDGES_KEPT_MAX = 50_000;
/** Edges of an answer for each of its nodes: more hide one another. */
const EDGES_PER_NODE_MAX = 4;
/** Steps from a reporter that an answer around it reaches. */
const STEPS_MAX = 2;

export const REPORTER_KINDS = ["stranger", "believed", "seed"] as const;
export type ReporterKind = (typeof REPORTER_KINDS)[number];

/** What a batch found, by agent number. */
export interface ReporterGraphInputs {
  ids: readonly string[];
  /** Outcomes that each has reported. */
  reports: Uint32Array;
  seeds: ReadonlyMap<number, number>;
  rho: Float64Array;
  /** Share of the seeds' mass; sums to 1. */
  mass: Float64Array;
  /** Cluster of each; 0 for none. */
  clusters: Uint32Array;
  /** Positive reports, bounded by pair. */
  graph: PositiveReportGraph;
  /** Reporters below it are strangers. */
  untrustedBelow: number;
  damping: number;
}

export interface ReporterNode {
  id: string;
  kind: ReporterKind;
  credibility: number;
  mass: number;
  cluster: number;
  reports: number;
}

export interface ReporterEdge {
  /** Numbers of nodes in the list beside it. */
  from: number;
  to: number;
  /** Mass that went along in one step. */
  mass: number;
  /** Successes that were reported, bounded as the pair is. */
  weight: number;
}

export interface ReporterGraph {
  /** Reporters and seeds in the history, kept or not. */
  reporters: number;
  nodes: ReporterNode[];
  /** Heaviest first. */
  edges: ReporterEdge[];
}

const compareEdgesByMass = (a: ReporterEdge, b: ReporterEdge): number =>
  b.mass - a.mass || b.weight - a.weight || a.from - b.from || a.to - b.to;

const selectHeaviestEdges = (edges: readonly ReporterEdge[]): ReporterEdge[] =>
  edges.toSorted(compareEdgesByMass).slice(0, EDGES_KEPT_MAX);

function classifyReporter(
  { seeds, rho, untrustedBelow }: ReporterGraphInputs,
  agent: number,
): ReporterKind {
  if (seeds.has(agent)) return "seed";
  return rho[agent]! < untrustedBelow ? "stranger" : "believed";
}

/** Alternates between two lists, `count` in all. */
function interleaveUpTo<T>(left: readonly T[], right: readonly T[], count: number): T[] {
  const mixed: T[] = [];
  for (let i = 0; mixed.length < count && i < Math.max(left.length, right.length); i++) {
    if (i < left.length) mixed.push(left[i]!);
    if (i < right.length && mixed.length < count) mixed.push(right[i]!);
  }
  return mixed;
}

/** Agents to keep, in the order in which an overview takes them. */
function selectShownAgents(findings: ReporterGraphInputs): { kept: number[]; reporters: number } {
  const { reports, seeds, mass, clusters } = findings;
  const byKind: Record<ReporterKind, number[]> = { stranger: [], believed: [], seed: [] };
  reports.forEach((count, agent) => {
    if (count > 0 || seeds.has(agent)) byKind[classifyReporter(findings, agent)].push(agent);
  });
  const byMass = (a: number, b: number) => mass[b]! - mass[a]! || a - b;
  const isClustered = (agent: number) => (clusters[agent]! > 0 ? 1 : 0);
  const byReports = (a: number, b: number) =>
    isClustered(b) - isClustered(a) || reports[b]! - reports[a]! || a - b;
  const seedsByMass = byKind.seed.toSorted(byMass);
  const first = seedsByMass.slice(0, OVERVIEW_SEEDS_MAX);
  const rest = interleaveUpTo(
    [...seedsByMass.slice(OVERVIEW_SEEDS_MAX), ...byKind.believed.toSorted(byMass)],
    byKind.stranger.toSorted(byReports),
    REPORTERS_KEPT_MAX - first.length,
  );
  const reporters = byKind.seed.length + byKind.believed.length + byKind.stranger.length;
  return { kept: [...first, ...rest], reporters };
}

function collectShownEdges({ graph, mass, damping }: ReporterGraphInputs, kept: readonly number[]) {
  const numbers = new Map(kept.map((agent, i) => [agent, i]));
  let edges: ReporterEdge[] = [];
  kept.forEach((agent, from) => {
    const total = graph.totals[agent]!;
    for (let at = graph.starts[agent]!; at < graph.starts[agent + 1]!; at++) {
      const to = numbers.get(graph.targets[at]!);
      if (to === undefined) continue;
      const weight = graph.weights[at]!;
      edges.push({ from, to, mass: (damping * mass[agent]! * weight) / total, weight });
    }
    // Room for twice as many before the lightest go: sorted now and then, not for every edge.
    if (edges.length > 2 * EDGES_KEPT_MAX) edges = selectHeaviestEdges(edges);
  });
  return selectHeaviestEdges(edges);
}

/** The graph of a batch. */
export function assembleReporterGraph(findings: ReporterGraphInputs): ReporterGraph {
  const { ids, rho, mass, clusters, reports } = findings;
  const { kept, reporters } = selectShownAgents(findings);
  const nodes = kept.map((agent) => ({
    id: decodeAgentKey(ids[agent]!),
    kind: classifyReporter(findings, agent),
    credibility: Math.round(rho[agent]! * 1000) / 1000,
    mass: mass[agent]!,
    cluster: clusters[agent]!,
    reports: reports[agent]!,
  }));
  return { reporters, nodes, edges: collectShownEdges(findings, kept) };
}

/** A node, those next to it and those next to these, heaviest edges first. */
function findNeighborhood({ edges }: ReporterGraph, centre: number, limit: number): number[] {
  const found = new Set([centre]);
  for (let step = 0; step < STEPS_MAX; step++) {
    const reached = new Set(found);
    for (const { from, to } of edges) {
      if (found.size >= limit) break;
      if (reached.has(from)) found.add(to);
      else if (reached.has(to)) found.add(from);
    }
  }
  return [...found];
}

/**
 * Part of the graph to draw: an overview, or around one reporter; at most `limit` nodes, and four edges
 * for each. Undefined when the reporter is not among those kept. Looks at each kept edge three times.
 */
export function selectGraphPart(
  graph: ReporterGraph,
  limit: number,
  around?: string,
): ReporterGraph | undefined {
  const centre = around === undefined ? -1 : graph.nodes.findIndex(({ id }) => id === around);
  if (around !== undefined && centre < 0) return undefined;
  const chosen =
    centre < 0
      ? Array.from({ length: Math.min(limit, graph.nodes.length) }, (_, i) => i)
      : findNeighborhood(graph, centre, limit);
  const numbers = new Map(chosen.map((node, i) => [node, i]));
  const edges: ReporterEdge[] = [];
  for (const edge of graph.edges) {
    if (edges.length >= EDGES_PER_NODE_MAX * limit) break;
    const [from, to] = [numbers.get(edge.from), numbers.get(edge.to)];
    if (from !== undefined && to !== undefined) edges.push({ ...edge, from, to });
  }
  return { reporters: graph.reporters, nodes: chosen.map((i) => graph.nodes[i]!), edges };
}
