// Bound of open connections of one HTTP thread: what is set, within what descriptors allow.
import { GRPC_CONNECTIONS_MAX } from "../http/grpc/bounds.ts";
import { LOCAL_CONNECTIONS_MAX } from "../http/server/connections.ts";
import { defaultThreads } from "../platform/pool.ts";
import { connectionsMaxOf, descriptorLimit } from "./descriptors.ts";
import type { ServeConfig } from "./settings/config.ts";

/** Pools of threads besides: signatures, scoring. */
const POOLS = 2;

/** Connections of one thread: the kernel deals them out evenly enough. */
export function limitsOf(config: ServeConfig): { connectionsMax: number } {
  const { connectionsMax, httpThreads, grpc, sockets } = config;
  const threads = httpThreads + POOLS * defaultThreads();
  const local = sockets.paths.length === 0 ? 0 : LOCAL_CONNECTIONS_MAX;
  const others = local + (grpc === undefined ? 0 : GRPC_CONNECTIONS_MAX);
  const ofAll = connectionsMaxOf(connectionsMax, descriptorLimit(), threads, others);
  return { connectionsMax: Math.ceil(ofAll / httpThreads) };
}
