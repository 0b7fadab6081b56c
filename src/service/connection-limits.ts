// Connections that the process may hold: what its limit of descriptors leaves beside files, database
// and threads. Without a bound of its own the service would be ended by whoever opens a thousand
// connections: the next file that it needs would not open.
import { GRPC_CONNECTIONS_MAX } from "../http/grpc/bounds.ts";
import { LOCAL_CONNECTIONS_MAX } from "../http/server/connections.ts";
import { computeDefaultThreads } from "../platform/pool.ts";
import type { ServeConfig } from "./settings/config.ts";
import { readFileSync } from "node:fs";
import { CommandFailure } from "./failure.ts";

/** Journal, database, spool, snapshots and texts: some 60 at rest; the rest is for what comes. */
const DESCRIPTORS_FOR_FILES = 192;
/** Event loop of one thread: 6. */
const DESCRIPTORS_PER_THREAD = 6;
/** Unless set: each takes some 10 kB even where descriptors are free. */
const CONNECTIONS_MAX = 20_000;
/** Fewer are no service. */
const CONNECTIONS_MIN = 16;
/** Where the system does not tell. */
const DEFAULT_DESCRIPTOR_LIMIT = 1024;

/**
 * Most connections of the process.
 * @param wanted the operator's number; undefined: as many as fit.
 * @param threads threads that serve or score.
 * @param others connections that are bounded elsewhere.
 * @throws CommandFailure when the limit is too low for `wanted`, or for any service.
 */
export function computeConnectionsMax(
  wanted: number | undefined,
  descriptors: number,
  threads: number,
  others = 0,
): number {
  const reserved = DESCRIPTORS_FOR_FILES + DESCRIPTORS_PER_THREAD * threads + others;
  const free = descriptors - reserved;
  const least = wanted ?? CONNECTIONS_MIN;
  if (free < least) {
    throw new CommandFailure(
      `${least} connections need ${least + reserved} descriptors and the limit is ${descriptors}: ` +
        "raise it (`ulimit -n`, LimitNOFILE)" +
        (wanted === undefined ? "" : " or lower TRUSTRANK_CONNECTIONS_MAX"),
    );
  }
  return wanted ?? Math.min(free, CONNECTIONS_MAX);
}

/** Descriptors that this process may open, the soft limit. */
export function readDescriptorLimit(read = readLimits): number {
  const soft = /^Max open files\s+(\d+|unlimited)/m.exec(read())?.[1];
  if (soft === undefined) return DEFAULT_DESCRIPTOR_LIMIT;
  return soft === "unlimited" ? Number.POSITIVE_INFINITY : Number(soft);
}

/** Linux only: elsewhere nothing is known. */
function readLimits(): string {
  try {
    return readFileSync("/proc/self/limits", "utf8");
  } catch {
    return "";
  }
}

/** Pools of threads besides: signatures, scoring. */
const POOLS = 2;

/** Connections of one thread: the kernel deals them out evenly enough. */
export function computeThreadLimits(config: ServeConfig): { connectionsMax: number } {
  const { connectionsMax, httpThreads, grpc, sockets } = config;
  const threads = httpThreads + POOLS * computeDefaultThreads();
  const local = sockets.paths.length === 0 ? 0 : LOCAL_CONNECTIONS_MAX;
  const others = local + (grpc === undefined ? 0 : GRPC_CONNECTIONS_MAX);
  const ofAll = computeConnectionsMax(connectionsMax, readDescriptorLimit(), threads, others);
  return { connectionsMax: Math.ceil(ofAll / httpThreads) };
}
