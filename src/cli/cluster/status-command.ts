// `trustrank cluster status`: the cluster's log and nodes, read from the log itself; no node need run.
import type { ClusterState } from "../../contract/schemas/cluster/state.ts";
import { buildClusterOverview } from "../../service/cluster/overview.ts";
import { EXIT_FAILED } from "../../service/failure.ts";
import { readClusterView } from "../../stream/reports.ts";
import { printNote, print, printJson, printTable } from "../output.ts";
import {
  type ClusterFlags,
  findClusterSecret,
  requireClusterConfig,
  withOrderedLog,
} from "./ordered-log.ts";

/** Length of a chain that tells two apart for a person. */
const CHAIN_CHARS_SHOWN = 12;
const MEBIBYTE = 1024 ** 2;

/** Exits with 1 when something needs an operator. */
export async function showClusterStatus(dataDir: string, flags: ClusterFlags): Promise<void> {
  const state = await readClusterState(dataDir, flags);
  if (flags.json === true) printJson(state);
  else printClusterState(state);
  if (!state.is_sound) process.exitCode = EXIT_FAILED;
}

function readClusterState(dataDir: string, flags: ClusterFlags): Promise<ClusterState> {
  const config = requireClusterConfig(flags);
  const secret = findClusterSecret(dataDir);
  if (secret === undefined) {
    const advice = "name the data directory of a node with --data-dir";
    printNote(`seals are not checked, there is no \`bureau.key\` in \`${dataDir}\`: ${advice}`);
  }
  return withOrderedLog(config, { onlyReads: true, secret }, async (log) => {
    const view = await readClusterView(log);
    return buildClusterOverview(config.name, view, { atMs: Date.now(), sinceMs: 0 });
  });
}

function printClusterState(state: ClusterState): void {
  const { name, generation, leader, chains, tables } = state;
  print(`log ${name}, generation ${generation}, led by ${leader ?? "no server"}`);
  for (const { server, is_current: isCurrent, is_offline: isAway, lag } of state.replicas) {
    print(`follower ${server}: ${isAway ? "away" : isCurrent ? "current" : `${lag} behind`}`);
  }
  print(`messages ${state.first_message} to ${state.last_message}${formatLogFill(state)}`);
  const newest = chains.newest === null ? "" : `, the newest at message ${chains.newest}`;
  if (chains.compared === 0) print("journals: no place at which two nodes could be compared yet");
  else if (chains.agree) print(`journals agree at ${chains.compared} places${newest}`);
  if (tables.compared > 0 && tables.agree) {
    print(
      `agent tables agree at ${tables.compared} places, the newest at message ${tables.newest}`,
    );
  }
  const columns = [
    "node",
    "place",
    "behind",
    "position",
    "chain",
    "release",
    "told",
    "role",
    "leads",
    "url",
  ];
  const cells = state.nodes.map((node) => [
    node.node,
    node.place,
    node.lag_messages,
    node.position,
    node.chain.slice(0, CHAIN_CHARS_SHOWN),
    node.release,
    `${Math.round(node.age_seconds)} s ago`,
    node.role,
    node.leads.join(" "),
    node.url ?? "",
  ]);
  printTable(columns, cells);
  for (const problem of state.problems) printNote(`problem: ${problem}`);
}

function formatLogFill({ log_bytes: bytes, log_bytes_max: max }: ClusterState): string {
  if (max === 0) return "";
  return `, ${Math.ceil(bytes / MEBIBYTE)} MiB of ${Math.floor(max / MEBIBYTE)}`;
}
