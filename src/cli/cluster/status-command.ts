// `trustrank cluster status`: the cluster's log and nodes, read from the log itself; no node need run.
import type { ClusterState } from "../../contract/schemas/cluster/state.ts";
import { overviewOf } from "../../service/cluster/overview.ts";
import { CommandFailure, EXIT_FAILED, EXIT_USAGE } from "../../service/failure.ts";
import { clusterOf } from "../../service/settings/cluster-config.ts";
import { openNatsLog } from "../../stream/nats-log.ts";
import { viewOf } from "../../stream/reports.ts";
import { environment } from "../environment.ts";
import { formatTable, note, print, printJson } from "../output.ts";

export interface ClusterFlags {
  readonly cluster?: string;
  readonly clusterNode?: string;
  readonly json?: boolean;
}

/** Length of a chain that tells two apart for a person. */
const CHAIN_SHOWN = 12;

/** Exits with 1 when something needs an operator. */
export async function showClusterStatus(flags: ClusterFlags): Promise<void> {
  const state = await readState(flags);
  if (flags.json === true) printJson(state);
  else show(state);
  if (!state.is_sound) process.exitCode = EXIT_FAILED;
}

async function readState(flags: ClusterFlags): Promise<ClusterState> {
  const config = clusterOf(flags, environment());
  if (config === undefined) {
    throw new CommandFailure(
      "name the servers of the log: --cluster or TRUSTRANK_CLUSTER",
      EXIT_USAGE,
    );
  }
  const { servers, credentialsFile, tls, name, streamBytesMax: bytesMax } = config;
  const settings = { servers, credentialsFile, name, bytesMax, ...(tls && { tls }) };
  try {
    const log = await openNatsLog({ ...settings, onlyReads: true, log: () => undefined });
    try {
      const view = await viewOf(log);
      const nowMs = Date.now();
      return overviewOf(name, view, { atMs: nowMs, nowMs });
    } finally {
      await log.close();
    }
  } catch (error) {
    throw new CommandFailure((error as Error).message);
  }
}

function show(state: ClusterState): void {
  const { name, generation, leader, chains } = state;
  print(`log ${name}, generation ${generation}, led by ${leader ?? "no server"}`);
  for (const { server, is_current: isCurrent, is_offline: isAway, lag } of state.replicas) {
    print(`follower ${server}: ${isAway ? "away" : isCurrent ? "current" : `${lag} behind`}`);
  }
  print(`messages ${state.first_message} to ${state.last_message}`);
  const newest = chains.newest === null ? "" : `, the newest at message ${chains.newest}`;
  if (chains.compared === 0) print("journals: no place at which two nodes could be compared yet");
  else if (chains.agree) print(`journals agree at ${chains.compared} places${newest}`);
  const columns = ["node", "place", "behind", "position", "chain", "release", "told", "url"];
  const cells = state.nodes.map((node) => [
    node.node,
    node.place,
    node.lag_messages,
    node.position,
    node.chain.slice(0, CHAIN_SHOWN),
    node.release,
    `${Math.round(node.age_seconds)} s ago`,
    node.url ?? "",
  ]);
  for (const line of formatTable(columns, cells)) print(line);
  for (const problem of state.problems) note(`problem: ${problem}`);
}
