// Standings for the agent table: credibility of each reporter, strangers, records that rest on
// strangers, and members of rings, which are marked without seeds too. Written as differences.
import {
  FLAG_CREDIBILITY,
  FLAG_DISCOUNTED,
  FLAG_SEED,
  FLAG_SIGNS,
} from "../../../assembly/layout.ts";
import { RING_BIT, readClusterNumber } from "../../contract/standings.ts";
import type { ScoringConfig } from "../../engine/config.ts";
import type { AgentStanding, StandingsPart } from "../../engine/reading.ts";
import { DEFAULT_CREDIBILITY_PARAMETERS } from "./page-rank.ts";
import type { CredibilityScores, CredibilityParameters, ReportedEdges } from "./page-rank.ts";
import { computeCredibilityAndRings, findClosedGroups, judgeRings } from "./rings.ts";
import { assembleReporterGraph } from "./reporter-graph.ts";
import type { ReporterGraph } from "./reporter-graph.ts";
import { selectSeeds } from "./seeds.ts";
import type { SeedCandidates, SeedRules } from "./seeds.ts";

/** Input of a batch. */
export interface StandingHistory extends SeedCandidates {
  edges: ReportedEdges & { weights: ArrayLike<number> };
  stakes: ArrayLike<number>;
  /** Standings as last written, by agent id. */
  written: ReadonlyMap<string, AgentStanding>;
  stakesHigh: number;
  /** Whether credibility was in force at the end. */
  isInForce: boolean;
}

export interface StandingPolicy {
  /** A reporter below it is one of the strangers, which share one cap. */
  untrustedBelow: number;
  credibility: CredibilityParameters;
  /** Smallest change of rho worth a record. */
  rhoStep: number;
  /** Reporters above it form no cluster: honest ones may know the same agents. */
  clusterBelow: number;
  /** Share of an agent's evidence from strangers above which its record is marked as discounted. */
  discountedShare: number;
  /** Least number of outcomes from which stakes are learnt, and the most of one reporter. */
  stakesMin: number;
  stakesEach: number;
  /** Smallest relative change of the learnt stakes worth a record. */
  stakesStep: number;
}

/** Times the usual share of praise from which praise among believed reporters is told of. */
const CLOSED_FACTOR = 3;

const STANDING_POLICY: StandingPolicy = {
  untrustedBelow: 0.35,
  credibility: DEFAULT_CREDIBILITY_PARAMETERS,
  rhoStep: 0.02,
  clusterBelow: 0.5,
  discountedShare: 0.5,
  stakesMin: 400,
  stakesEach: 20,
  stakesStep: 0.1,
};

/** The policy with the constants of the fold. */
export function createStandingPolicy(config: ScoringConfig): StandingPolicy {
  return {
    ...STANDING_POLICY,
    untrustedBelow: config.untrusted_below,
    credibility: { ...DEFAULT_CREDIBILITY_PARAMETERS, rhoMin: config.credibility_min },
  };
}

/** Figures of a batch, for people. */
export interface StandingMetrics {
  reporters: number;
  seeds: number;
  /** Reporters that count more than a stranger. */
  believed: number;
  /** Share of all outcomes that they reported. */
  believed_share: number;
  clusters: number;
  /** Share of the praise by believed reporters other than seeds that they give one another. */
  closed_share: number;
  /** Agents whose record rests on strangers. */
  discounted: number;
  stakes_high: number;
  /** Agents whose standing the batch changed. */
  changed: number;
}

export interface RingMarks {
  standings: StandingsPart;
  /** Members of each ring, as agent numbers. */
  rings: readonly Uint32Array[];
}

export interface StandingBatch extends RingMarks {
  figures: StandingMetrics;
  /** Who vouched for whom, for people; made when it is asked for. */
  graph: () => ReporterGraph;
}

/** Agents whose evidence comes mostly from strangers, whatever standing those agents have. */
function flagDiscountedAgents(history: StandingHistory, rho: Float64Array, policy: StandingPolicy) {
  const { agents, reporters, subjects, weights, count } = history.edges;
  const all = new Float64Array(agents);
  const strange = new Float64Array(agents);
  for (let i = 0; i < count; i++) {
    all[subjects[i]!]! += weights[i]!;
    if (rho[reporters[i]!]! < policy.untrustedBelow) strange[subjects[i]!]! += weights[i]!;
  }
  return strange.map((x, i) => (x > 0 && x >= policy.discountedShare * all[i]! ? 1 : 0));
}

/**
 * Stakes below which 95 % of believed outcomes lie: the concave weight's upper end (scoring 2.2). 0
 * when there are too few outcomes.
 */
export function computeStakesQuantile(
  { edges, stakes }: Pick<StandingHistory, "edges" | "stakes">,
  rho: Float64Array,
  policy: StandingPolicy,
): number {
  const taken = new Uint32Array(edges.agents);
  const found: number[] = [];
  // From the newest on: older reports of one reporter give way to newer ones.
  for (let i = edges.count - 1; i >= 0; i--) {
    const reporter = edges.reporters[i]!;
    if (rho[reporter]! < policy.untrustedBelow || taken[reporter]! >= policy.stakesEach) continue;
    taken[reporter]! += 1;
    found.push(stakes[i]!);
  }
  if (found.length < policy.stakesMin) return 0;
  const sorted = Float64Array.from(found).toSorted();
  return Number(sorted[Math.floor(0.95 * (sorted.length - 1))]!.toPrecision(3));
}

function computeStakesHigh(
  history: StandingHistory,
  rho: Float64Array,
  policy: StandingPolicy,
): number {
  const found = computeStakesQuantile(history, rho, policy);
  if (found === 0) return history.stakesHigh;
  const isSame = Math.abs(found - history.stakesHigh) < policy.stakesStep * found;
  return isSame ? history.stakesHigh : found;
}

function isStandingChanged(
  now: AgentStanding,
  before: AgentStanding | undefined,
  policy: StandingPolicy,
) {
  if (before === undefined) return now.flags !== 0 || now.cluster !== 0;
  if (now.flags !== before.flags || now.cluster !== before.cluster) return true;
  const isOver = (rho: number) => rho >= policy.untrustedBelow;
  if (isOver(now.credibility) !== isOver(before.credibility)) return true;
  return Math.abs(now.credibility - before.credibility) >= policy.rhoStep;
}

/** Counts reporters and their outcomes; `rho` of agents that never reported is of no use. */
function countReportsByAgent({ edges }: StandingHistory): Uint32Array {
  const reports = new Uint32Array(edges.agents);
  for (let i = 0; i < edges.count; i++) reports[edges.reporters[i]!]! += 1;
  return reports;
}

/** By agent number: the number of the ring with RING_BIT, 0 for none. */
function numberRings(
  { ids, edges, written }: StandingHistory,
  rings: readonly Uint32Array[],
): Uint32Array {
  const numbers = new Uint32Array(edges.agents);
  for (const members of rings) {
    // The number that it has: agents of a later part of the history are numbered otherwise.
    const known = [...members].map((member) => written.get(ids[member]!)?.cluster ?? 0);
    const number = known.find((cluster) => (cluster & RING_BIT) !== 0) ?? members[0]! + 1;
    for (const member of members) numbers[member] = number | RING_BIT;
  }
  return numbers;
}

interface StandingFindings extends CredibilityScores {
  ringOf: Uint32Array;
  seeds: ReadonlyMap<number, number>;
  reports: Uint32Array;
  discounted: Float64Array;
}

function computeStanding(
  history: StandingHistory,
  findings: StandingFindings,
  agent: number,
  policy: StandingPolicy,
): AgentStanding {
  const { rho, clusters, seeds, reports } = findings;
  const id = history.ids[agent]!;
  const isReporter = reports[agent]! > 0;
  const isBelieved = isReporter && rho[agent]! > policy.credibility.rhoMin;
  let flags = isBelieved ? FLAG_CREDIBILITY : 0;
  if (seeds.has(agent)) flags |= FLAG_SEED;
  if (history.keyHolders.has(id)) flags |= FLAG_SIGNS;
  if (findings.discounted[agent] === 1) flags |= FLAG_DISCOUNTED;
  // In thousandths, as the journal stores it, so that the comparison is with the stored value.
  const credibility = isBelieved ? Math.round(rho[agent]! * 1000) / 1000 : 0;
  const isClusterable = isReporter && rho[agent]! < policy.clusterBelow;
  const cluster = findings.ringOf[agent]! || (isClusterable ? clusters[agent]! : 0);
  return { agent: id, flags, credibility, cluster };
}

function summarizeStandings(
  findings: StandingFindings,
  standings: StandingsPart,
  policy: StandingPolicy,
) {
  const { rho, clusters, seeds, reports } = findings;
  let [reporters, believed, counted, all] = [0, 0, 0, 0];
  reports.forEach((count, agent) => {
    if (count === 0) return;
    reporters++;
    all += count;
    if (rho[agent]! < policy.untrustedBelow) return;
    believed++;
    counted += count;
  });
  return {
    reporters,
    seeds: seeds.size,
    believed,
    believed_share: all === 0 ? 0 : counted / all,
    clusters: new Set(clusters.filter((cluster) => cluster > 0)).size,
    closed_share: computeClosedShare(findings, policy),
    discounted: findings.discounted.reduce((sum, x) => sum + x, 0),
    stakes_high: standings.stakesHigh,
    changed: standings.agents.length,
  };
}

/**
 * Share, 0 to 1, of the praise by believed reporters other than seeds that goes to such reporters; 0
 * where the other praise of the history goes to them in a third of that measure: so it is in a market
 * in which both sides report.
 */
function computeClosedShare(
  { graph, rho, seeds, reports }: StandingFindings,
  policy: StandingPolicy,
): number {
  const isOne = (agent: number) =>
    reports[agent]! > 0 && rho[agent]! >= policy.untrustedBelow && !seeds.has(agent);
  const [own, others] = [
    { praise: 0, closed: 0 },
    { praise: 0, closed: 0 },
  ];
  for (let agent = 0; agent < reports.length; agent++) {
    const sum = isOne(agent) ? own : others;
    for (let at = graph.starts[agent]!; at < graph.starts[agent + 1]!; at++) {
      sum.praise += graph.weights[at]!;
      if (isOne(graph.targets[at]!)) sum.closed += graph.weights[at]!;
    }
  }
  const share = own.praise === 0 ? 0 : own.closed / own.praise;
  const usual = others.praise === 0 ? 0 : others.closed / others.praise;
  return share > CLOSED_FACTOR * usual ? share : 0;
}

function buildReporterGraph(
  { ids }: StandingHistory,
  findings: StandingFindings,
  policy: StandingPolicy,
) {
  const { rho, clusters, ringOf } = findings;
  const { untrustedBelow, clusterBelow, credibility } = policy;
  const shown = clusters.map(
    (cluster, agent) =>
      readClusterNumber(ringOf[agent]!) || (rho[agent]! < clusterBelow ? cluster : 0),
  );
  const { damping } = credibility;
  return assembleReporterGraph({ ...findings, ids, clusters: shown, untrustedBelow, damping });
}

/** Marks of rings alone, for a history without seeds: all other standings stay. */
export function computeRingMarks(history: StandingHistory): RingMarks {
  const { edges, ids, written, isInForce, stakesHigh } = history;
  const rings = judgeRings(edges, findClosedGroups(edges));
  const ringOf = numberRings(history, rings);
  const marks = new Map<string, number>();
  for (const { agent, cluster } of written.values()) {
    if ((cluster & RING_BIT) !== 0) marks.set(agent, 0);
  }
  ringOf.forEach((ring, agent) => {
    if (ring !== 0) marks.set(ids[agent]!, ring);
  });
  const agents = [...marks].flatMap(([agent, cluster]): AgentStanding[] => {
    const before = written.get(agent) ?? { agent, flags: 0, credibility: 0, cluster: 0 };
    return before.cluster === cluster ? [] : [{ ...before, cluster }];
  });
  return { standings: { isInForce, stakesHigh, agents }, rings };
}

/**
 * Changes that a batch has to write. Undefined when the rules match no agent in the history:
 * reporters are then indistinguishable, and the standings last written stay.
 */
export function computeStandingBatch(
  history: StandingHistory,
  rules: SeedRules,
  policy: StandingPolicy,
): StandingBatch | undefined {
  const seeds = selectSeeds(rules, history);
  const credibility = computeCredibilityAndRings(history.edges, seeds, policy);
  if (credibility === undefined) return undefined;
  const { rho, rings } = credibility;
  const findings: StandingFindings = {
    ...credibility,
    seeds,
    reports: countReportsByAgent(history),
    discounted: flagDiscountedAgents(history, rho, policy),
    ringOf: numberRings(history, rings),
  };
  const agents: AgentStanding[] = [];
  for (let agent = 0; agent < history.edges.agents; agent++) {
    const now = computeStanding(history, findings, agent, policy);
    if (isStandingChanged(now, history.written.get(now.agent), policy)) agents.push(now);
  }
  const stakesHigh = computeStakesHigh(history, rho, policy);
  const standings = { isInForce: true, stakesHigh, agents };
  return {
    standings,
    rings,
    figures: summarizeStandings(findings, standings, policy),
    graph: () => buildReporterGraph(history, findings, policy),
  };
}
