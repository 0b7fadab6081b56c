// Rings: small closed groups of reporters that praise one another repeatedly while outsiders report
// their failures. Found with or without seeds, from pairs of mutual praise.
//
// Mutual praise is no finding by itself: where both sides of a market report, all of them praise one
// another. A group is a ring when its members' failure rate towards outsiders is far above both the
// rate inside and that of the rest of the history.
import {
  computeCredibility,
  groupOutcomesByReporter,
  type CredibilityParameters,
  type CredibilityScores,
  type ReportedEdges,
  type SeedShares,
} from "./page-rank.ts";

/** Successes that each of two agents has reported of the other before they count as mutual. */
const PAIR_PRAISES_MIN = 2;
/** Members of a ring. Smaller ones are seen by the fold, larger ones are a market. */
const RING_MEMBERS_MIN = 4;
const RING_MEMBERS_MAX = 64;
/** Other members that both agents of a pair praise mutually: three triangles make no ring of a star. */
const PAIR_TRIANGLES_MIN = 2;
/** Pairs of mutual praise that are looked at, the most praised first: bounds time and memory. */
const MUTUAL_PAIRS_MAX = 200_000;
/** Outcomes of one sign by one outsider about one member that count. */
const OUTSIDER_REPORTS_MAX = 2;
/** Outcomes by outsiders below which no group is judged. */
const OUTSIDE_REPORTS_MIN = 20;
/** Standard errors between the failure rates outside and inside. */
const CONTRAST_MIN = 4;
/** Times the failure rate inside, and that of the rest of the history. */
const FAILURE_FACTOR_MIN = 2;
/** Share of the members' praise that goes to members. */
const CLOSED_SHARE_MIN = 0.25;

/** Outcomes about the members of a group, and the praise that they gave. */
interface GroupCounts {
  inside: number;
  insideFailures: number;
  outside: number;
  outsideFailures: number;
  /** Successes that members reported, and those of them about members. */
  praise: number;
  insidePraise: number;
}

/** Whether an agent's word about a group is preferred to that of others. */
type TrustTest = (agent: number) => boolean;

const isUsable = ({ weights, reporters, subjects }: ReportedEdges, i: number): boolean =>
  reporters[i] !== subjects[i] && (weights === undefined || weights[i]! > 0);

/** Repeated praise: by reporter its subjects with the number of successes, ascending by subject. */
function collectRepeatedPraise(edges: ReportedEdges): Map<number, Map<number, number>> {
  const { starts, order } = groupOutcomesByReporter(edges);
  const found = new Map<number, Map<number, number>>();
  for (let reporter = 0; reporter < edges.agents; reporter++) {
    const counts = new Map<number, number>();
    let praise = 0;
    for (let at = starts[reporter]!; at < starts[reporter + 1]!; at++) {
      const i = order[at]!;
      if (edges.failures[i] === 1 || !isUsable(edges, i)) continue;
      const subject = edges.subjects[i]!;
      counts.set(subject, (counts.get(subject) ?? 0) + 1);
      praise++;
    }
    // One of more partners than a ring has members is dealt with like the rest of a market.
    const enough = Math.max(PAIR_PRAISES_MIN, praise / RING_MEMBERS_MAX);
    const kept = [...counts].filter(([, count]) => count >= enough);
    if (kept.length > 0) found.set(reporter, new Map(kept));
  }
  return found;
}

/** Neighbors of each agent in the graph of mutual praise. */
function buildMutualGraph(edges: ReportedEdges): Map<number, Set<number>> {
  const praise = collectRepeatedPraise(edges);
  let pairs: { a: number; b: number; count: number }[] = [];
  for (const [a, subjects] of praise) {
    for (const [b, count] of subjects) {
      const back = a < b ? praise.get(b)?.get(a) : undefined;
      if (back !== undefined) pairs.push({ a, b, count: Math.min(count, back) });
    }
  }
  if (pairs.length > MUTUAL_PAIRS_MAX) {
    pairs = pairs.toSorted((x, y) => y.count - x.count).slice(0, MUTUAL_PAIRS_MAX);
  }
  const graph = new Map<number, Set<number>>();
  const link = (from: number, to: number) => {
    const known = graph.get(from);
    if (known === undefined) graph.set(from, new Set([to]));
    else known.add(to);
  };
  for (const { a, b } of pairs) {
    link(a, b);
    link(b, a);
  }
  return graph;
}

function listCommonNeighbors(graph: Map<number, Set<number>>, a: number, b: number): number[] {
  const [left, right] = [graph.get(a)!, graph.get(b)!];
  const [few, many] = left.size < right.size ? [left, right] : [right, left];
  return [...few].filter((each) => many.has(each));
}

/** Removes pairs that lie in too few triangles until all others lie in enough (a k-truss). */
function removeLoosePairs(graph: Map<number, Set<number>>): void {
  let pairs = [...graph].flatMap(([a, others]) => [...others].map((b) => [a, b] as const));
  while (pairs.length > 0) {
    const touched: (readonly [number, number])[] = [];
    for (const [a, b] of pairs) {
      if (graph.get(a)?.has(b) !== true) continue;
      const common = listCommonNeighbors(graph, a, b);
      if (common.length >= PAIR_TRIANGLES_MIN) continue;
      graph.get(a)!.delete(b);
      graph.get(b)!.delete(a);
      for (const each of common) touched.push([a, each], [b, each]);
    }
    pairs = touched;
  }
}

/** Closed groups by mutual praise, each ascending: candidates for `judgeRings`. */
export function findClosedGroups(edges: ReportedEdges): Uint32Array[] {
  const graph = buildMutualGraph(edges);
  removeLoosePairs(graph);
  const groups: Uint32Array[] = [];
  const seen = new Set<number>();
  for (const [first, others] of graph) {
    if (others.size === 0 || seen.has(first)) continue;
    const members = [first];
    seen.add(first);
    for (const member of members) {
      for (const other of graph.get(member)!) {
        if (seen.has(other)) continue;
        seen.add(other);
        members.push(other);
      }
    }
    const isRingSized = members.length >= RING_MEMBERS_MIN && members.length <= RING_MEMBERS_MAX;
    if (isRingSized) groups.push(Uint32Array.from(members).toSorted());
  }
  return groups;
}

/** Number of each agent's group, from 1; 0 for none. */
export function numberGroups(agents: number, groups: readonly Uint32Array[]): Uint32Array {
  const numbers = new Uint32Array(agents);
  groups.forEach((members, i) => {
    for (const member of members) numbers[member] = i + 1;
  });
  return numbers;
}

class GroupCounter {
  readonly counts: GroupCounts[];
  /** Outcomes about agents of no group, and their failures. */
  readonly rest = { outcomes: 0, failures: 0 };
  readonly #edges: ReportedEdges;
  readonly #groups: Uint32Array;
  readonly #isCounted: TrustTest;
  readonly #told = new Map<number, number>();

  constructor(edges: ReportedEdges, groups: readonly Uint32Array[], isCounted: TrustTest) {
    this.#edges = edges;
    this.#groups = numberGroups(edges.agents, groups);
    this.#isCounted = isCounted;
    this.counts = groups.map(() => ({
      inside: 0,
      insideFailures: 0,
      outside: 0,
      outsideFailures: 0,
      praise: 0,
      insidePraise: 0,
    }));
    for (let i = 0; i < edges.count; i++) if (isUsable(edges, i)) this.#count(i);
  }

  #count(i: number): void {
    const { reporters, subjects, failures } = this.#edges;
    const [by, about] = [this.#groups[reporters[i]!]!, this.#groups[subjects[i]!]!];
    const failure = failures[i]!;
    if (by !== 0) {
      const group = this.counts[by - 1]!;
      group.praise += 1 - failure;
      if (by === about) group.insidePraise += 1 - failure;
    }
    // What strangers say makes no ring, and hides none: whoever signs may invent any number of them.
    if (by !== about && this.#edges.strangers?.[i] === 1) return;
    if (about === 0) {
      this.rest.outcomes++;
      this.rest.failures += failure;
    } else if (by === about) {
      this.counts[about - 1]!.inside++;
      this.counts[about - 1]!.insideFailures += failure;
    } else if (this.#isCounted(reporters[i]!) && this.#isWithinPairCap(i)) {
      this.counts[about - 1]!.outside++;
      this.counts[about - 1]!.outsideFailures += failure;
    }
  }

  /** One outsider's many reports are no more than a few. */
  #isWithinPairCap(i: number): boolean {
    const { agents, reporters, subjects, failures } = this.#edges;
    const pair = (reporters[i]! * agents + subjects[i]!) * 2 + failures[i]!;
    const told = (this.#told.get(pair) ?? 0) + 1;
    this.#told.set(pair, told);
    return told <= OUTSIDER_REPORTS_MAX;
  }
}

/** Standard errors between two shares, with a pooled variance. */
function computeContrast({ inside, insideFailures, outside, outsideFailures }: GroupCounts) {
  const pooled = (insideFailures + outsideFailures) / (inside + outside);
  const error = Math.sqrt(pooled * (1 - pooled) * (1 / inside + 1 / outside));
  const difference = outsideFailures / outside - insideFailures / inside;
  return error === 0 ? 0 : difference / error;
}

function isRing(counts: GroupCounts, restRate: number): boolean {
  const { inside, insideFailures, outside, outsideFailures, praise, insidePraise } = counts;
  if (outside < OUTSIDE_REPORTS_MIN || inside === 0) return false;
  if (insidePraise < CLOSED_SHARE_MIN * praise) return false;
  const usual = Math.max(restRate, insideFailures / inside);
  if (outsideFailures / outside < FAILURE_FACTOR_MIN * usual) return false;
  return computeContrast(counts) >= CONTRAST_MIN;
}

/**
 * The groups that are rings. Where the trusted outsiders have said enough about a group, only their
 * word counts: invented outsiders cannot make a ring of honest agents that others know.
 */
export function judgeRings(
  edges: ReportedEdges,
  groups: readonly Uint32Array[],
  isTrusted?: TrustTest,
): Uint32Array[] {
  if (groups.length === 0) return [];
  const all = new GroupCounter(edges, groups, () => true);
  const trusted = isTrusted === undefined ? all : new GroupCounter(edges, groups, isTrusted);
  const restRate = all.rest.outcomes === 0 ? 0 : all.rest.failures / all.rest.outcomes;
  return groups.filter((_, i) => {
    const isEnough = trusted.counts[i]!.outside >= OUTSIDE_REPORTS_MIN;
    return isRing((isEnough ? trusted : all).counts[i]!, restRate);
  });
}

function markMembers(agents: number, groups: readonly Uint32Array[]): Uint8Array | undefined {
  if (groups.length === 0) return undefined;
  return Uint8Array.from(numberGroups(agents, groups), (number) => Math.min(1, number));
}

/**
 * Credibility in which praise of a ring's members counts for nothing, and the rings. Buyers on whom
 * nobody reports are reached by no praise, so that among many seeds' praise of sellers the members of a
 * ring were the only reporters, and passed on to one another what an outsider's few praises gave them.
 * Undefined without seeds.
 */
export function computeCredibilityAndRings(
  edges: ReportedEdges,
  seeds: SeedShares,
  { credibility, untrustedBelow }: { credibility: CredibilityParameters; untrustedBelow: number },
): (CredibilityScores & { rings: Uint32Array[] }) | undefined {
  const groups = findClosedGroups(edges);
  const compute = (excluded: readonly Uint32Array[]) =>
    computeCredibility(edges, seeds, credibility, markMembers(edges.agents, excluded));
  // Judged by those who are believed whatever a group's members say of one another.
  const before = compute(groups);
  if (before === undefined) return undefined;
  const rings = judgeRings(edges, groups, (agent) => before.rho[agent]! >= untrustedBelow);
  const scores = rings.length === groups.length ? before : compute(rings)!;
  return { ...scores, rings };
}
