// `trustrank cluster trim`: removes from the cluster's log what every node has in its journal.
import { CommandFailure, EXIT_USAGE } from "../../service/failure.ts";
import { readClusterView } from "../../stream/reports.ts";
import { KEPT_MESSAGES_MIN, computeTrim } from "../../stream/retention.ts";
import { print, printJson } from "../output.ts";
import {
  type ClusterFlags,
  findClusterSecret,
  requireClusterConfig,
  withOrderedLog,
} from "./ordered-log.ts";

export interface TrimFlags extends ClusterFlags {
  /** Messages that stay behind the slowest node. */
  readonly keep?: string;
  /** Nodes that are gone for good, with commas between them. */
  readonly without?: string;
}

/** Exits with 1, and has removed nothing, where some node may still need what would go. */
export async function trimClusterLog(dataDir: string, flags: TrimFlags): Promise<void> {
  const config = requireClusterConfig(flags);
  const secret = findClusterSecret(dataDir);
  const keep =
    flags.keep === undefined
      ? (config.keepMessages ?? KEPT_MESSAGES_MIN)
      : parseKeepCount(flags.keep);
  const without = flags.without?.split(",").map((node) => node.trim()) ?? [];
  const { before, from, slowest } = await withOrderedLog(
    config,
    { onlyReads: true, secret },
    async (log) => {
      const view = await readClusterView(log);
      const unknown = without.find(
        (node) =>
          !view.reports.some(([name]) => name === node) && view.strangers?.includes(node) !== true,
      );
      if (unknown !== undefined)
        throw new CommandFailure(`no node \`${unknown}\` has told of itself`, EXIT_USAGE);
      const trim = computeTrim(view, { keep, without });
      if ("why" in trim) throw new CommandFailure(`nothing is removed: ${trim.why}`);
      if (trim.before > view.state.firstSeq) await log.trim(trim.before);
      return { ...trim, from: view.state.firstSeq };
    },
  );
  const removed = Math.max(0, before - from);
  if (flags.json === true) printJson({ removed, first_message: Math.max(before, from), slowest });
  else if (removed === 0) print(`nothing to remove: the slowest node is \`${slowest}\``);
  else
    print(`removed ${removed} messages, up to ${before - 1}; the slowest node is \`${slowest}\``);
}

function parseKeepCount(text: string): number {
  const count = Number(text);
  if (/^\d{4,12}$/.test(text) && count >= KEPT_MESSAGES_MIN) return count;
  throw new CommandFailure(`--keep takes a whole number from ${KEPT_MESSAGES_MIN}`, EXIT_USAGE);
}
