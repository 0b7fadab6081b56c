// Check of the ordered log's servers before this node joins: none may lose in a power cut what it
// acknowledges.
import { MESSAGE_BYTES_MAX } from "../../ledger/ordered/message.ts";
import type { Log } from "../../platform/log.ts";
import { ClusterRefused } from "../../stream/ordered-log.ts";
import { fetchServerFacts, describeServerFault, proveServers } from "../../stream/server-proof.ts";
import type { OnFatal } from "../closers.ts";
import { CommandFailure, EXIT_USAGE } from "../failure.ts";
import type { ClusterConfig } from "../settings/cluster-settings.ts";

/** Interval in ms between two questions to a server that did not answer at the start. */
const PROVE_AGAIN_MS = 5000;

/**
 * Proves those that answer, which are most of them, and the others as soon as they do.
 * @throws CommandFailure: the sentence says how to mend it.
 */
export async function prove(config: ClusterConfig, log: Log, onFatal: OnFatal): Promise<void> {
  const { monitors, isUnsafe } = config;
  const silent = (monitor: string, error: ClusterRefused) => {
    log.warn("cluster_server_silent", { detail: error.message });
    proveLater(monitor, isUnsafe, log, onFatal);
  };
  try {
    await proveServers(monitors, MESSAGE_BYTES_MAX, silent);
  } catch (error) {
    if (!(error instanceof ClusterRefused)) throw error;
    if (!isUnsafe) throw new CommandFailure(error.message, EXIT_USAGE);
    log.warn("cluster_unsafe", { detail: error.message });
  }
}

/** Proves a server that did not answer at the start as soon as it does. */
function proveLater(monitor: string, isUnsafe: boolean, log: Log, onFatal: OnFatal): void {
  const again = () => proveLater(monitor, isUnsafe, log, onFatal);
  const ask = async () => {
    const facts = await fetchServerFacts(monitor).catch(() => undefined);
    if (facts === undefined) return again();
    const fault = describeServerFault(facts, MESSAGE_BYTES_MAX);
    if (fault === undefined) log.info("cluster_server_proved", { monitor });
    else if (isUnsafe) log.warn("cluster_unsafe", { detail: fault });
    else onFatal(EXIT_USAGE, fault);
  };
  setTimeout(() => void ask(), PROVE_AGAIN_MS).unref();
}
