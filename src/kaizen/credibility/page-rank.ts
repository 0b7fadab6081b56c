// Reporter credibility by personalised PageRank from operator-named seeds over positive outcomes,
// and clusters of reporters that report on the same agents (scoring 2.3). A batch job over the
// whole history; the one writer of the agent table applies its result.
//
// Trust flows only along honest agents' own reports, so the mass that enters a region of invented
// agents is bounded by the reports honest agents make about it, not by the number of invented
// agents.
/** Outcomes as numbers. */
export interface ReportedEdges {
  agents: number;
  reporters: ArrayLike<number>;
  subjects: ArrayLike<number>;
  /** 1 failed, 0 succeeded. */
  failures: ArrayLike<number>;
  /** Evidence weight of each before credibility, 0 to 1; all 1 by default. */
  weights?: ArrayLike<number>;
  /** 1 where a tenant that nobody vouches for reported; none by default. */
  strangers?: ArrayLike<number>;
  /** Number of valid entries. */
  count: number;
}

/** Compressed rows: the targets of each source with their weights. */
export interface PositiveReportGraph {
  starts: Uint32Array;
  targets: Uint32Array;
  weights: Float64Array;
  /** Sum of the weights of each source. */
  totals: Float64Array;
}

/** Outcomes of each reporter: numbers `order[starts[r]]` to `order[starts[r + 1] - 1]`. */
export interface OutcomesByReporter {
  starts: Uint32Array;
  order: Uint32Array;
}

/** Sorts outcomes by reporter; stable. */
export function groupOutcomesByReporter({
  agents,
  reporters,
  count,
}: ReportedEdges): OutcomesByReporter {
  const starts = new Uint32Array(agents + 1);
  for (let i = 0; i < count; i++) starts[reporters[i]! + 1]! += 1;
  for (let i = 0; i < agents; i++) starts[i + 1]! += starts[i]!;
  const next = starts.slice();
  const order = new Uint32Array(count);
  for (let i = 0; i < count; i++) order[next[reporters[i]!]!++] = i;
  return { starts, order };
}

/** Distinct subjects of a reporter, ascending. */
export function listDistinctSubjects(
  { subjects }: ReportedEdges,
  { starts, order }: OutcomesByReporter,
  reporter: number,
): Uint32Array {
  const all = new Uint32Array(starts[reporter + 1]! - starts[reporter]!);
  for (let i = 0; i < all.length; i++) all[i] = subjects[order[starts[reporter]! + i]!]!;
  all.sort();
  let kept = 0;
  for (const subject of all) if (kept === 0 || all[kept - 1] !== subject) all[kept++] = subject;
  return all.subarray(0, kept);
}

/**
 * Positive reports summed per pair and bounded: K (1 - exp(-n / K)) as the fold's pair cap.
 * @param excluded 1 for agents whose praise by others is left out.
 */
export function buildPositiveReportGraph(
  edges: ReportedEdges,
  cap: number,
  excluded?: Uint8Array,
): PositiveReportGraph {
  const { agents, subjects, failures, weights: own } = edges;
  const rows = groupOutcomesByReporter(edges);
  const starts = new Uint32Array(agents + 1);
  const targets = new Uint32Array(edges.count);
  const weights = new Float64Array(edges.count);
  const totals = new Float64Array(agents);
  const mass = new Float64Array(agents);
  let end = 0;
  for (let reporter = 0; reporter < agents; reporter++) {
    starts[reporter] = end;
    for (let at = rows.starts[reporter]!; at < rows.starts[reporter + 1]!; at++) {
      const i = rows.order[at]!;
      const subject = subjects[i]!;
      const weight = own === undefined ? 1 : own[i]!;
      if (failures[i] === 1 || subject === reporter || weight === 0) continue;
      if (excluded?.[subject] === 1) continue;
      if (mass[subject] === 0) targets[end++] = subject;
      mass[subject]! += weight;
    }
    for (let at = starts[reporter]!; at < end; at++) {
      const subject = targets[at]!;
      weights[at] = cap * (1 - Math.exp(-mass[subject]! / cap));
      totals[reporter]! += weights[at]!;
      mass[subject] = 0;
    }
  }
  starts[agents] = end;
  return { starts, targets: targets.subarray(0, end), weights: weights.subarray(0, end), totals };
}

export interface CredibilityScores {
  /** rho of each agent, 0 to 1. */
  rho: Float64Array;
  /** Cluster of each agent, 0 for none. */
  clusters: Uint32Array;
  /** Mass of each agent; sums to 1. */
  mass: Float64Array;
  /** Positive reports along which it went. */
  graph: PositiveReportGraph;
}

/** Agents where mass starts, with their shares; shares sum to 1. */
export type SeedShares = ReadonlyMap<number, number>;

export interface CredibilityParameters {
  damping: number;
  iterations: number;
  /** Largest mass of one pair, in outcomes. */
  pairCap: number;
  /** Credibility of an unknown reporter. */
  rhoMin: number;
  /** Agents with less than a middling mass hold this share of all mass beyond the seeds. */
  middlingShare: number;
  /** Share of a middling mass that makes x = 1. */
  ordinaryPart: number;
  /** Least number of subjects of a reporter in a cluster. */
  clusterSubjectsMin: number;
  /** Shared part of two reporters' subjects from which they form a cluster. */
  clusterOverlap: number;
}

export const DEFAULT_CREDIBILITY_PARAMETERS: CredibilityParameters = {
  damping: 0.85,
  iterations: 15,
  pairCap: 2,
  rhoMin: 0.3,
  middlingShare: 0.25,
  ordinaryPart: 0.05,
  clusterSubjectsMin: 3,
  clusterOverlap: 0.8,
};

/** One step: damped mass along the edges, the rest and all dangling mass to the seeds. */
function spreadMassOnce(
  graph: PositiveReportGraph,
  mass: Float64Array,
  seeds: SeedShares,
  damping: number,
) {
  const { starts, targets, weights, totals } = graph;
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
    for (let at = starts[i]!; at < starts[i + 1]!; at++) {
      next[targets[at]!]! += share * weights[at]!;
    }
  }
  for (const [seed, share] of seeds) next[seed]! += lost * share;
  return next;
}

/** Mass of each agent after `iterations` steps from the seeds; sums to 1. */
export function computePersonalisedPageRank(
  edges: ReportedEdges,
  seeds: SeedShares,
  options: CredibilityParameters,
): Float64Array {
  return spreadMassFromSeeds(buildPositiveReportGraph(edges, options.pairCap), seeds, options);
}

function spreadMassFromSeeds(
  graph: PositiveReportGraph,
  seeds: SeedShares,
  options: CredibilityParameters,
): Float64Array {
  let mass = new Float64Array(graph.totals.length);
  for (const [seed, share] of seeds) mass[seed]! += share;
  for (let i = 0; i < options.iterations; i++)
    mass = spreadMassOnce(graph, mass, seeds, options.damping);
  return mass;
}

/**
 * The mass of a middling agent: those with less hold `share` of all mass beyond the seeds. Counted
 * in mass, not in agents: inventing poor agents could pull down a median over agents, and raise the
 * standing of all others with it.
 */
function computeMassQuantile(mass: Float64Array, seeds: SeedShares, share: number): number {
  const others = mass.filter((x, i) => x > 0 && !seeds.has(i)).toSorted();
  const total = others.reduce((sum, x) => sum + x, 0);
  let below = 0;
  for (const x of others) {
    below += x;
    if (below >= share * total) return x;
  }
  return 0;
}

/** Order-independent minimum hash of a set: reporters of the same agents have the same one. */
function computeMinHash(members: Uint32Array, salt: number): number {
  let least = 0xffffffff;
  for (const member of members) {
    const mixed = Math.imul(member ^ salt, 0x9e3779b1) ^ Math.imul(member + salt, 0x85ebca6b);
    least = Math.min(least, (mixed ^ (mixed >>> 15)) >>> 0);
  }
  return least;
}

/** Shared part of two sorted sets, 0 to 1. */
function computeJaccardIndex(a: Uint32Array, b: Uint32Array): number {
  let shared = 0;
  for (let i = 0, j = 0; i < a.length && j < b.length;) {
    const difference = a[i]! - b[j]!;
    if (difference === 0) shared++;
    if (difference <= 0) i++;
    if (difference >= 0) j++;
  }
  return shared / (a.length + b.length - shared);
}

const MIN_HASH_SALTS = [0x1b873593, 0xcc9e2d51, 0x27d4eb2f, 0x165667b1];

/**
 * Reporters with nearly the same subjects, found by min-hash bands and then compared. The name of a
 * cluster is its first member + 1, so that it stays the same as the cluster grows.
 */
export function findReporterClusters(
  edges: ReportedEdges,
  options: CredibilityParameters,
): Uint32Array {
  const rows = groupOutcomesByReporter(edges);
  const sets = new Map<number, Uint32Array>();
  for (let reporter = 0; reporter < edges.agents; reporter++) {
    const subjects = listDistinctSubjects(edges, rows, reporter);
    if (subjects.length >= options.clusterSubjectsMin) sets.set(reporter, subjects);
  }
  const leader = Uint32Array.from({ length: edges.agents }, (_, i) => i);
  const find = (i: number): number => {
    let root = i;
    while (leader[root] !== root) root = leader[root] = leader[leader[root]!]!;
    return root;
  };
  for (const salt of MIN_HASH_SALTS) {
    const first = new Map<number, number>();
    for (const [reporter, subjects] of sets) {
      const mark = computeMinHash(subjects, salt);
      const other = first.get(mark);
      if (other === undefined) first.set(mark, reporter);
      else if (computeJaccardIndex(subjects, sets.get(other)!) >= options.clusterOverlap) {
        const [a, b] = [find(reporter), find(other)];
        leader[Math.max(a, b)] = Math.min(a, b);
      }
    }
  }
  const sizes = new Uint32Array(edges.agents);
  for (const reporter of sets.keys()) sizes[find(reporter)]! += 1;
  return Uint32Array.from(leader, (_, i) => (sizes[find(i)]! > 1 ? find(i) + 1 : 0));
}

/**
 * rho = clip(1.25 x / (1 + x), rhoMin, 1) with x the mass over that of an ordinary agent. Undefined
 * without seeds: reporters are then indistinguishable and all stay equal.
 * @param excluded 1 for agents that praise makes no believed reporters, as members of a ring.
 */
export function computeCredibility(
  edges: ReportedEdges,
  seeds: SeedShares,
  options: CredibilityParameters = DEFAULT_CREDIBILITY_PARAMETERS,
  excluded?: Uint8Array,
): CredibilityScores | undefined {
  if (seeds.size === 0) return undefined;
  const graph = buildPositiveReportGraph(edges, options.pairCap, excluded);
  const mass = spreadMassFromSeeds(graph, seeds, options);
  const ordinary = options.ordinaryPart * computeMassQuantile(mass, seeds, options.middlingShare);
  const rho = mass.map((own, i) => {
    if (own === 0) return options.rhoMin;
    // A seed is believed, however little mass comes back to it.
    if (seeds.has(i) || ordinary === 0) return 1;
    const x = own / ordinary;
    return Math.min(1, Math.max(options.rhoMin, (1.25 * x) / (1 + x)));
  });
  return { rho, clusters: findReporterClusters(edges, options), mass, graph };
}
