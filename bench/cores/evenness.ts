// Evenness of connections over HTTP threads, and what kept a service from answering more: read off
// the service's own counters and the machine's idle time.
import { readFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { metricsOf } from "../load/filled-service.ts";
import { rounded } from "../load/spread.ts";

/** Counters of all HTTP threads, in the order of threads, and of the machine, at one time. */
export interface Mark {
  readonly atMs: number;
  readonly requests: readonly number[];
  readonly busySec: readonly number[];
  readonly idleSec: number;
}

/** Between two marks. Shares are 0 to 1. */
export interface Evenness {
  readonly requests: readonly number[];
  /** The fullest and the emptiest thread's requests against the mean; 1 and 1 when even. */
  readonly most_to_mean: number;
  readonly least_to_mean: number;
  readonly busy: readonly number[];
  readonly machine_idle: number;
}

export const LIMITS = ["HTTP threads", "skew of connections", "cores", "callers"] as const;
export type Limit = (typeof LIMITS)[number];

const TICKS_PER_SECOND = 100;
const IDLE_FIELD = 4;
const FULL = 0.9;
const NO_CORE_LEFT = 0.08;

/** Values of a counter with the label `thread`, in the order of threads. */
export function byThread(metrics: string, name: string): number[] {
  const line = new RegExp(`^trustrank_${name}\\{thread="(\\d+)"\\} (\\S+)$`, "gm");
  const found = [...metrics.matchAll(line)].map(([, at, value]) => [Number(at), Number(value)]);
  return found.toSorted(([one], [other]) => one! - other!).map(([, value]) => value!);
}

export async function markOf(url: string): Promise<Mark> {
  const metrics = await metricsOf(url);
  const [all = ""] = readFileSync("/proc/stat", "utf8").split("\n");
  return {
    atMs: performance.now(),
    requests: byThread(metrics, "http_thread_requests_total"),
    busySec: byThread(metrics, "http_thread_busy_seconds_total"),
    idleSec: Number(all.split(/\s+/)[IDLE_FIELD]) / TICKS_PER_SECOND,
  };
}

export function evennessOf(
  before: Mark,
  after: Mark,
  cores: number = availableParallelism(),
): Evenness {
  const seconds = (after.atMs - before.atMs) / 1000;
  const requests = after.requests.map((count, at) => count - before.requests[at]!);
  const mean = requests.reduce((sum, count) => sum + count, 0) / requests.length;
  return {
    requests,
    most_to_mean: rounded(Math.max(...requests) / mean),
    least_to_mean: rounded(Math.min(...requests) / mean),
    busy: after.busySec.map((sec, at) => rounded((sec - before.busySec[at]!) / seconds)),
    machine_idle: rounded((after.idleSec - before.idleSec) / (seconds * cores)),
  };
}

/** Threads that are all full are the limit even on a full machine: one more would only share its core. */
export function limitOf({ busy, machine_idle }: Evenness): Limit {
  if (Math.min(...busy) >= FULL) return "HTTP threads";
  if (machine_idle < NO_CORE_LEFT) return "cores";
  return Math.max(...busy) >= FULL ? "skew of connections" : "callers";
}
