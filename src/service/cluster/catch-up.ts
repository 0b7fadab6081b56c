// Waits of a starting node for its cluster's log: bounded by the time without progress, with a line in the service's log
// every ten seconds. A node that cannot follow ends instead of standing without a port.
import type { Log, LogFields } from "../../platform/log.ts";
import { readMonotonicMs } from "../../platform/moment.ts";
import type { StreamMetrics } from "../../stream/metrics.ts";
import { pause } from "../../stream/retries.ts";
import { CommandFailure, EXIT_FAILED } from "../failure.ts";

/** Interval in ms between two looks whether this node has caught up. */
const POLL_MS = 50;
/** Interval in ms between two lines about a wait. */
const LINE_INTERVAL_MS = 10_000;
/** Messages behind the newest known from which on each one applied is progress. */
const FAR_BEHIND_MESSAGES = 1000;

export interface CatchUpOptions {
  readonly figures: StreamMetrics;
  readonly log: Pick<Log, "info">;
  /** Longest time in ms without progress. */
  readonly stallMs: number;
  /** `host:port` of the log's servers, and their monitoring pages. */
  readonly servers: readonly string[];
  readonly monitors: readonly string[];
  /** Why this node ends for another reason; undefined while it does not. */
  readonly findFailure: () => CommandFailure | undefined;
}

/**
 * Resolves once everything that stood in the log at this moment is applied.
 * @throws CommandFailure with exit code 1 after `stallMs` without progress; what `findFailure` returns.
 */
export async function waitUntilCaughtUp(options: CatchUpOptions): Promise<void> {
  const { figures, log } = options;
  const describe = () => ({
    applied: figures.applied,
    known: figures.known,
    connected: figures.isConnected,
    leader_known: figures.hasLeader(),
    detail: describeWait(figures),
  });
  await logWhileWaiting(log, describe, pollUntilCaughtUp(options));
}

async function pollUntilCaughtUp(options: CatchUpOptions): Promise<void> {
  const { figures, stallMs, findFailure } = options;
  const sinceMs = readMonotonicMs();
  const progress = new CatchUpProgress(figures, sinceMs);
  while (figures.caughtUpMonotonicMs < sinceMs) {
    const failure = findFailure();
    if (failure !== undefined) throw failure;
    if (progress.measureStallMs(readMonotonicMs()) >= stallMs) throw createStallFailure(options);
    // oxlint-disable-next-line no-await-in-loop -- looks again
    await pause(POLL_MS);
  }
}

/** Logs `describe()` every ten seconds until `work` settles; then settles as it does. */
export async function logWhileWaiting<T>(
  log: Pick<Log, "info">,
  describe: () => LogFields,
  work: Promise<T>,
): Promise<T> {
  const timer = setInterval(() => log.info("cluster_waiting", describe()), LINE_INTERVAL_MS);
  try {
    return await work;
  } finally {
    clearInterval(timer);
  }
}

/**
 * Progress is a further message applied, until the node has once applied the newest message it knew, and wherever it is
 * far behind. Else only a proof of freshness ends the wait: other nodes append every second, and a node that cannot append
 * itself would apply their messages for ever.
 */
class CatchUpProgress {
  readonly #figures: Pick<StreamMetrics, "applied" | "known">;
  #applied = 0;
  #progressAtMs: number;
  #hasReachedNewest = false;

  constructor(figures: Pick<StreamMetrics, "applied" | "known">, nowMs: number) {
    this.#figures = figures;
    this.#progressAtMs = nowMs;
  }

  /** Ms since the last progress. */
  measureStallMs(nowMs: number): number {
    const { applied, known } = this.#figures;
    const isBehind = !this.#hasReachedNewest || known - applied > FAR_BEHIND_MESSAGES;
    if (applied > this.#applied && isBehind) this.#progressAtMs = nowMs;
    this.#applied = applied;
    if (applied > 0 && applied >= known) this.#hasReachedNewest = true;
    return nowMs - this.#progressAtMs;
  }
}

function describeWait(figures: StreamMetrics): string {
  const { applied, known, isConnected } = figures;
  const place = `message ${applied} of ${known} known ones is applied`;
  if (!isConnected) return `no server of the log is connected; ${place}`;
  if (applied < known) return place;
  return figures.hasLeader()
    ? `waiting until the newest acknowledged message is applied; ${place}`
    : `no majority of the log's servers acknowledges what this node sends; ${place}`;
}

/** What to do where no majority of the log's servers answers; the commands of a cluster need one, too. */
export function adviseServerCheck(monitors: readonly string[]): string {
  const pages = monitors.map((monitor) => new URL("/healthz", monitor).href);
  return `see that most of the log's servers run and have met: \`curl -s ${pages.join(" ")}\``;
}

function createStallFailure(options: CatchUpOptions): CommandFailure {
  const { figures, stallMs, servers, monitors } = options;
  const isUnapplied = figures.isConnected && figures.applied < figures.known;
  const advice = isUnapplied
    ? `check this node's disk space, the lines before this one and \`trustrank cluster status --cluster ${servers.join(",")}\``
    : adviseServerCheck(monitors);
  return new CommandFailure(
    `this node cannot follow the log of its cluster: ${stallMs / 1000} s without progress (TRUSTRANK_CLUSTER_START_SEC), ${describeWait(figures)}; ${advice}`,
    EXIT_FAILED,
  );
}
