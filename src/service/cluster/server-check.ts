// Check of the ordered log's servers before this node joins: none may lose in a power cut what it
// acknowledges.
import { MESSAGE_BYTES_MAX } from "../../ledger/ordered/message.ts";
import type { Log } from "../../platform/log.ts";
import { ClusterRefused } from "../../stream/ordered-log.ts";
import { fetchServerFacts, describeServerFault, verifyServers } from "../../stream/server-proof.ts";
import type { FatalHandler } from "../closers.ts";
import { CommandFailure, EXIT_USAGE } from "../failure.ts";
import type { ClusterConfig } from "../settings/cluster-config.ts";

/** Interval in ms between two questions to a server that did not answer at the start. */
const RECHECK_INTERVAL_MS = 5000;

/**
 * Proves those that answer, which are most of them, and the others as soon as they do.
 * @throws CommandFailure: the sentence says how to mend it.
 */
export async function checkLogServers(
  config: ClusterConfig,
  log: Log,
  onFatal: FatalHandler,
): Promise<void> {
  const { monitors, isUnsafe } = config;
  const silent = (monitor: string, error: ClusterRefused) => {
    log.warn("cluster_server_silent", { detail: error.message });
    checkLogServerLater(monitor, isUnsafe, log, onFatal);
  };
  try {
    await verifyServers(monitors, MESSAGE_BYTES_MAX, silent);
  } catch (error) {
    if (!(error instanceof ClusterRefused)) throw error;
    if (!isUnsafe) throw new CommandFailure(error.message, EXIT_USAGE);
    log.warn("cluster_unsafe", { detail: error.message });
  }
}

/** Proves a server that did not answer at the start as soon as it does. */
function checkLogServerLater(
  monitor: string,
  isUnsafe: boolean,
  log: Log,
  onFatal: FatalHandler,
): void {
  const again = () => checkLogServerLater(monitor, isUnsafe, log, onFatal);
  const ask = async () => {
    const facts = await fetchServerFacts(monitor).catch(() => undefined);
    if (facts === undefined) return again();
    const fault = describeServerFault(facts, MESSAGE_BYTES_MAX);
    if (fault === undefined) log.info("cluster_server_proved", { monitor });
    else if (isUnsafe) log.warn("cluster_unsafe", { detail: fault });
    else onFatal(EXIT_USAGE, fault);
  };
  setTimeout(() => void ask(), RECHECK_INTERVAL_MS).unref();
}
