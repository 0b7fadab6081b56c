// A node's part in a cluster: the servers proved, the stream thread started, the way to the ledger laid.
// Undefined everywhere where the process is the whole bureau.
import type { Leadership } from "../../kaizen/service/options.ts";
import { type ClusterJob, CLUSTER_JOBS, StreamMetrics } from "../../stream/metrics.ts";
import { NODE_AWAY_MS } from "../../stream/living-nodes.ts";
import type { StreamThreadData, MessageToStreamThread } from "../../threads/stream.ts";
import { hash, randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { MessageChannel, Worker } from "node:worker_threads";
import type { ClusterState } from "../../contract/schemas/cluster/state.ts";
import { LagGuard, SCORE_READS_FACTOR } from "../../http/access/lag-guard.ts";
import type { DataDirectoryClaim } from "../../journal/data-directory.ts";
import { diskFileLayer } from "../../platform/files.ts";
import { loadOrCreateDirectoryId } from "../../journal/ownership/directory-id.ts";
import { parseSegmentNames } from "../../journal/format.ts";
import { deriveLogSecret, loadBureauKey } from "../../journal/signing-key.ts";
import type { StreamThreadLink } from "../../ledger/messages.ts";
import { loadOrCreateServiceId } from "../../ledger/service-id.ts";
import type { Log } from "../../platform/log.ts";
import { type SpoolPosition, resolveSegmentsDirectory } from "../../store/decisions/segments.ts";
import type { ClusterView } from "../../stream/reports.ts";
import type { StreamEvent } from "../../stream/stream-event.ts";
import type { FatalHandler } from "../closers.ts";
import { withDeadline } from "../../concurrency/deadline.ts";
import {
  CommandFailure,
  EXIT_DAMAGED,
  EXIT_FAILED,
  EXIT_SYNC_FAILED,
  EXIT_USAGE,
} from "../failure.ts";
import { adviseServerCheck, logWhileWaiting, waitUntilCaughtUp } from "./catch-up.ts";
import { ChangePropagation } from "./propagation.ts";
import { buildClusterOverview, listSealProblems } from "./overview.ts";
import { readPackageVersion } from "../identity.ts";
import type { ClusterConfig } from "../settings/cluster-config.ts";
import { MESSAGE_BYTES_MAX } from "../../ledger/ordered/message.ts";
import { ClusterRefused, StreamUnavailable } from "../../stream/ordered-log.ts";
import { retryUntilAvailable } from "../../stream/retries.ts";
import { describeServerFault, fetchServerFacts, verifyServers } from "../../stream/server-proof.ts";

const STREAM_FAILED = "the thread of the ordered log has failed: ending, the log says why";

/** Of chance, which tell one start of a node from another. */
const ORIGIN_BYTES = 6;
/** Interval in ms at which the stream thread is told what is on disk. */
const SPOOL_POSITION_INTERVAL_MS = 1000;
/** Interval in ms between two questions to a server that did not answer at the start. */
const RECHECK_INTERVAL_MS = 5000;

/** Exit codes of a node that the cluster ends. */
const ENDING_CODES = { diverged: EXIT_DAMAGED, displaced: EXIT_USAGE } as const;

export interface OpenCluster {
  readonly node: string;
  /** For the ledger thread. */
  readonly link: StreamThreadLink;
  readonly figures: StreamMetrics;
  /** What the last look at the whole cluster has found; undefined before the first. */
  overview(): ClusterState | undefined;
  /** Of that look: reports and generations of the log that no node has sealed. */
  warnings(): readonly string[];
  /**
   * Resolves once everything that stood in the log at this moment is applied.
   * @throws CommandFailure when the log turns out to be another, or to lack what comes next, or after
   *   `TRUSTRANK_CLUSTER_START_SEC` without progress.
   */
  caughtUp(): Promise<void>;
  /** The ledger has failed: `caughtUp` throws this, now or when it is called. */
  endCatchingUp(why: string, exitCode: number): void;
  /** On how many nodes what is in the log is in force. */
  readonly effect: ChangePropagation;
  /** Jobs that one node does for all. */
  readonly leaderships: Leaderships;
  /** Refuses keys while this node is cut off. */
  lagGuard(clock: () => number): LagGuard;
  /** Resolves once the thread has ended; the ledger's end ends it. */
  close(): Promise<void>;
}

export interface ClusterOptions {
  readonly config: ClusterConfig;
  readonly claim: DataDirectoryClaim;
  readonly log: Log;
  readonly onFatal: FatalHandler;
  /** Up to where own decisions are on disk: they are sent to nodes that keep copies. */
  readonly written: () => SpoolPosition;
}

/**
 * Proves the servers and starts the thread. Returns once the log answers.
 * @throws CommandFailure when the cluster is refused: the sentence says how to mend it.
 */
export async function openCluster(options: ClusterOptions): Promise<OpenCluster> {
  const { config, claim, log, onFatal, written } = options;
  await checkLogServers(config, log, onFatal);
  const { worker, port, figures, origin } = startStreamThread(config, claim);
  let isJoined = false;
  let isClosing = false;
  /** Why this journal does not go on along the log: what is waited for does not come. */
  let lost: CommandFailure | undefined;
  let seen: SeenView | undefined;
  const exited = new Promise<void>((resolve) => {
    worker.once("exit", () => {
      resolve();
      if (isJoined && !isClosing) onFatal(EXIT_SYNC_FAILED, STREAM_FAILED);
    });
  });
  const leaderships = new Leaderships(figures, Date.now);
  const toStream = (message: MessageToStreamThread) => worker.postMessage(message);
  const listOthers = () => seen?.view.reports.map(([name]) => name) ?? [];
  const effect = openPropagation(config, toStream, listOthers);
  const generation = await awaitLogGeneration(worker, config, log);
  const shipping = setInterval(
    () => toStream({ kind: "written", mark: written() }),
    SPOOL_POSITION_INTERVAL_MS,
  );
  isJoined = true;
  worker.on("message", (event: StreamEvent) => {
    if (event.kind === "ended") isClosing = true;
    else if (event.kind === "diverged" || event.kind === "displaced") {
      lost = new CommandFailure(event.detail, ENDING_CODES[event.kind]);
      onFatal(ENDING_CODES[event.kind], event.detail);
    } else if (event.kind === "leads") applyLeadershipChange(event, leaderships, log);
    else if (event.kind === "spread") effect.take(event);
    else if (event.kind === "view") seen = rememberView(event.view);
    else if (event.kind === "note") log.warn(event.event, { detail: event.detail });
  });
  worker.on("error", (error) => log.error("stream_thread_failed", { detail: String(error) }));
  log.info("cluster_joined", { node: config.node, generation, servers: config.servers });
  return {
    node: config.node,
    link: { port, origin, generation },
    figures,
    leaderships,
    endCatchingUp: (why, exitCode) => {
      lost ??= new CommandFailure(why, exitCode);
    },
    effect,
    warnings: () => (seen === undefined ? [] : listSealProblems(seen.view)),
    overview: () => seen && describeSeenView(config.name, seen),
    caughtUp: () => waitUntilCaughtUp({ ...config, figures, log, findFailure: () => lost }),
    lagGuard: (clock) => new LagGuard(figures, config.refuseMs, clock),
    close: async () => {
      isClosing = true;
      clearInterval(shipping);
      port.close();
      await exited;
    },
  };
}

/** A look at the cluster: when it was taken, epoch ms and monotonic. */
interface SeenView {
  readonly view: ClusterView;
  readonly atMs: number;
  readonly readAt: number;
}

function rememberView(view: ClusterView): SeenView {
  return { view, atMs: Date.now(), readAt: performance.now() };
}

function describeSeenView(name: string, { view, atMs, readAt }: SeenView): ClusterState {
  return buildClusterOverview(name, view, { atMs, sinceMs: performance.now() - readAt });
}

function openPropagation(
  config: ClusterConfig,
  toStream: (message: MessageToStreamThread) => void,
  listOthers: () => readonly string[],
): ChangePropagation {
  return new ChangePropagation({
    ask: (question) => toStream({ kind: "spread", ...question }),
    node: config.node,
    listOthers,
    boundMs: computeRefusalMs(config),
    clock: Date.now,
  });
}

function applyLeadershipChange(
  { job, isHeld }: StreamEvent & { kind: "leads" },
  leaderships: Leaderships,
  log: Log,
): void {
  if (!isHeld) return log.info("lease_lost", { job });
  log.info("lease_taken", { job });
  leaderships.taken(job);
}

/** The thread, and the ledger's end of the way to it. */
function startStreamThread(config: ClusterConfig, claim: DataDirectoryClaim) {
  const { port1, port2 } = new MessageChannel();
  const figures = new StreamMetrics();
  // Epochs begin anew where a disk was lost or restored: its numbers must not be taken for repeats.
  const start = randomBytes(ORIGIN_BYTES).toString("hex");
  const origin = `${config.node}:${claim.epoch}:${start}`;
  const key = loadPublicKeyHex(claim);
  // Every node signs for the same deployment.
  loadOrCreateServiceId(claim.paths, () => `trustrank:${hash("sha256", key).slice(0, 32)}`);
  const data: StreamThreadData = {
    settings: {
      servers: config.servers,
      credentialsFile: config.credentialsFile,
      ...(config.tls && { tls: config.tls }),
      secret: { secret: deriveLogSecret(claim.paths.bureauKey), key },
      name: config.name,
      bytesMax: config.streamBytesMax,
      decisionBytesMax: config.decisionBytesMax,
    },
    port: port2,
    node: config.node,
    holder: {
      directory: loadOrCreateDirectoryId(claim.paths.root),
      host: claim.owner.host,
      epoch: claim.epoch,
    },
    origin,
    version: readPackageVersion(),
    url: config.url,
    role: config.role,
    segments: resolveSegmentsDirectory(claim.paths.root),
    key,
    // One that is cut off answers reads for as long.
    awayMs: Math.max(NODE_AWAY_MS, computeRefusalMs(config)),
    figures: figures.memory,
    keep: config.keepMessages,
    jobs: config.isKaizenScheduled ? CLUSTER_JOBS : CLUSTER_JOBS.filter((job) => job !== "kaizen"),
  };
  const worker = new Worker(new URL("../../threads/stream.ts", import.meta.url), {
    name: "stream",
    workerData: data,
    transferList: [port2],
  });
  return { worker, port: port1, figures, origin };
}

/** Ms after which a node without its cluster takes no key any more, for reads of scores either. */
function computeRefusalMs({ refuseMs }: ClusterConfig): number {
  return refuseMs * SCORE_READS_FACTOR;
}

/** In hex. Made where there is neither a key nor a journal that it should have signed. */
function loadPublicKeyHex({ paths }: DataDirectoryClaim): string {
  const isNew =
    !existsSync(paths.journal) || parseSegmentNames(diskFileLayer.list(paths.journal)).length === 0;
  return loadBureauKey(paths.bureauKey, isNew).publicKey.toString("hex");
}

/**
 * The generation of the log, once the thread is connected.
 * @throws CommandFailure when the thread is refused, fails, or is not connected in time; the thread is ended then.
 */
async function awaitLogGeneration(
  worker: Worker,
  { servers, monitors, stallMs }: ClusterConfig,
  log: Log,
): Promise<number> {
  const detail = `connecting to the servers of the log: ${servers.join(", ")}`;
  const advice = adviseServerCheck(monitors);
  const ready = withDeadline(awaitReadyEvent(worker, advice), stallMs, () => {
    throw new CommandFailure(
      `the ordered log is not to be had: no answer for ${stallMs / 1000} s (TRUSTRANK_CLUSTER_START_SEC); ${advice}`,
    );
  });
  try {
    return await logWhileWaiting(log, () => ({ detail }), ready);
  } catch (error) {
    // A thread that was refused ends by itself; one that hangs would keep a process that has failed.
    await worker.terminate();
    throw error;
  }
}

/** `advice` is added to what a further start may find mended. */
function awaitReadyEvent(worker: Worker, advice: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const onMessage = (event: StreamEvent) => {
      if (event.kind === "ready") settle(() => resolve(event.generation));
      else if (event.kind === "refused") {
        if (event.isPermanent) fail(event.detail, EXIT_USAGE);
        else fail(`${event.detail}; ${advice}`);
      }
    };
    const onError = (error: Error) => fail(error.message);
    const onExit = () => fail(STREAM_FAILED);
    const fail = (detail: string, exitCode?: number) =>
      settle(() => reject(new CommandFailure(detail, exitCode)));
    const settle = (act: () => void) => {
      worker.off("message", onMessage).off("error", onError).off("exit", onExit);
      act();
    };
    worker.on("message", onMessage).on("error", onError).on("exit", onExit);
  });
}

class Leaderships {
  readonly #figures: StreamMetrics;
  readonly #clock: () => number;
  readonly #calls = new Map<ClusterJob, (() => void)[]>();

  /** `clock` is epoch ms, as the stream thread's. */
  constructor(figures: StreamMetrics, clock: () => number) {
    this.#figures = figures;
    this.#clock = clock;
  }

  /** A job has become this node's. */
  taken(job: ClusterJob): void {
    for (const call of this.#calls.get(job) ?? []) call();
  }

  of(job: ClusterJob): Leadership {
    const isHeld = () => this.#figures.isJobOwner(job, this.#clock());
    return {
      get isHeld() {
        return isHeld();
      },
      onTaken: (call) => {
        this.#calls.set(job, [...(this.#calls.get(job) ?? []), call]);
      },
    };
  }
}

/**
 * Checks that no server of the log may lose in a power cut what it acknowledges: those that answer now, the others
 * as soon as they do.
 * @throws CommandFailure: the sentence says how to mend it.
 */
async function checkLogServers(
  config: ClusterConfig,
  log: Log,
  onFatal: FatalHandler,
): Promise<void> {
  const { monitors, isUnsafe } = config;
  const silent = (monitor: string, error: Error) => {
    log.warn("cluster_server_silent", { detail: error.message });
    checkLogServerLater(monitor, isUnsafe, log, onFatal);
  };
  try {
    const detail = "waiting until most of the log's servers show their monitoring pages";
    const verify = () => verifyServers(monitors, MESSAGE_BYTES_MAX, silent);
    const verified = retryUntilAvailable(verify, isUnsafe ? 0 : undefined);
    await logWhileWaiting(log, () => ({ detail }), verified);
  } catch (error) {
    const isRefused = error instanceof ClusterRefused;
    if (!isRefused && !(error instanceof StreamUnavailable)) throw error;
    // Servers that do not answer may yet: the next start asks them again.
    if (!isUnsafe) throw new CommandFailure(error.message, isRefused ? EXIT_USAGE : EXIT_FAILED);
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
