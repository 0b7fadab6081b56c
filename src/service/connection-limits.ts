// Bound of open connections of one HTTP thread: what is set, within what descriptors allow.
import { GRPC_CONNECTIONS_MAX } from "../http/grpc/bounds.ts";
import { defaultThreads } from "../platform/pool.ts";
import { connectionsMaxOf, descriptorLimit } from "./descriptors.ts";
import type { ServeConfig } from "./settings/config.ts";

/** Pools of threads besides: signatures, scoring. */
const POOLS = 2;

/** Connections of one thread: the kernel deals them out evenly enough. */
export function limitsOf({ connectionsMax, httpThreads, grpc }: ServeConfig): {
  connectionsMax: number;
} {
  const threads = httpThreads + POOLS * defaultThreads();
  const others = grpc === undefined ? 0 : GRPC_CONNECTIONS_MAX;
  const ofAll = connectionsMaxOf(connectionsMax, descriptorLimit(), threads, others);
  return { connectionsMax: Math.ceil(ofAll / httpThreads) };
}
