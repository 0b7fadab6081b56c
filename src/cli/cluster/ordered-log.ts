// The log of a cluster as the commands open it.
import { existsSync } from "node:fs";
import { resolveDataPaths } from "../../journal/data-directory.ts";
import type { OutputFlags } from "../output.ts";
import { deriveLogSecret, loadBureauKey } from "../../journal/signing-key.ts";
import { CommandFailure, EXIT_USAGE } from "../../service/failure.ts";
import { type ClusterConfig, parseClusterConfig } from "../../service/settings/cluster-config.ts";
import type { ClusterSecret } from "../../stream/seal.ts";
import { type NatsSettings, openNatsLog } from "../../stream/nats-log.ts";
import type { OrderedLog } from "../../stream/ordered-log.ts";
import { readEnvironment } from "../environment.ts";

/** Bytes of another node's segment that are taken: it is held in memory while it is verified. */
export const FETCHED_SEGMENT_BYTES_MAX = 256 * 1024 * 1024;

export interface ClusterFlags extends OutputFlags {
  readonly cluster?: string;
}

/** @throws CommandFailure where no servers are named. */
export function requireClusterConfig(flags: ClusterFlags): ClusterConfig {
  const config = parseClusterConfig(flags, readEnvironment());
  if (config !== undefined) return config;
  throw new CommandFailure(
    "name the servers of the log: --cluster or TRUSTRANK_CLUSTER",
    EXIT_USAGE,
  );
}

/** Of the bureau key in that file. @throws the file system's error, FileUnusable. */
export function loadClusterSecret(path: string): ClusterSecret {
  const key = loadBureauKey(path, false).publicKey.toString("hex");
  return { secret: deriveLogSecret(path), key };
}

/** Of a data directory; undefined where it has no bureau key: without one no seal can be checked. */
export function findClusterSecret(dataDir: string): ClusterSecret | undefined {
  const { bureauKey } = resolveDataPaths(dataDir);
  return existsSync(bureauKey) ? loadClusterSecret(bureauKey) : undefined;
}

/** Opens the log for one piece of work. @throws CommandFailure with the log's sentence. */
export async function withOrderedLog<T>(
  config: ClusterConfig,
  how: Pick<NatsSettings, "onlyReads" | "beginsAfter" | "secret">,
  act: (log: OrderedLog) => Promise<T>,
): Promise<T> {
  const { servers, credentialsFile, tls, name, streamBytesMax: bytesMax } = config;
  const settings = { servers, credentialsFile, name, bytesMax, ...(tls && { tls }) };
  const log = await openNatsLog({ ...settings, ...how, log: () => undefined }).catch(
    rethrowAsCommandFailure,
  );
  try {
    return await act(log).catch(rethrowAsCommandFailure);
  } finally {
    await log.close();
  }
}

function rethrowAsCommandFailure(error: unknown): never {
  if (error instanceof CommandFailure) throw error;
  throw new CommandFailure((error as Error).message);
}
