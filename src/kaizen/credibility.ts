// Who may be believed: personalised PageRank from agents that the operator has verified, over
// positive outcomes, and clusters of reporters who speak of the same agents (scoring 2.3). A batch
// job over the whole history; its result is written back by the one writer of the agent table.
//
// Trust flows only along honest agents' own reports, so what enters a region of invented agents is
// bounded by the reports honest agents make about it, not by how many were invented.

/** Outcomes as numbers; agents are numbered from 0. */
export interface ReportedEdges {
  agents: number;
  reporters: ArrayLike<number>;
  subjects: ArrayLike<number>;
  /** 1 failed, 0 succeeded. */
  failures: ArrayLike<number>;
  /** How many of them count. */
  count: number;
}

export interface Credibility {
  /** rho of each agent, 0 to 1. */
  rho: Float64Array;
  /** Cluster of each agent, 0 for none. */
  clusters: Uint32Array;
}

export interface CredibilityOptions {
  damping: number;
  iterations: number;
  /** Most mass that one pair can carry, in outcomes. */
  pairCap: number;
  rhoMin: number;
  /** Reporters of at least so many agents can be a cluster. */
  clusterSubjectsMin: number;
  /** Shared part of two reporters' agents from which they are one voice. */
  clusterOverlap: number;
}

export const CREDIBILITY_OPTIONS: CredibilityOptions = {
  damping: 0.85,
  iterations: 15,
  pairCap: 2,
  rhoMin: 0.05,
  clusterSubjectsMin: 3,
  clusterOverlap: 0.8,
};

/** Compressed rows: the targets of each source with their weights. */
interface Graph {
  starts: Uint32Array;
  targets: Uint32Array;
  weights: Float64Array;
}

/** Positive reports summed per pair and bounded: K (1 - exp(-n / K)) as the fold's pair cap. */
function positiveGraph(edges: ReportedEdges, cap: number): Graph {
  const { agents, reporters, subjects, failures, count } = edges;
  const pairs = new Map<number, number>();
  for (let i = 0; i < count; i++) {
    if (failures[i] === 1 || reporters[i] === subjects[i]) continue;
    const key = reporters[i]! * agents + subjects[i]!;
    pairs.set(key, (pairs.get(key) ?? 0) + 1);
  }
  const starts = new Uint32Array(agents + 1);
  for (const key of pairs.keys()) starts[Math.floor(key / agents) + 1]! += 1;
  for (let i = 0; i < agents; i++) starts[i + 1]! += starts[i]!;
  const targets = new Uint32Array(pairs.size);
  const weights = new Float64Array(pairs.size);
  const next = starts.slice();
  for (const [key, n] of pairs) {
    const at = next[Math.floor(key / agents)]!++;
    targets[at] = key % agents;
    weights[at] = cap * (1 - Math.exp(-n / cap));
  }
  return { starts, targets, weights };
}

/** One step: damped mass along the edges, the rest and all dangling mass to the seeds. */
function step(
  graph: Graph,
  mass: Float64Array,
  totals: Float64Array,
  seeds: readonly number[],
  damping: number,
) {
  const next = new Float64Array(mass.length);
  let lost = 0;
  for (let i = 0; i < mass.length; i++) {
    const own = mass[i]!;
    if (own === 0) continue;
    if (totals[i] === 0) {
      lost += own;
      continue;
    }
    lost += own * (1 - damping);
    const share = (damping * own) / totals[i]!;
    for (let at = graph.starts[i]!; at < graph.starts[i + 1]!; at++) {
      next[graph.targets[at]!]! += share * graph.weights[at]!;
    }
  }
  for (const seed of seeds) next[seed]! += lost / seeds.length;
  return next;
}

/** Mass of each agent after `iterations` steps from the seeds; sums to 1. */
export function personalisedPageRank(
  edges: ReportedEdges,
  seeds: readonly number[],
  options: CredibilityOptions,
): Float64Array {
  const graph = positiveGraph(edges, options.pairCap);
  const totals = new Float64Array(edges.agents);
  for (let i = 0; i < edges.agents; i++) {
    for (let at = graph.starts[i]!; at < graph.starts[i + 1]!; at++)
      totals[i]! += graph.weights[at]!;
  }
  let mass = new Float64Array(edges.agents);
  for (const seed of seeds) mass[seed]! += 1 / seeds.length;
  for (let i = 0; i < options.iterations; i++) {
    mass = step(graph, mass, totals, seeds, options.damping);
  }
  return mass;
}

function medianOf(values: number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? 0;
}

/** A cheap order-free mark of a set: two reporters of the same agents have the same least hash. */
function leastHash(members: Iterable<number>, salt: number): number {
  let least = 0xffffffff;
  for (const member of members) {
    const mixed = Math.imul(member ^ salt, 0x9e3779b1) ^ Math.imul(member + salt, 0x85ebca6b);
    least = Math.min(least, (mixed ^ (mixed >>> 15)) >>> 0);
  }
  return least;
}

function overlap(a: ReadonlySet<number>, b: ReadonlySet<number>): number {
  let shared = 0;
  for (const member of a) if (b.has(member)) shared++;
  return shared / (a.size + b.size - shared);
}

const BANDS = [0x1b873593, 0xcc9e2d51, 0x27d4eb2f, 0x165667b1];

/** Reporters who speak of nearly the same agents, found by min-hash bands and then compared. */
export function reporterClusters(edges: ReportedEdges, options: CredibilityOptions): Uint32Array {
  const sets = new Map<number, Set<number>>();
  for (let i = 0; i < edges.count; i++) {
    const reporter = edges.reporters[i]!;
    const known = sets.get(reporter);
    if (known === undefined) sets.set(reporter, new Set([edges.subjects[i]!]));
    else known.add(edges.subjects[i]!);
  }
  const leader = Uint32Array.from({ length: edges.agents }, (_, i) => i);
  const find = (i: number): number => {
    let root = i;
    while (leader[root] !== root) root = leader[root] = leader[leader[root]!]!;
    return root;
  };
  for (const salt of BANDS) {
    const first = new Map<number, number>();
    for (const [reporter, subjects] of sets) {
      if (subjects.size < options.clusterSubjectsMin) continue;
      const mark = leastHash(subjects, salt);
      const other = first.get(mark);
      if (other === undefined) first.set(mark, reporter);
      else if (overlap(subjects, sets.get(other)!) >= options.clusterOverlap) {
        leader[find(reporter)] = find(other);
      }
    }
  }
  const sizes = new Map<number, number>();
  for (const reporter of sets.keys())
    sizes.set(find(reporter), (sizes.get(find(reporter)) ?? 0) + 1);
  return Uint32Array.from(leader, (_, i) => ((sizes.get(find(i)) ?? 0) > 1 ? find(i) + 1 : 0));
}

/**
 * rho = clip(1.25 x / (1 + x), rhoMin, 1) with x the mass over the median of those who have any;
 * undefined without seeds: then nobody's word can be told from another's and all stay equal.
 */
export function credibilityOf(
  edges: ReportedEdges,
  seeds: readonly number[],
  options: CredibilityOptions = CREDIBILITY_OPTIONS,
): Credibility | undefined {
  if (seeds.length === 0) return undefined;
  const mass = personalisedPageRank(edges, seeds, options);
  const middle = medianOf([...mass].filter((x) => x > 0));
  const rho = mass.map((x) => {
    const relative = x / middle;
    return Math.min(1, Math.max(options.rhoMin, (1.25 * relative) / (1 + relative)));
  });
  return { rho, clusters: reporterClusters(edges, options) };
}

/** Stakes below which 95 % of all outcomes lie: the concave weight's upper end (scoring 2.2). */
export function stakesQuantile(stakes: readonly number[]): number {
  const sorted = stakes.toSorted((a, b) => a - b);
  return sorted[Math.floor(0.95 * (sorted.length - 1))] ?? 0;
}
