// A further HTTP thread: its own server on the shared port, its own reader, bureau, decision ring
// and way to the ledger, all over the shared memory. Requests that need more than that (keys, SQL,
// kaizen, sources, signatures) are relayed to the main thread, bytes in and bytes out.
import { RequestWatch, type WatchedBatch, type WatchShares } from "../../http/request-watch.ts";
import { LagGuard, type SharedLag } from "../../http/access/lag-guard.ts";
import { StreamMetrics } from "../../stream/metrics.ts";
import type { HttpLogger, BatchScorer } from "../../http/services.ts";
import {
  type MessageFromHttpThread,
  type HttpThreadCallResults,
  type HttpThreadData,
  ensureTransferable,
  type HttpThreadCall,
  type MessageToHttpThread,
} from "./messages.ts";
import { randomFillSync } from "node:crypto";
import type { MessagePort } from "node:worker_threads";
import { foldKeyRegistry, type KeyRegistry } from "../../bureau/reporters/key-registry.ts";
import { type ActivitySource, noActivity } from "../../contract/activity/source.ts";
import { ConditionBook } from "../../contract/conditions/book.ts";
import { PolicyBook } from "../../policy/policy-book.ts";
import { ReviewDecisionCache } from "../../bureau/reviews/decision-cache.ts";
import { AgentActivity } from "../../bureau/activity/activity.ts";
import { openBureau } from "../../bureau/open.ts";
import { openEngineReader } from "../../engine/reader.ts";
import { openAssessor } from "../texts/records.ts";
import { RefusalCollector } from "../../http/access/refusals.ts";
import type { Exchange } from "../../http/exchange.ts";
import { type RunningHttpServer, startHttpServer } from "../../http/start.ts";
import { Keyring } from "../../http/access/keyring.ts";
import { QuotaGuard } from "../../http/access/quotas.ts";
import { UsageMeter } from "../../http/access/usage.ts";
import type { Route } from "../../http/route.ts";
import { ROUTES } from "../../http/routes/table.ts";
import { ChangeFollowers } from "../../http/changes/followers.ts";
import { CHANGE_ROUTES } from "../../http/routes/changes.ts";
import { AUTHZEN_ROUTES } from "../../http/routes/authzen.ts";
import { OPENAPI_ROUTES } from "../../http/routes/openapi.ts";
import { GATEWAY_ROUTES } from "../../http/routes/gateway.ts";
import { OUTCOME_ROUTES } from "../../http/routes/outcomes.ts";
import { SCORE_ROUTES } from "../../http/routes/score.ts";
import { LIVENESS_ROUTE } from "../../http/routes/service.ts";
import type { Reply } from "../../http/server/port.ts";
import { PendingCalls } from "../../concurrency/calls.ts";
import { PendingMessageReceiver } from "./pending-message-flag.ts";
import { AssessmentQueue } from "../../ledger/assessment-queue.ts";
import { buildRelayedHead, readStreamFromPort } from "./relay.ts";
import { connectToLedger } from "../../ledger/port-transfer.ts";
import { UuidV7Generator } from "../../platform/uuid.ts";
import { DecisionRingWriter } from "../../store/decisions/ring.ts";
import type { Store } from "../../store/store.ts";
import type { NoteRecorder } from "../../contract/notes.ts";
import { DeferringAssessor } from "../../vault/assessment/deferring-assessor.ts";

/** Answered where they arrive: all they need is the shared memory. */
const LOCAL_ROUTES: ReadonlySet<Route> = new Set([
  LIVENESS_ROUTE,
  ...SCORE_ROUTES,
  ...CHANGE_ROUTES,
  ...GATEWAY_ROUTES,
  ...AUTHZEN_ROUTES,
  ...OPENAPI_ROUTES,
]);
/**
 * Answered where they arrive unless they are signed: reporters' keys are the main thread's. A batch
 * may hold signed rows, which shows only once it is read, and the pool does that, so it is relayed.
 */
const LOCAL_OUTCOME_ROUTES: ReadonlySet<Route> = new Set(
  OUTCOME_ROUTES.filter(({ body }) => body?.kind !== "batch"),
);

/** Interval at which the calls counted for reviews are told to the main thread. */
const REVIEW_FLUSH_INTERVAL_MS = 1000;

/** Routes that need the store are relayed; one that were not would fail its first request. */
const unavailableStore = new Proxy({} as Store & NoteRecorder, {
  get: (_store, name) => {
    throw new Error(`\`${String(name)}\` is the main thread's`);
  },
});

/** Serves until the `close` message. Returns at once; sends `ready` first. `clock` is epoch ms. */
export function serveHttpThread(port: MessagePort, data: HttpThreadData, clock: () => number) {
  return new HttpThreadServer(port, data, clock);
}

/** A keyring that applies changes before it answers: a revoked key is refused on all threads. */
class SyncedKeyring extends Keyring {
  readonly #follow: () => void;

  constructor(data: HttpThreadData, now: () => number, follow: () => void) {
    // Changes are made by the main thread: this keyring has no directory.
    super({ dataDir: "", now }, data.keys);
    this.#follow = follow;
    if (data.adminKey !== undefined) this.installAdminKey(data.adminKey);
  }

  override authenticate(header: string | undefined) {
    this.#follow();
    return super.authenticate(header);
  }
}

class HttpThreadServer {
  readonly #port: MessagePort;
  readonly #data: HttpThreadData;
  readonly #clock: () => number;
  readonly #calls = new PendingCalls();
  readonly #keyring: SyncedKeyring;
  readonly #changes: ChangeFollowers;
  readonly #policies: PolicyBook;
  readonly #conditions: ConditionBook;
  readonly #registry: KeyRegistry;
  readonly #engine;
  readonly #ledger;
  readonly #assessments;
  readonly #decisions;
  readonly #reviews: ReviewDecisionCache;
  readonly #reviewTimer: NodeJS.Timeout;
  readonly #refusals = new RefusalCollector((refusals) =>
    this.#send({ kind: "refused", refusals }),
  );
  readonly #logger: HttpLogger;
  readonly #watch: RequestWatch | undefined;
  #server: RunningHttpServer | undefined;

  constructor(port: MessagePort, data: HttpThreadData, clock: () => number) {
    this.#port = port;
    this.#data = data;
    this.#policies = new PolicyBook(data.policies);
    this.#conditions = new ConditionBook(data.conditions);
    this.#registry = foldKeyRegistry(data.keyEvents);
    this.#clock = clock;
    const take = (message: MessageToHttpThread) => this.#take(message);
    const listener = new PendingMessageReceiver<MessageToHttpThread>(data.doorbell, port, take);
    this.#keyring = new SyncedKeyring(data, clock, () => listener.follow());
    this.#changes = new ChangeFollowers((id) => this.#keyring.findValidPrincipal(id) !== undefined);
    // Slot 0 is the writer's and 1 the main thread's.
    this.#engine = openEngineReader(data.engineMemory, data.number + 1);
    this.#ledger = connectToLedger(data.ledger, data.engineMemory, clock);
    this.#assessments = new AssessmentQueue(this.#ledger);
    this.#decisions = new DecisionRingWriter(data.decisionRing, {
      waitMs: 0,
      budget: data.decisionBudget,
    });
    this.#logger = createForwardingLogger((line) => this.#send(line), data.isDebugLogged);
    const deliver = (batch: WatchedBatch) => this.#send({ kind: "watched", batch });
    this.#watch = data.watch && createRequestWatch(data.watch, clock, deliver);
    this.#reviews = new ReviewDecisionCache(
      (asked) => this.#send({ kind: "asked", asked }),
      data.reviews,
    );
    this.#reviewTimer = setInterval(() => this.#reviews.flush(clock()), REVIEW_FLUSH_INTERVAL_MS);
    this.#send({ kind: "ready" });
  }

  /** Called for an uncaught error: no new work, and the main thread ends the rest. */
  fail(error: unknown): void {
    const detail = error instanceof Error ? (error.stack ?? error.message) : String(error);
    this.#send({ kind: "broken", detail });
    this.#server?.stopAccepting();
  }

  #take(message: MessageToHttpThread): void {
    if (message.kind === "answer") this.#calls.settle(message.id, message.answer);
    else if (message.kind === "key") this.#keyring.applyStoredKey(message.stored);
    else if (message.kind === "policy") this.#policies.apply(message.event);
    else if (message.kind === "condition") this.#conditions.apply(message.event);
    else if (message.kind === "review") this.#reviews.apply(message.news);
    else if (message.kind === "registry") this.#registry.apply(message.event);
    else if (message.kind === "changes") this.#changes.apply(message.news);
    else if (message.kind === "table") this.#engine.rebind(message.engineMemory);
    else if (message.kind === "count") this.#count(message.id);
    else if (message.kind === "pulse") this.#count(message.id, true);
    else if (message.kind === "drain") this.#server?.drain();
    else if (message.kind === "stop") this.#server?.stopAccepting();
    else if (message.kind === "listen") void this.#listen();
    else void this.#close(message.graceMs);
  }

  #count(id: number, isPulse = false): void {
    if (this.#server === undefined) return;
    if (isPulse) return this.#send({ kind: "counts", id, counts: this.#server.pulse() });
    const figures = {
      outcomes_pending: this.#ledger.pendingCount,
      change_followers: this.#changes.count,
      journal_append_duration_seconds: this.#ledger.appendDurations(),
      ...this.#assessments.gauges(),
    };
    this.#send({ kind: "counts", id, counts: { ...this.#server.counts(), figures } });
  }

  async #listen(): Promise<void> {
    const { host, port, adapter, version, rateLimits, queueMsMax, bucketMemory } = this.#data;
    const keyring = this.#keyring;
    try {
      this.#server = await startHttpServer({
        adapter,
        host,
        port,
        isPortShared: true,
        limits: { connectionsMax: this.#data.connectionsMax },
        routes: this.#routes(),
        bureau: this.#bureau(),
        keyring,
        store: unavailableStore,
        notes: unavailableStore,
        changes: this.#changes,
        clock: this.#clock,
        logger: this.#logger,
        health: { isReady: () => ({ ready: true, reasons: [] }) },
        version,
        rateLimits,
        queueMsMax,
        refusals: this.#refusals,
        usage: new UsageMeter({
          now: this.#clock,
          memory: this.#data.usageMemory,
          findKeyNumber: (keyId) => keyring.findKeyNumber(keyId),
        }),
        lagGuard: createLagGuard(this.#data.lag, this.#clock),
        quotaGuard: new QuotaGuard(this.#data.quotaMemory, this.#clock),
        rateBuckets: {
          memory: bucketMemory,
          findKeyNumber: (keyId) => keyring.findKeyNumber(keyId),
        },
        scorer: this.#scorer(),
        watch: this.#watch,
      });
      this.#send({ kind: "listening" });
    } catch (error) {
      this.fail(error);
    }
  }

  #bureau() {
    const inline = openAssessor(this.#data.vaultMemory, this.#clock);
    return openBureau({
      engine: this.#engine,
      ledger: this.#ledger,
      provenance: new DeferringAssessor(inline, (context, tenant) =>
        this.#ask({ name: "assess", context, tenant }),
      ),
      clock: this.#clock,
      environment: {
        delay: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
        outcomeIds: new UuidV7Generator(randomFillSync),
        isReservedEnabled: this.#data.isReservedEnabled,
      },
      policies: this.#policies,
      conditions: this.#conditions,
      registry: this.#registry,
      assessments: this.#assessments,
      decisions: this.#decisions,
      reviews: this.#reviews,
      activity: openThreadActivity(this.#data),
    });
  }

  /** The service's table, with handlers that relay the routes of the main thread. */
  #routes(): Route[] {
    const relay = (exchange: Exchange) => this.#relay(exchange);
    return ROUTES.map((route) => {
      if (LOCAL_ROUTES.has(route)) return route;
      if (!LOCAL_OUTCOME_ROUTES.has(route)) return { ...route, handle: relay };
      const handle: Route["handle"] = (exchange) => {
        // Rows of a batch may be signed each for itself, which shows only to the reader of the
        // body.
        const mayBeSigned = exchange.head.signature !== undefined || route.body?.kind === "batch";
        const isSigned = mayBeSigned || this.#data.isSignatureRequired;
        return isSigned ? relay(exchange) : route.handle(exchange);
      };
      return { ...route, handle };
    });
  }

  async #relay(exchange: Exchange): Promise<Reply> {
    const body = ensureTransferable(new Uint8Array(exchange.body));
    const head = buildRelayedHead(exchange);
    const { stream, ...reply } = await this.#ask({ name: "relay", head, body }, [body.buffer]);
    return stream === undefined ? reply : { ...reply, stream: readStreamFromPort(stream) };
  }

  #scorer(): BatchScorer | undefined {
    const { poolBytesMin } = this.#data;
    if (poolBytesMin === undefined) return undefined;
    return {
      bytesMin: poolBytesMin,
      score: (task) => this.#ask({ name: "score", task }, [task.body.buffer as ArrayBuffer]),
    };
  }

  #ask<Asked extends HttpThreadCall>(question: Asked, transfer: ArrayBuffer[] = []) {
    return this.#calls.start<HttpThreadCallResults[Asked["name"]]>((id) => {
      this.#port.postMessage({ kind: "question", id, question }, transfer);
    });
  }

  /**
   * Answers requests in flight, hands the ledger and the log their last records, sends `closed`.
   */
  async #close(graceMs: number): Promise<void> {
    try {
      await this.#server?.close(graceMs);
      clearInterval(this.#reviewTimer);
      this.#reviews.flush(this.#clock());
      await this.#assessments.close();
      await this.#ledger.close();
      await this.#decisions.flush();
      this.#refusals.flush();
      this.#watch?.flush();
    } catch (error) {
      this.#logger.error("http_thread_close", {
        thread: this.#data.number,
        error: String(error),
      });
    }
    this.#send({ kind: "closed" });
    this.#port.close();
  }

  #send(message: MessageFromHttpThread): void {
    this.#port.postMessage(message);
  }
}

type LogLineMessage = Extract<MessageFromHttpThread, { kind: "log" }>;

/** `isDebugLogged`: whether lines of that level are wanted. */
function createForwardingLogger(
  tell: (line: LogLineMessage) => void,
  isDebugLogged: boolean,
): HttpLogger {
  const say =
    (level: LogLineMessage["level"]): HttpLogger["info"] =>
    (message, fields) =>
      tell({ kind: "log", level, message, fields });
  const logger = { info: say("info"), warn: say("warn"), error: say("error") };
  return isDebugLogged ? { ...logger, debug: say("debug") } : logger;
}

/** Undefined where there is no cluster. `clock` is epoch ms. */
export function createLagGuard(
  shared: SharedLag | undefined,
  clock: () => number,
): LagGuard | undefined {
  if (shared === undefined) return undefined;
  return new LagGuard(new StreamMetrics(shared.memory), shared.refuseMs, clock);
}

/** `clock` is epoch ms. */
export function createRequestWatch(
  shares: WatchShares,
  clock: () => number,
  deliver: (batch: WatchedBatch) => void,
): RequestWatch {
  const monotonic = () => performance.now();
  return new RequestWatch({ shares, clock, monotonic, random: Math.random, deliver });
}

function openThreadActivity({ activityMemory: memory }: HttpThreadData): ActivitySource {
  return memory === undefined ? noActivity : new AgentActivity(memory);
}
