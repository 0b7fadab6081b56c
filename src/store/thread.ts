// Loop of the store thread: receive the durable position of the journal, apply it at a bounded rate,
// answer queries in between. A failure to apply is logged and tried again.
import type { MessagePort } from "node:worker_threads";
import { ServiceFault } from "../contract/faults.ts";
import {
  APPLY_RECORDS_MAX,
  StoreAheadOfJournal,
  type JournalFollower,
} from "./journal-follower.ts";
import {
  isCallerCall,
  runCallerCall,
  runStoreCall,
  mayReadScores,
  selectScoreWaitsMs,
  listTransferables,
} from "./calls.ts";
import type { MessageFromStore, StoreCall, StoreState, MessageToStore } from "./messages.ts";
import { DailyScoreWriter } from "./daily-scores.ts";
import { StoreExports } from "./exports.ts";
import { INITIAL_STORE_STATE } from "./options.ts";
import type { StoreDecisionLog } from "./decision-log.ts";
import { Sandbox, type SandboxOptions } from "./sandbox/sandbox.ts";
import { ScoreRefresher, type ScoreSource } from "./score-refresh.ts";
import { encodeFault } from "../contract/encoded-fault.ts";

const APPLY_INTERVAL_MS = 250;
const RETRY_INTERVAL_MS = 5000;
/** Time that callers' SQL is left at the service's end. */
const QUERIES_END_GRACE_MS = 2000;
/** Interval between two checks of the rings: it bounds the loss of denials in a crash. */
const DUE_WORK_INTERVAL_MS = 50;
/** Interval at which changed metrics of the decision log are sent. */
const DECISION_METRICS_INTERVAL_MS = 1000;

interface StoreLoopOptions {
  port: MessagePort;
  /** Where the ledger announces positions; undefined for a store on its own. */
  ledgerPort: MessagePort | undefined;
  core: JournalFollower;
  records: StoreDecisionLog;
  /** Opens the table that scores are read from. */
  openScores: (engineMemory: WebAssembly.Memory) => ScoreSource;
  /** Days that daily scores are kept. */
  scoresKeptDays: number;
  /** Whether the clock can be trusted to delete by; left out, it can. */
  mayExpire?: () => boolean;
  clock: () => number;
  /** The journal's end for a store on its own; else unknown until the ledger reports it. */
  durableLsn: number | undefined;
  /** Process for callers' SQL; undefined: it runs in the store itself, for an operator's command. */
  sandbox: Omit<SandboxOptions, "core" | "readScores" | "settle" | "onChange" | "log"> | undefined;
}

/** Serves until the `close` message. Returns at once. */
export function serveStore(options: StoreLoopOptions): void {
  new StoreLoop(options).start();
}

class StoreLoop {
  readonly #options: StoreLoopOptions;
  #durableLsn: number | undefined;
  #failure = "";
  #behindSinceMs = 0;
  #sentState = "";
  #timer: NodeJS.Timeout | undefined;
  #applying: Promise<void> | undefined;
  #isClosing = false;
  #checkTimer: NodeJS.Timeout | undefined;
  #ingesting: Promise<void> | undefined;
  #sentDecisionMetrics = "0 0";
  #decisionMetricsSentAtMs = 0;
  readonly #scoreRefresher: ScoreRefresher;
  readonly #exports: StoreExports;
  readonly #sandbox: Sandbox | undefined;
  #endQueriesTimer: NodeJS.Timeout | undefined;

  constructor(options: StoreLoopOptions) {
    this.#options = options;
    this.#durableLsn = options.durableLsn;
    this.#exports = new StoreExports(options.core);
    this.#scoreRefresher = new ScoreRefresher({
      core: options.core,
      openSource: options.openScores,
      position: () => this.#durableLsn ?? 0,
      clock: options.clock,
      keptDays: options.scoresKeptDays,
      mayExpire: options.mayExpire,
      log: (event, detail) => this.#send({ kind: "log", event, detail }),
    });
    this.#sandbox = options.sandbox && this.#openSandbox(options.sandbox);
  }

  #openSandbox(sandbox: NonNullable<StoreLoopOptions["sandbox"]>): Sandbox {
    return new Sandbox({
      ...sandbox,
      core: this.#options.core,
      readScores: (call) => this.#readScores(call),
      settle: async () => {
        const asOfMs = this.#options.clock();
        await this.#ingestAllDecisions();
        return asOfMs;
      },
      onChange: () => this.#sendState(),
      log: (event, detail) => this.#send({ kind: "log", event, detail }),
    });
  }

  start(): void {
    const { port, ledgerPort } = this.#options;
    port.on("message", (message: MessageToStore) => this.#receive(message));
    ledgerPort?.on("message", (lsn: number) => this.#receiveDurablePosition(lsn));
    if (this.#durableLsn !== undefined) this.#scheduleApply(0);
    this.#checkTimer = setInterval(() => this.#checkDueWork(), DUE_WORK_INTERVAL_MS);
  }

  /** The rings are drained without waiting for the database or for its readers. */
  #checkDueWork(): void {
    const { records, clock } = this.#options;
    const nowMs = clock();
    try {
      if (records.ringDrain.isDue(nowMs)) records.ringDrain.drain(nowMs);
    } catch (error) {
      this.#logDecisionFailure(error);
    }
    if (records.isIngestDue(nowMs)) void this.#ingestDecisions();
    this.#sendDecisionMetrics(nowMs);
    if (this.#scoreRefresher.isSampleDue(nowMs)) void this.#scoreRefresher.refresh();
  }

  #sendDecisionMetrics(nowMs: number): void {
    const { spoolBytes, decisionsCounted } = this.#options.records.readMetrics();
    const figures = `${spoolBytes} ${decisionsCounted}`;
    if (
      figures === this.#sentDecisionMetrics ||
      nowMs - this.#decisionMetricsSentAtMs < DECISION_METRICS_INTERVAL_MS
    )
      return;
    this.#sentDecisionMetrics = figures;
    this.#decisionMetricsSentAtMs = nowMs;
    this.#sendState();
  }

  /** One at a time; a caller that arrives while one runs waits for it and for nothing more. */
  #ingestDecisions(): Promise<void> {
    return this.#ingesting ?? this.#runIngest((nowMs) => this.#options.records.ingestPart(nowMs));
  }

  /** Ingests to the end of the spool; after a failure reads go on with the rows there are. */
  async #ingestAllDecisions(): Promise<void> {
    // The drain in progress may have begun before the last decision.
    while (this.#ingesting !== undefined) await this.#ingesting;
    await this.#runIngest((nowMs) => this.#options.records.ingestAll(nowMs));
  }

  #runIngest(run: (nowMs: number) => Promise<void>): Promise<void> {
    const done = run(this.#options.clock())
      .catch((error: unknown) => {
        this.#logDecisionFailure(error);
        this.#scheduleApply(0);
      })
      .finally(() => {
        this.#ingesting = undefined;
        this.#sendState();
      });
    this.#ingesting = done;
    return done;
  }

  #logDecisionFailure(error: unknown): void {
    this.#send({ kind: "log", event: "decision_log_failed", detail: String(error) });
  }

  async #closeRecords(): Promise<void> {
    const { records, clock } = this.#options;
    await records.close(clock()).catch((error: unknown) => this.#logDecisionFailure(error));
  }

  #receive(message: MessageToStore): void {
    if (message.kind === "notify") this.#receiveDurablePosition(message.lsn);
    else if (message.kind === "call") void this.#answer(message);
    else if (message.kind === "endQueries") this.#endQueriesSoon();
    else if (message.kind === "latencies")
      this.#options.records.ringDrain.addLatencies(message.latencies);
    else if (message.kind === "table") this.#scoreRefresher.setAgentTable(message.engineMemory);
    else if (message.kind === "dailyScores") {
      new DailyScoreWriter(this.#options.core).serve(message.port);
    } else void this.#close();
  }

  #endQueriesSoon(): void {
    this.#endQueriesTimer ??= setTimeout(() => void this.#sandbox?.end(), QUERIES_END_GRACE_MS);
  }

  #receiveDurablePosition(lsn: number): void {
    const isFirst = this.#durableLsn === undefined;
    if (lsn <= (this.#durableLsn ?? -1)) return;
    this.#durableLsn = lsn;
    const backlog = lsn - this.#options.core.applied.lsn;
    this.#scheduleApply(isFirst || backlog >= APPLY_RECORDS_MAX ? 0 : APPLY_INTERVAL_MS);
  }

  /** One apply at a time; a timer that is set stays, unless there is reason to hurry. */
  #scheduleApply(delayMs: number): void {
    if (this.#isClosing || this.#applying !== undefined || this.#durableLsn === undefined) return;
    if (this.#timer !== undefined && delayMs > 0) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.#applying = this.#apply(this.#durableLsn ?? 0);
    }, delayMs);
  }

  async #apply(durableLsn: number): Promise<void> {
    let delayMs = APPLY_INTERVAL_MS;
    try {
      const hasMore = await this.#options.core.applyNextBatch(durableLsn);
      this.#failure = "";
      if (hasMore) delayMs = 0;
    } catch (error) {
      this.#failure = String(error);
      this.#send({ kind: "log", event: "store_apply_failed", detail: this.#failure });
      if (error instanceof StoreAheadOfJournal) {
        this.#send({ kind: "ahead", position: error.position, durableLsn });
      }
      delayMs = RETRY_INTERVAL_MS;
    }
    this.#applying = undefined;
    this.#sendState();
    if (this.#isBehind() || this.#failure !== "") this.#scheduleApply(delayMs);
  }

  async #answer({ id, call }: Extract<MessageToStore, { kind: "call" }>): Promise<void> {
    try {
      const result = await this.#perform(call);
      this.#send({ kind: "answer", id, result }, listTransferables(result));
    } catch (error) {
      const isFault = error instanceof ServiceFault;
      if (!isFault) this.#send({ kind: "log", event: "store_call_failed", detail: String(error) });
      const fault = isFault
        ? error
        : new ServiceFault("store_unavailable", "the outcome store does not answer");
      this.#send({ kind: "refusal", id, fault: encodeFault(fault) });
    }
    // A query can have found the database broken: the next apply looks into it.
    if (this.#options.core.isSuspect) this.#scheduleApply(0);
  }

  async #perform(call: StoreCall): Promise<unknown> {
    const { core, records, clock } = this.#options;
    const freshen = () => this.#refreshRows(call);
    if (isCallerCall(call)) return runCallerCall(call, core, this.#sandbox, freshen);
    return runStoreCall(call, {
      core,
      records,
      exports: this.#exports,
      clock,
      refreshRows: freshen,
    });
  }

  /** A read sees all decisions made before it (but for lists), and scores that are not old. */
  async #refreshRows(call: StoreCall): Promise<void> {
    if (call.name !== "directory") await this.#ingestAllDecisions();
    await this.#readScores(call);
  }

  async #readScores(call: StoreCall): Promise<void> {
    if (mayReadScores(call)) await this.#scoreRefresher.refresh(...selectScoreWaitsMs(call));
  }

  #isBehind(): boolean {
    const { applied, isSuspect } = this.#options.core;
    return isSuspect || applied.lsn < (this.#durableLsn ?? 0);
  }

  async #close(): Promise<void> {
    this.#isClosing = true;
    clearTimeout(this.#timer);
    clearInterval(this.#checkTimer);
    clearTimeout(this.#endQueriesTimer);
    // Told at once: an apply waits behind a reading of all scores.
    const whenScoresEnd = this.#scoreRefresher.close();
    // First: copying the database for it may block the apply.
    await this.#sandbox?.end();
    await this.#applying;
    await this.#ingesting;
    await whenScoresEnd;
    await this.#closeRecords();
    await this.#options.core.close();
    this.#options.ledgerPort?.close();
    this.#options.port.close();
  }

  #sendState(): void {
    const { core, records, clock } = this.#options;
    if (!this.#isBehind()) this.#behindSinceMs = 0;
    else if (this.#behindSinceMs === 0) this.#behindSinceMs = clock();
    const state: StoreState = {
      appliedLsn: core.applied.lsn,
      durableLsn: this.#durableLsn ?? 0,
      outcomeCount: core.applied.outcomeCount,
      rebuildCount: core.rebuildCount,
      reopenCount: core.reopenCount,
      reopenedAtMs: core.reopenedAtMs,
      isBuilding: core.isBuilding,
      behindSinceMs: this.#behindSinceMs,
      failure: this.#failure,
      tiers: this.#scoreRefresher.tiers,
      queries: this.#sandbox?.metrics ?? INITIAL_STORE_STATE.queries,
      ...records.readMetrics(),
    };
    const text = JSON.stringify(state);
    if (text === this.#sentState) return;
    this.#sentState = text;
    this.#send({ kind: "state", state });
  }

  #send(message: MessageFromStore, transfer: ArrayBuffer[] = []): void {
    this.#options.port.postMessage(message, transfer);
  }
}
