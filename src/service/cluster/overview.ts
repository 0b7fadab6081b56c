// A cluster as an operator is told of it: the log, its nodes by their reports, and what is wrong.
import type { ClusterNode, ClusterState } from "../../contract/schemas/cluster/state.ts";
import { formatNodeNames } from "../../stream/agreement.ts";
import {
  type ClusterView,
  compareChains,
  compareTables,
  type NodeReport,
} from "../../stream/reports.ts";

/** Reports come every five seconds; one that is older than this is missed. */
const REPORT_AGE_MS_MAX = 30_000;
/** A node that is further behind than this gets a word. */
const LAG_MESSAGES_MAX = 10_000;
/** Share of the log's bound from which on an operator is told. */
const LOG_FILL_WARNING_SHARE = 0.8;
const MS_PER_S = 1000;

/** `atMs`: when the log was asked, epoch ms; `sinceMs`: ms since then. */
export function buildClusterOverview(
  name: string,
  view: ClusterView,
  { atMs, sinceMs }: { readonly atMs: number; readonly sinceMs: number },
): ClusterState {
  const { generation, state } = view;
  const chains = compareChains(view.reports, generation);
  const tables = compareTables(view.reports, generation);
  const nodes = view.reports
    .map(([node, report]) => describeClusterNode(node, report, view, sinceMs))
    .toSorted((a, b) => (a.node < b.node ? -1 : 1));
  const problems = [
    ...listLogProblems(view),
    ...listSealProblems(view),
    ...nodes.flatMap((node) => listNodeProblems(node, view)),
    ...(chains.diverged === undefined ? [] : [describeDivergence("journals", chains.diverged)]),
    ...(tables.diverged === undefined ? [] : [describeDivergence("agent tables", tables.diverged)]),
  ];
  return {
    at: new Date(atMs).toISOString(),
    name,
    generation,
    leader: state.leader === undefined || state.leader === "" ? null : state.leader,
    replicas: (state.replicas ?? []).map(({ server, isCurrent, isOffline, lag }) => {
      return { server, is_current: isCurrent, is_offline: isOffline, lag };
    }),
    first_message: state.firstSeq,
    last_message: state.lastSeq,
    log_bytes: state.bytes ?? 0,
    log_bytes_max: state.bytesMax ?? 0,
    is_sound: problems.length === 0,
    problems,
    chains: {
      agree: chains.diverged === undefined,
      compared: chains.compared,
      newest: chains.newest ?? null,
      diverged_at: chains.diverged?.seq ?? null,
    },
    tables: {
      agree: tables.diverged === undefined,
      compared: tables.compared,
      newest: tables.newest ?? null,
      differ_at: tables.diverged?.seq ?? null,
    },
    nodes,
  };
}

/** Reports that no node of this cluster has sealed, and generations that none has begun. */
export function listSealProblems({
  unsealed = [],
  inventedGenerations = [],
}: ClusterView): string[] {
  const advice = "somebody else has the credentials of the log's servers";
  const problems: string[] = [];
  if (unsealed.length > 0) {
    const names = formatNodeNames(unsealed);
    problems.push(`reports in the names ${names} carry no valid seal and do not count: ${advice}`);
  }
  if (inventedGenerations.length > 0) {
    const numbers = inventedGenerations.join(", ");
    problems.push(
      `no node of this cluster has written generation ${numbers} of the log: ${advice}`,
    );
  }
  return problems;
}

function describeClusterNode(
  node: string,
  report: NodeReport,
  { state, ages }: ClusterView,
  sinceMs: number,
): ClusterNode {
  return {
    node,
    generation: report.generation,
    place: report.seq,
    lag_messages: Math.max(0, state.lastSeq - report.seq),
    position: report.lsn,
    chain: report.chain,
    engine: report.engine ?? null,
    release: report.version,
    url: report.url ?? null,
    role: report.role ?? "serve",
    leads: [...(report.leads ?? [])],
    reported_at: new Date(report.atMs).toISOString(),
    age_seconds: ((ages.get(node) ?? 0) + sinceMs) / MS_PER_S,
  };
}

function listLogProblems({ state, reports }: ClusterView): string[] {
  const problems: string[] = [];
  if (state.leader === undefined || state.leader === "") {
    problems.push("the log has no leader: a majority of its servers does not answer");
  }
  const { bytes = 0, bytesMax = 0 } = state;
  if (bytesMax > 0 && bytes > bytesMax * LOG_FILL_WARNING_SHARE) {
    const percent = Math.floor((bytes / bytesMax) * 100);
    problems.push(
      `the log is ${percent} % full: raise its bound, or see \`trustrank cluster trim\``,
    );
  }
  for (const { server, isCurrent, isOffline, lag } of state.replicas ?? []) {
    const away = `server \`${server}\` of the log is away`;
    const late = `server \`${server}\` of the log is ${lag} operations behind its leader`;
    if (isOffline) problems.push(away);
    else if (!isCurrent && lag > LAG_MESSAGES_MAX) problems.push(late);
  }
  if (reports.length === 0) problems.push("no node has told of itself");
  if (new Set(reports.map(([, report]) => report.key)).size > 1) {
    problems.push("nodes sign with different keys: give all of them the same `bureau.key`");
  }
  return problems;
}

function listNodeProblems(node: ClusterNode, { generation, state }: ClusterView): string[] {
  const { node: name, age_seconds: age, place, lag_messages: lag } = node;
  const problems: string[] = [];
  if (age * MS_PER_S > REPORT_AGE_MS_MAX) {
    problems.push(`node \`${name}\` has told nothing for ${Math.round(age)} s`);
  }
  if (node.generation !== generation) {
    problems.push(`node \`${name}\` follows generation ${node.generation}, not ${generation}`);
  } else if (place + 1 < state.firstSeq) {
    problems.push(
      `node \`${name}\` has applied message ${place}, and the log begins at ${state.firstSeq}`,
    );
  } else if (lag > LAG_MESSAGES_MAX) {
    problems.push(`node \`${name}\` is ${lag} messages behind`);
  }
  return problems;
}

function describeDivergence(
  what: string,
  { seq, sides }: { seq: number; sides: readonly (readonly string[])[] },
): string {
  const names = sides.map((nodes) => nodes.map((node) => `\`${node}\``).join(", "));
  return `${what} differ at message ${seq}: ${names.join(" against ")}`;
}
