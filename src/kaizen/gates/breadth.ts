// Gate G11: does the gain come from everyone, or from a group? Names cost nothing, so a ring can
// write both the lesson and the test. The gain must hold among those who did not teach it, and
// without any one community of the report graph (kaizen 6.3).
import { createGateResult, formatLossChange, formatRounded } from "./register.ts";
import type { GatePolicy, GateResult } from "./register.ts";
import { detectCommunities } from "../credibility/reporter-graph.ts";
import type { FitRows, Holdout } from "../model/holdout.ts";
import { estimateFitsWithoutGroups } from "../model/leave-out.ts";
import type { FittedScorecard } from "../model/leave-out.ts";
import { computeLogLoss } from "../model/forecast-metrics.ts";
import { createSeededRandom } from "../model/bootstrap.ts";
import { computeAgentCount } from "../model/row-weights.ts";
import { readCoefficients, computeRowLogit, stepTowards } from "../model/scorecard.ts";
import { computeTwoWayVariance } from "../model/statistics.ts";

/** Mass, in rows, that pulls a reporter's mean gain towards 0: one lucky row is no teacher. */
const SHRINK_ROWS = 5;
const SEED = 0x6c6f7576;

/** The lesson: what was fitted, and where its test begins. */
export interface TrainedFit {
  fitted: FittedScorecard;
  /** First row of the holdout. */
  holdoutFrom: number;
}

/** Weighted gain and mass of each reporter, by number. */
interface ReporterGains {
  gains: Float64Array;
  masses: Float64Array;
}

function createReporterGains(reporters: number): ReporterGains {
  return { gains: new Float64Array(reporters), masses: new Float64Array(reporters) };
}

function computeRowLossOfFit(evidence: FitRows, row: number, beta: Float64Array): number {
  const p = 1 / (1 + Math.exp(-computeRowLogit(evidence.rows, row, beta)));
  return computeLogLoss(p, evidence.failures[row]!);
}

/** What every reporter's training rows gain by the change. */
function sumTrainingGains(
  { fitted }: TrainedFit,
  champion: Float64Array,
  reporters: number,
): ReporterGains {
  const { evidence, trainTo, weights } = fitted;
  const tested = stepTowards(champion, fitted.coefficients);
  const tally = createReporterGains(reporters);
  for (let row = 0; row < trainTo; row++) {
    const reporter = evidence.reporters[row]!;
    const gain =
      computeRowLossOfFit(evidence, row, champion) - computeRowLossOfFit(evidence, row, tested);
    tally.gains[reporter]! += weights[row]! * gain;
    tally.masses[reporter]! += weights[row]!;
  }
  return tally;
}

/** What every reporter gains in one half of its holdout rows. */
function sumHoldoutGains(
  holdout: Holdout,
  halves: Uint8Array,
  half: number,
  reporters: number,
): ReporterGains {
  const { champion, challenger, weights } = holdout;
  const tally = createReporterGains(reporters);
  holdout.reporters.forEach((reporter, i) => {
    if (halves[i] !== half) return;
    tally.gains[reporter]! += weights[i]! * (champion.losses[i]! - challenger.losses[i]!);
    tally.masses[reporter]! += weights[i]!;
  });
  return tally;
}

/** Reporters with the largest mean gains, who hold `share` of the mass together: 1. */
function markTopReporters({ gains, masses }: ReporterGains, share: number): Uint8Array {
  const total = masses.reduce((sum, mass) => sum + mass, 0);
  const means = gains.map((gain, reporter) => gain / (masses[reporter]! + SHRINK_ROWS));
  const ranked = Uint32Array.from(means.keys())
    .filter((reporter) => means[reporter]! > 0)
    .toSorted((a, b) => means[b]! - means[a]! || a - b);
  const isTeacher = new Uint8Array(gains.length);
  let taken = 0;
  for (const reporter of ranked) {
    if (taken >= share * total) break;
    taken += masses[reporter]!;
    isTeacher[reporter] = 1;
  }
  return isTeacher;
}

/**
 * Holdout rows of reporters who did not teach the change. Left out are those who gained most in
 * training, and those who gained most in the test: the rows of a reporter fall into two halves in
 * turns, and a row stands or falls by the other half, so that no row is chosen by its own outcome.
 */
function selectRowsOfOthers(holdout: Holdout, lesson: TrainedFit, policy: GatePolicy): Uint32Array {
  const { champion, reporters } = holdout;
  const count = computeAgentCount(lesson.fitted.evidence.reporters);
  const lessons = sumTrainingGains(lesson, readCoefficients(champion.model), count);
  const taught = markTopReporters(lessons, policy.teachers_share);
  const turn = new Uint8Array(count);
  const halves = Uint8Array.from(reporters, (reporter) => (turn[reporter]! ^= 1));
  const tested = [1, 0].map((other) =>
    markTopReporters(sumHoldoutGains(holdout, halves, other, count), policy.examiners_share),
  );
  const isOther = (i: number) => {
    const reporter = reporters[i]!;
    return taught[reporter] === 0 && tested[halves[i]!]![reporter] === 0;
  };
  return Uint32Array.from(reporters.keys()).filter(isOther);
}

/** Weighted gain over some rows of the holdout, by the weighted loss of the champion there. */
function computeRelativeGain(
  holdout: Holdout,
  rows: Uint32Array,
  losses: ArrayLike<number>,
): number {
  let [gain, base] = [0, 0];
  for (const i of rows) {
    base += holdout.weights[i]! * holdout.champion.losses[i]!;
    gain += holdout.weights[i]! * (holdout.champion.losses[i]! - losses[i]!);
  }
  return base > 0 ? gain / base : 0;
}

/** z of the challenger's gain over some rows of the holdout. */
function computeGainZ({ champion, challenger, ...holdout }: Holdout, rows: Uint32Array): number {
  if (rows.length === 0) return 0;
  const pick = (values: ArrayLike<number>) => Float64Array.from(rows, (i) => values[i]!);
  const { mean, variance } = computeTwoWayVariance(
    Float64Array.from(rows, (i) => champion.losses[i]! - challenger.losses[i]!),
    pick(holdout.weights),
    pick(holdout.subjects),
    pick(holdout.reporters),
  );
  return variance > 0 ? mean / Math.sqrt(variance) : 0;
}

/** A community of the report graph, and the gain without it. */
interface ReporterCommunity {
  /** Number of its reporter with the most mass. */
  leader: number;
  reporters: number;
  /** Its part of the mass of training and holdout. */
  share: number;
  /** The lesser gain of the challenger as it is, and of the fit without the community. */
  relative: number;
}

/** Mass of each agent's reports in training and holdout. */
function sumReportMass(holdout: Holdout, { fitted }: TrainedFit, agents: number): Float64Array {
  const mass = new Float64Array(agents);
  const { evidence, trainTo, weights } = fitted;
  for (let row = 0; row < trainTo; row++) mass[evidence.reporters[row]!]! += weights[row]!;
  holdout.reporters.forEach((reporter, i) => (mass[reporter]! += holdout.weights[i]!));
  return mass;
}

/** The largest communities by mass, but none that is most of the deployment itself. */
function selectLargestCommunities(
  communities: Uint32Array,
  mass: Float64Array,
  policy: GatePolicy,
) {
  const found = new Map<number, { leader: number; reporters: number; mass: number }>();
  let total = 0;
  mass.forEach((own, agent) => {
    total += own;
    const id = communities[agent]!;
    if (own === 0 || id === 0) return;
    const known = found.get(id) ?? { leader: agent, reporters: 0, mass: 0 };
    found.set(id, known);
    known.reporters++;
    known.mass += own;
    if (own > mass[known.leader]!) known.leader = agent;
  });
  return [...found]
    .map(([id, each]) => ({ id, ...each, share: each.mass / total }))
    .filter(({ share }) => share <= policy.community_share_max)
    .toSorted((a, b) => b.share - a.share || a.id - b.id)
    .slice(0, policy.communities_max);
}

/** Gain without each of the largest communities, in the fit and in the test. */
function measureGainWithoutCommunities(
  holdout: Holdout,
  lesson: TrainedFit,
  policy: GatePolicy,
): ReporterCommunity[] {
  const { evidence } = lesson.fitted;
  const { reporters } = holdout;
  const agents = Math.max(
    computeAgentCount(evidence.reporters),
    computeAgentCount(evidence.subjects),
  );
  const count = lesson.holdoutFrom + reporters.length;
  const edges = { agents, reporters: evidence.reporters, subjects: evidence.subjects, count };
  const communities = detectCommunities(edges, createSeededRandom(SEED));
  const largest = selectLargestCommunities(
    communities,
    sumReportMass(holdout, lesson, agents),
    policy,
  );
  const groups = new Map(largest.map(({ id }, group) => [id, group]));
  const findGroup = (reporter: number) => groups.get(communities[reporter]!) ?? -1;
  const fits = estimateFitsWithoutGroups(lesson.fitted, findGroup, largest.length);
  const champion = readCoefficients(holdout.champion.model);
  return largest.map(({ leader, reporters: members, share }, group) => {
    const isLeft = (i: number) => findGroup(reporters[i]!) !== group;
    const rows = Uint32Array.from(reporters.keys()).filter(isLeft);
    const whole = computeRelativeGain(holdout, rows, holdout.challenger.losses);
    const fit = fits[group];
    if (fit === undefined) return { leader, reporters: members, share, relative: 0 };
    const tested = stepTowards(champion, fit);
    const losses = Float64Array.from(reporters, (_, i) =>
      isLeft(i) ? computeRowLossOfFit(evidence, lesson.holdoutFrom + i, tested) : 0,
    );
    const relative = Math.min(whole, computeRelativeGain(holdout, rows, losses));
    return { leader, reporters: members, share, relative };
  });
}

function describeCommunities(
  found: readonly ReporterCommunity[],
  worst: ReporterCommunity | undefined,
  name: string,
) {
  if (worst === undefined) return "no community of reporters to leave out";
  const who = `that of ${name} (${worst.reporters} reporters, ${formatRounded(worst.share * 100, 1)} % of the mass)`;
  const gain = `${formatRounded(worst.relative * 100, 2)} %`;
  return `without any one of ${found.length} communities by at least ${gain}, without ${who}`;
}

/** G11: the gain holds among those who did not teach it, and without any one community. */
export function evaluateBreadthGate(
  holdout: Holdout,
  lesson: TrainedFit,
  policy: GatePolicy,
): GateResult {
  const { losses } = holdout.challenger;
  const rows = selectRowsOfOthers(holdout, lesson, policy);
  const others = {
    z: computeGainZ(holdout, rows),
    relative: computeRelativeGain(holdout, rows, losses),
  };
  const communities = measureGainWithoutCommunities(holdout, lesson, policy);
  const worst = communities.toSorted((a, b) => a.relative - b.relative)[0];
  const everyone = Uint32Array.from(holdout.reporters.keys());
  const whole = computeRelativeGain(holdout, everyone, losses);
  const needed = Math.max(0, policy.community_gain_min * whole);
  const numbers: Record<string, number> = {
    others_rows: rows.length,
    others_relative_gain: others.relative,
    others_z: others.z,
    others_z_min: policy.others_z_min,
    communities: communities.length,
    ...(worst && {
      worst_community_share: worst.share,
      worst_community_relative_gain: worst.relative,
      community_gain_min: needed,
    }),
  };
  const { agents } = lesson.fitted.evidence.context ?? {};
  const name = worst && (agents?.[worst.leader] ?? `reporter ${worst.leader}`);
  const sentence =
    `${formatLossChange(others.relative)} (z ${formatRounded(others.z, 2)}, needed above ` +
    `${policy.others_z_min}) among those who did not teach the change; ` +
    describeCommunities(communities, worst, name ?? "") +
    (worst === undefined ? "" : `; needed ${formatRounded(needed * 100, 2)} %`);
  const isFree = worst === undefined || (worst.relative > 0 && worst.relative >= needed);
  const passed = others.z > policy.others_z_min && isFree;
  return createGateResult("G11", { passed, numbers, sentence });
}
