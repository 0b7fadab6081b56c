// `trustrank cluster restore`: a new log behind the nodes' journals, when the former one is lost or was
// changed, or when a bureau that was alone becomes the first node.
import { existsSync } from "node:fs";
import { claimDataDirectory, type DataDirectoryClaim } from "../../journal/data-directory.ts";
import { diskFileLayer } from "../../platform/files.ts";
import {
  buildRulesMessage,
  MESSAGE_RULES_VERSION,
  type OrderedMessage,
  formatLogBeginning,
} from "../../ledger/ordered/message.ts";
import {
  extendToLongest,
  selectLongestJournal,
  type NodeJournal,
  recoverNodeJournal,
  ClusterRestoreRefused,
  appendFirstMark,
} from "../../ledger/ordered/cluster-restore.ts";
import { CommandFailure, EXIT_DAMAGED } from "../../service/failure.ts";
import type { OrderedLog } from "../../stream/ordered-log.ts";
import { createClaimOptions } from "../data-access.ts";
import { printNote, print, printJson } from "../output.ts";
import {
  type ClusterFlags,
  loadClusterSecret,
  requireClusterConfig,
  withOrderedLog,
} from "./ordered-log.ts";

/** Longest time that the first message is tried. */
const APPEND_MS = 30_000;

/** May be run again after whatever stopped it. */
export async function restoreCluster(dirs: readonly string[], flags: ClusterFlags): Promise<void> {
  const config = requireClusterConfig(flags);
  const claims: DataDirectoryClaim[] = [];
  try {
    for (const dir of dirs) assertDirectoryExists(dir);
    for (const dir of new Set(dirs))
      claims.push(await claimDataDirectory(dir, createClaimOptions(0)));
    const nodes = claims.map((claim) => recoverNodeJournal(diskFileLayer, claim));
    const longest = selectLongestJournal(diskFileLayer, nodes);
    for (const node of nodes)
      reportRestoredJournal(node, extendToLongest(diskFileLayer, node, longest));
    const secret = loadClusterSecret(longest.claim.paths.bureauKey);
    const beginsAfter = longest.mark?.generation ?? 0;
    const { generation, message } = await withOrderedLog(
      config,
      { beginsAfter, secret },
      async (log) => ({
        generation: log.generation,
        message: await appendFirstMessage(log, longest),
      }),
    );
    for (const node of nodes) appendFirstMark(diskFileLayer, node, generation, message);
    const { lsn, chain } = longest.tail;
    const after = { position: lsn, chain: chain.toString("hex") };
    if (flags.json === true) printJson({ generation, nodes: nodes.length, after });
    else print(`generation ${generation} goes on behind position ${lsn}: start the nodes`);
  } catch (error) {
    if (!(error instanceof ClusterRestoreRefused)) throw error;
    throw new CommandFailure(error.message, EXIT_DAMAGED);
  } finally {
    for (const claim of claims) await claim.release();
  }
}

/** A claim would make the directory. */
function assertDirectoryExists(dir: string): void {
  if (!existsSync(dir)) throw new ClusterRestoreRefused(`there is no \`${dir}\``);
}

function reportRestoredJournal({ claim, tail }: NodeJournal, copied: number): void {
  const more = copied === 0 ? "" : `, ${copied} bytes copied from the longest`;
  printNote(`${claim.paths.root}: ${tail.lsn} records${more}`);
}

/** Says in the log which journal it goes on from. @throws CommandFailure when others write already. */
async function appendFirstMessage(
  log: OrderedLog,
  { tail, key }: NodeJournal,
): Promise<OrderedMessage> {
  const level = { rules: MESSAGE_RULES_VERSION, key: key.publicKey.toString("hex") };
  const after = { lsn: tail.lsn, chain: tail.chain.toString("hex") };
  const first = { ...buildRulesMessage(level, 0), origin: formatLogBeginning(after, level) };
  const seq = await log.append(first, APPEND_MS);
  if (seq !== 1) throw new CommandFailure("a node writes to the log already: stop all nodes");
  return new Promise((resolve) => {
    const following = log.follow(1, (message) => {
      following.stop();
      resolve(message);
    });
  });
}
