// Listeners of the service: the main thread's HTTP server and, with more than one HTTP thread,
// further threads with servers of their own on the same port. The kernel deals connections out
// among them. Beside them Envoy's gRPC, where it is wanted, on the main thread alone.
import {
  isLoopbackHost,
  type MetricsListener,
  openMetricsListener,
} from "../http/metrics/listener.ts";
import { type RunningHttpServer, startHttpServer } from "../http/start.ts";
import type { Log } from "../platform/log.ts";
import type { ServeConfig } from "./settings/config.ts";
import { platform } from "node:os";
import { startProcessMetrics } from "../platform/prometheus.ts";
import type { OpenActivity } from "./activity.ts";
import type { OpenDecisionLog } from "./decision-log.ts";
import type { ConditionEvent } from "../contract/conditions/events.ts";
import type { RegistryEvent } from "../contract/namespaces.ts";
import type { PolicyEvent } from "../contract/policy.ts";
import type { ReviewUpdate } from "../contract/reviews/events.ts";
import type { SeriesCounts } from "../http/metrics/recorder.ts";
import { openLatencySampler } from "./health/latency-sampler.ts";
import { openSeriesSampler } from "./health/sampler.ts";
import { SeriesBuffer } from "../http/metrics/series.ts";
import type { OpenStore } from "../store/client.ts";
import { RefusalAudit } from "../http/access/refusal-audit.ts";
import { computeThreadLimits } from "./connection-limits.ts";
import { listStandingConditions, type ServiceCore } from "./core.ts";
import type { ChangeNews } from "../http/changes/log.ts";
import type { StoredKey } from "../http/access/key-file.ts";
import type { WatchSink } from "./watch/sink.ts";
import { buildListenUrl } from "./identity.ts";
import { probePort } from "../http/server/port-probe.ts";
import type { ExtAuthzServer } from "../http/grpc/server.ts";
import type { Reply, RequestHead } from "../http/server/port.ts";
import type { BatchScorer, HttpDependencies } from "../http/services.ts";
import { type HttpThreads, openHttpThreads } from "../threads/http/threads.ts";
import type { SocketFile } from "../platform/socket-file.ts";

export interface ListenersParts {
  /** Sockets of the file system, claimed; the main thread serves them. */
  readonly sockets: readonly SocketFile[];
  readonly evidence: ServiceCore;
  readonly store: Pick<OpenStore, "status" | "recordLatencies">;
  readonly decisions: OpenDecisionLog;
  readonly activity: OpenActivity;
  /** In which the further HTTP threads count usage. */
  readonly usageMemories: readonly SharedArrayBuffer[];
  /** In which they find the quotas of tenants. */
  readonly quotaMemory: SharedArrayBuffer;
  readonly scorer: BatchScorer | undefined;
  readonly memory: { sample(): Promise<void> };
  /** Of the main thread. */
  readonly dependencies: HttpDependencies;
  /** Sink of requests that further threads watch. */
  readonly watchSink: WatchSink | undefined;
  /** Called when a thread has failed: the service must end, in order. */
  readonly onBroken: () => void;
}

/** Open listeners. */
export interface Listeners {
  readonly port: number;
  readonly adapter: RunningHttpServer["adapter"];
  /** All metrics of the service, as a scraper with this `Accept` header takes them. */
  scrape: RunningHttpServer["scrape"];
  /** Of the listener for metrics alone, where there is one. */
  readonly metricsUrl?: string | undefined;
  /** Of gRPC; undefined where it is off. */
  readonly grpcPort: number | undefined;
  /** Passes on a key that was made or revoked. */
  sendKey(stored: StoredKey): void;
  /** Passes on a policy that was set. */
  sendPolicy(event: PolicyEvent): void;
  /** Passes on news of reviews. */
  sendReview(news: ReviewUpdate): void;
  /** Passes on a change of conditions or stops. */
  sendCondition(event: ConditionEvent): void;
  /** Passes on a change of a reporter's key or a namespace's owner. */
  sendRegistryEvent(event: RegistryEvent): void;
  /** Passes on changes for followers. */
  sendChanges(news: ChangeNews): void;
  /** Passes on the table that the main thread reads from now on. */
  rebind(engineMemory: WebAssembly.Memory): void;
  /** `/readyz` answers 503 and each reply ends its connection; everything is still served. */
  drain(): void;
  /** Stops accepting, answers requests in flight for up to `graceMs`, then closes. */
  close(graceMs: number): Promise<void>;
}

/** Listeners of HTTP, with the way to ask what they answer. */
type HttpListeners = Omit<Listeners, "grpcPort"> &
  Pick<RunningHttpServer, "ask" | "durations"> & {
    pulses(): Promise<readonly SeriesCounts[]>;
  };

/**
 * Opens the listeners.
 * @throws Error when the port is taken or a thread cannot start; everything opened before is closed
 *   again.
 */
export async function openListeners(
  config: ServeConfig,
  log: Log,
  parts: ListenersParts,
): Promise<Listeners> {
  const { ledger } = parts.evidence;
  void startProcessMetrics();
  warnOfOpenAddress(config, log);
  const refusals = new RefusalAudit({
    append: (payload) => ledger.appendAudit(payload),
    mayWrite: () => !ledger.disk.isLow && ledger.isHealthy(),
    clock: parts.dependencies.clock,
    log,
  });
  const series = new SeriesBuffer();
  const dependencies = {
    ...parts.dependencies,
    refusals: refusals.counts,
    series,
    figures: () => ({
      ...parts.dependencies.figures?.(),
      access_refused_total: refusals.countByReason(),
      change_followers: parts.dependencies.changes?.count ?? 0,
    }),
  };
  try {
    const front = await (config.httpThreads > 1
      ? openMultiThreadListeners(config, log, { ...parts, dependencies }, refusals)
      : openSingleThreadListeners(config, { ...parts, dependencies }));
    const grpc = await openGrpc(config, log, front);
    const metrics = await openConfiguredMetricsListener(config, log, front).catch(
      async (error: unknown) => {
        await Promise.all([front.close(0), grpc?.close(0)]);
        throw error;
      },
    );
    const { clock } = dependencies;
    const sampler = openSeriesSampler({ ...parts, ledger, series, front, clock });
    const latencies = openLatencySampler({ ...parts, front, clock });
    return {
      ...front,
      grpcPort: grpc?.port,
      metricsUrl:
        metrics && config.metricsListen && buildListenUrl(config.metricsListen.host, metrics.port),
      async close(graceMs) {
        sampler.close();
        try {
          await latencies.close();
          await Promise.all([front.close(graceMs), grpc?.close(graceMs)]);
          // Last: while the service drains, its metrics are worth the most.
          await metrics?.close();
        } finally {
          await refusals.close();
        }
      },
    };
  } catch (error) {
    await refusals.close();
    throw error;
  }
}

/** Once: keys and evidence cross a network in the clear unless something in front ends TLS. */
function warnOfOpenAddress({ isTcpWanted, host }: ServeConfig, log: Log): void {
  if (!isTcpWanted || isLoopbackHost(host)) return;
  const detail = "keys cross the network in the clear unless a proxy in front ends TLS";
  log.warn("listener_open", { address: host, detail });
}

/** Loaded when wanted: the packages behind it take memory. */
async function openGrpc(
  { grpc, host }: ServeConfig,
  logger: Log,
  front: HttpListeners,
): Promise<ExtAuthzServer | undefined> {
  if (grpc === undefined) return undefined;
  const { ask } = front;
  try {
    const { listenExtAuthz } = await import("../http/grpc/server.ts");
    return await listenExtAuthz({ ...grpc, host, ask, systemClock: Date.now, logger });
  } catch (error) {
    await front.close(0);
    throw error;
  }
}

async function openSingleThreadListeners(
  config: ServeConfig,
  parts: ListenersParts,
): Promise<HttpListeners> {
  const { host, port, isTcpWanted, httpAdapter: adapter } = config;
  const { sockets } = parts;
  const address = { host, port, isTcpWanted, sockets };
  const limits = computeThreadLimits(config);
  const server = await startHttpServer({ adapter, ...address, limits, ...parts.dependencies });
  return {
    port: server.port,
    adapter: server.adapter,
    scrape: (accept) => server.scrape(accept),
    sendKey: () => undefined,
    sendPolicy: () => undefined,
    sendCondition: () => undefined,
    sendReview: () => undefined,
    sendRegistryEvent: () => undefined,
    sendChanges: () => undefined,
    rebind: () => undefined,
    ask: (head, peer) => server.ask(head, peer),
    durations: () => server.durations(),
    pulses: () => Promise.resolve([server.pulse()]),
    drain: () => server.drain(),
    close: (graceMs) => server.close(graceMs),
  };
}

async function openMultiThreadListeners(
  config: ServeConfig,
  log: Log,
  parts: ListenersParts,
  refusals: RefusalAudit,
): Promise<HttpListeners> {
  const { host } = config;
  // Elsewhere the port can be shared, but one of its sockets gets all connections.
  if (platform() !== "linux") throw new Error("several HTTP threads need Linux");
  const port = await probePort(host, config.port);
  // No thread receives a request before all of them listen.
  const server: { running?: RunningHttpServer } = {};
  const relay = (head: RequestHead, body: Buffer): Promise<Reply> =>
    server.running?.relay(head, body) ?? Promise.reject(new Error("not listening yet"));
  const threads = await startHttpThreads(config, parts, { port, log, relay, refusals });
  try {
    const { dependencies } = parts;
    const { keyring } = dependencies;
    const running = await startHttpServer({
      adapter: config.httpAdapter,
      host,
      port,
      isPortShared: true,
      sockets: parts.sockets,
      limits: computeThreadLimits(config),
      ...dependencies,
      rateBuckets: threads.bucketsBy((keyId) => keyring.findKeyNumber(keyId)),
      allCounts: async () => [running.counts(), ...(await threads.counts())],
    });
    server.running = running;
    await threads.listen();
    return combineListeners(running, threads);
  } catch (error) {
    await Promise.all([server.running?.close(0), threads.close(0)]);
    throw error;
  }
}

function combineListeners(server: RunningHttpServer, threads: HttpThreads): HttpListeners {
  return {
    port: server.port,
    adapter: server.adapter,
    scrape: (accept) => server.scrape(accept),
    sendKey: (stored) => threads.sendKey(stored),
    sendPolicy: (event) => threads.sendPolicy(event),
    sendCondition: (event) => threads.sendCondition(event),
    sendReview: (news) => threads.sendReview(news),
    sendRegistryEvent: (event) => threads.sendRegistryEvent(event),
    sendChanges: (news) => threads.sendChanges(news),
    rebind: (engineMemory) => threads.rebind(engineMemory),
    ask: (head, peer) => server.ask(head, peer),
    durations: () => server.durations(),
    pulses: async () => [server.pulse(), ...(await threads.pulses())],
    drain() {
      threads.drain();
      server.drain();
    },
    async close(graceMs) {
      // All at once: a connection that one thread refuses would be dealt to another.
      threads.stopAccepting();
      server.stopAccepting();
      await Promise.all([server.close(graceMs), threads.close(graceMs)]);
    },
  };
}

interface HttpThreadLinks {
  readonly port: number;
  readonly log: Log;
  /** Answers on the main thread what a thread cannot. */
  readonly relay: RunningHttpServer["relay"];
  readonly refusals: RefusalAudit;
}

function startHttpThreads(
  config: ServeConfig,
  parts: ListenersParts,
  { port, log, relay, refusals }: HttpThreadLinks,
): Promise<HttpThreads> {
  const { evidence, decisions, activity, scorer, dependencies, usageMemories, watchSink } = parts;
  const {
    host,
    httpAdapter,
    adminKey,
    rateLimits,
    queueMsMax,
    isReservedEnabled,
    isSignatureRequired,
  } = config;
  return openHttpThreads({
    shared: {
      host,
      port,
      adapter: httpAdapter,
      version: dependencies.version,
      engineMemory: evidence.engineMemory,
      vaultMemory: evidence.sources.vault.memory,
      decisionBudget: decisions.budget,
      activityMemory: activity.memory,
      keys: dependencies.keyring.listStoredKeys(),
      adminKey,
      policies: evidence.ledger.policies,
      conditions: listStandingConditions(evidence),
      reviews: evidence.reviews.book.listRulings(),
      keyEvents: evidence.ledger.keyEvents,
      rateLimits,
      queueMsMax,
      lag: dependencies.lagGuard?.shared,
      quotaMemory: parts.quotaMemory,
      ...computeThreadLimits(config),
      isReservedEnabled,
      isSignatureRequired,
      poolBytesMin: scorer?.bytesMin,
      watch: watchSink?.shares,
      isDebugLogged: log.debug !== undefined,
    },
    ledger: evidence.ledger,
    decisionRings: decisions.httpRings,
    usageMemories,
    log,
    relay,
    scorer,
    assess: evidence.sources.assessLater,
    onRefused: (batch) => refusals.addBatch(batch),
    onWatched: (batch, thread) => watchSink?.take(batch, thread),
    onAsked: (asked) => evidence.reviews.addCalls(asked),
    onBroken: parts.onBroken,
  });
}

/** The listener for metrics alone, where one is asked for. */
async function openConfiguredMetricsListener(
  { metricsListen }: ServeConfig,
  log: Log,
  front: Pick<RunningHttpServer, "scrape">,
): Promise<MetricsListener | undefined> {
  if (metricsListen === undefined) return undefined;
  const { host } = metricsListen;
  if (!isLoopbackHost(host)) {
    const detail = "whoever reaches it reads all metrics without a key: keep others from it";
    log.warn("metrics_listener_open", { address: host, detail });
  }
  return openMetricsListener(metricsListen, (accept) => front.scrape(accept));
}
