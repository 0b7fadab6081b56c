// Client of the store thread, for the main thread: starts it, passes queries, holds its last state.
import { MessageChannel, type MessagePort, Worker } from "node:worker_threads";
import type { DecisionCounts, DecisionFilter } from "../contract/decisions.ts";
import type { ExportView } from "../contract/views.ts";
import type { SignedId } from "../contract/signed-records.ts";
import type { ReplayableLeg } from "../contract/schemas/decisions.ts";
import type { UsageRow } from "../contract/usage.ts";
import type { MigratedNote } from "../contract/notes.ts";
import { ServiceFault } from "../contract/faults.ts";
import { JournalEndLost } from "../journal/faults.ts";
import { claimDataDirectory, type DataDirectoryClaim } from "../journal/data-directory.ts";
import type { MessageFromStore, StoreCall, StoreState, MessageToStore } from "./messages.ts";
import type {
  AgentDirectory,
  AgentDirectoryFilter,
  AgentDirectoryRequest,
  AgentDirectoryResults,
  DecisionPage,
  ExportOptions,
  QueryLimits,
  QueryOptions,
  QueryResult,
  ReviewRow,
  StoreDescription,
  StoreEvents,
  StreamedRows,
  UsageRange,
} from "./store.ts";
import { PendingCalls } from "../concurrency/calls.ts";
import {
  type OpenStore,
  INITIAL_STORE_STATE,
  type StoreOptions,
  buildStoreThreadData,
} from "./options.ts";
import type { RowStreamHandle } from "./query/row-streams.ts";
import type { LatencyCount } from "./rows/latencies.ts";
import { buildNewestImportSql } from "./rows/scores.ts";
import { AdmissionLimit } from "../concurrency/admission-limit.ts";
import { PositionWaiters } from "./waiting.ts";
import { withDeadline } from "../concurrency/deadline.ts";

export type { OpenStore } from "./options.ts";

/** Queries waiting or running: they run one at a time, so more would only time out. */
const STORE_READS_MAX = 16;
/** Look-ups waiting or running: a batch of items signed one by one asks for each of them. */
const SIGNED_LOOKUPS_MAX = 1000;
/** Reads waiting or running: people page through lists, and programs have SQL. */
const DIRECTORY_READS_MAX = 16;
/** Reads of the decision log waiting or running; queries do not count. */
const LOG_READS_MAX = 16;
/** States of kaizen's runs waiting to be committed: by count and by bytes. */
const RUNS_MAX = 1000;
const RUN_BYTES_MAX = 16 * 1024 * 1024;
/** Longest wait for the thread to end; a call into the database may not come back. */
const CLOSE_MS_MAX = 6000;

/**
 * Claims the data directory and starts the store thread. Resolves at once with a ledger (the store
 * catches up in its own time); on its own, once everything in the journal is applied.
 * @throws DataDirectoryInUse when another process owns the directory.
 */
export async function startStore(options: StoreOptions): Promise<OpenStore> {
  const claim = await claimDataDirectory(options.dataDir);
  const channel = new MessageChannel();
  const data = buildStoreThreadData(options, claim.paths);
  const worker = new Worker(options.entry ?? new URL("../threads/store.ts", import.meta.url), {
    name: "store",
    workerData: { ...data, ledgerPort: channel.port2 },
    transferList: [channel.port2],
  });
  const client = new StoreClient(worker, claim, channel.port1, options);
  if (!data.isStandalone) return client;
  try {
    await client.waitForFirstState();
    await client.waitUntilApplied(client.status().durableLsn);
  } catch (error) {
    await client.close();
    throw error;
  }
  return client;
}

class StoreClient implements OpenStore {
  hasCloseTimedOut = false;
  readonly ledgerPort: MessagePort;
  readonly #worker: Worker;
  readonly #isStandalone: boolean;
  readonly #claim: DataDirectoryClaim;
  readonly #log: (event: string, detail: string) => void;
  #state = INITIAL_STORE_STATE;
  readonly #calls = new PendingCalls();
  readonly #positionWaiters = new PositionWaiters();
  #firstStateReceived = Promise.withResolvers<void>();
  readonly #rebuildListeners: (() => void)[] = [];
  readonly #onAhead: (position: number, durableLsn: number) => void;
  readonly #readLimit = new AdmissionLimit({
    countMax: STORE_READS_MAX,
    detail: "too many queries are waiting",
  });
  readonly #logReadLimit = new AdmissionLimit({
    countMax: LOG_READS_MAX,
    detail: "too many reads of the log are waiting",
  });
  readonly #signedLookupLimit = new AdmissionLimit({
    countMax: SIGNED_LOOKUPS_MAX,
    detail: "too many repeats are being looked up",
  });
  readonly #runLimit = new AdmissionLimit({
    countMax: RUNS_MAX,
    bytesMax: RUN_BYTES_MAX,
    detail: "too many runs are waiting",
  });
  readonly agentDirectory = createAgentDirectory((ask) => this.#call({ name: "directory", ask }));
  #hasEnded = false;
  #whenExited: Promise<void>;

  constructor(
    worker: Worker,
    claim: DataDirectoryClaim,
    ledgerPort: MessagePort,
    {
      log = () => undefined,
      onJournalEndLost = () => undefined,
      isStandalone = false,
    }: StoreOptions,
  ) {
    this.#worker = worker;
    this.#isStandalone = isStandalone;
    this.#claim = claim;
    this.ledgerPort = ledgerPort;
    this.#log = log;
    this.#onAhead = onJournalEndLost;
    worker.on("message", (message: MessageFromStore) => this.#receive(message));
    worker.on("error", (error) => this.#log("store_thread_failed", String(error)));
    // Only a store on its own waits for it.
    this.#firstStateReceived.promise.catch(() => undefined);
    this.#whenExited = new Promise((resolve) => {
      worker.once("exit", () => {
        this.#rejectPending();
        resolve();
      });
    });
  }

  status(): StoreState {
    return this.#state;
  }

  announceDurablePosition(position: number): void {
    if (!this.#hasEnded) this.#send({ kind: "notify", lsn: position });
  }

  query(
    sql: string,
    limits: QueryLimits,
    tenant?: string,
    { withheld = [], params, handle, form }: QueryOptions = {},
  ): Promise<QueryResult> {
    const asker = { tenant, withheld };
    return this.#callForCaller({ name: "query", sql, params, limits, asker, handle, form });
  }

  cancelQuery(handle: string): Promise<boolean> {
    return this.#call({ name: "cancelQuery", handle });
  }

  async openStream(
    sql: string,
    tenant?: string,
    { withheld = [], params, workMs }: Omit<QueryOptions, "handle" | "form"> = {},
  ): Promise<StreamedRows> {
    const asker = { tenant, withheld };
    const asked = { name: "openStream", sql, workMs, params, asker } as const;
    const opened = await this.#callForCaller<RowStreamHandle>(asked);
    return createStreamedRows(opened, (call) => this.#call(call));
  }

  queryTrusted(sql: string): Promise<unknown[][]> {
    return this.#callWithinReadLimit({ name: "ask", sql });
  }

  describeViews(): Promise<StoreDescription> {
    return this.#callWithinReadLimit({ name: "describe" });
  }

  readUsage(range: UsageRange): Promise<UsageRow[]> {
    return this.#callWithinReadLimit({ name: "usage", range });
  }

  endQueriesSoon(): void {
    if (!this.#hasEnded) this.#send({ kind: "endQueries" });
  }

  setAgentTable(engineMemory: WebAssembly.Memory): void {
    if (!this.#hasEnded) this.#send({ kind: "table", engineMemory });
  }

  async findNewestImportMs(position: number, settledBeforeMs: number) {
    const [[ms] = []] = await this.queryTrusted(buildNewestImportSql(position, settledBeforeMs));
    return ms === null || ms === undefined ? undefined : Number(ms);
  }

  recordLatencies(latencies: readonly LatencyCount[]): void {
    if (!this.#hasEnded && latencies.length > 0) this.#send({ kind: "latencies", latencies });
  }

  receiveDailyScores(port: MessagePort): void {
    if (this.#hasEnded) port.close();
    else this.#worker.postMessage({ kind: "dailyScores", port } satisfies MessageToStore, [port]);
  }

  findSigned(id: SignedId): ReturnType<OpenStore["findSigned"]> {
    return this.#signedLookupLimit.run(() => this.#call({ name: "findSigned", id }));
  }

  listDecisions(filter: DecisionFilter): Promise<ReplayableLeg[]> {
    return this.readDecisionPage(filter).then(({ legs }) => legs);
  }

  readDecisionPage(filter: DecisionFilter): Promise<DecisionPage> {
    return this.#logReadLimit.run(() => this.#call({ name: "decisions", filter }));
  }

  countDecisions(filter: DecisionFilter): Promise<DecisionCounts> {
    return this.#logReadLimit.run(() => this.#call({ name: "decisionCounts", filter }));
  }

  listReviews(filter: DecisionFilter, isOpen: boolean): Promise<ReviewRow[]> {
    return this.#logReadLimit.run(() => this.#call({ name: "reviews", filter, isOpen }));
  }

  listExportDays(view: ExportView, options: ExportOptions): Promise<string[]> {
    return this.#callWithinReadLimit({ name: "exportDays", view, options });
  }

  exportParquet(view: ExportView, day: string | undefined, options: ExportOptions) {
    return this.#callWithinReadLimit<Uint8Array>({ name: "exportFile", view, day, options });
  }

  recordRun(_table: "kaizen_runs", event: StoreEvents["kaizen_runs"]): Promise<void> {
    const bytes = JSON.stringify(event).length;
    return this.#runLimit.run(() => this.#call({ name: "note", event }), bytes);
  }

  /** Beside a ledger they have a process and a bounded line of their own. */
  #callForCaller<T>(call: StoreCall): Promise<T> {
    return this.#isStandalone ? this.#callWithinReadLimit(call) : this.#call(call);
  }

  listUnjournaledNotes(): Promise<MigratedNote[]> {
    return this.#call({ name: "unjournaled" });
  }

  /** All reads wait in one line: more would only time out. */
  #callWithinReadLimit<T>(call: StoreCall): Promise<T> {
    return this.#readLimit.run(() => this.#call<T>(call));
  }

  #call<T>(call: StoreCall): Promise<T> {
    if (this.#hasEnded) return Promise.reject(createStoreEndedFault());
    return this.#calls.start((id) => this.#send({ kind: "call", id, call }));
  }

  waitUntilApplied(position: number, waitMsMax?: number): Promise<void> {
    if (this.#state.appliedLsn >= position) return Promise.resolve();
    if (this.#hasEnded) return Promise.reject(createStoreEndedFault());
    return this.#positionWaiters.waitFor(position, waitMsMax, () => this.#state.appliedLsn);
  }

  /** Resolves with the first state received after the start. */
  waitForFirstState(): Promise<void> {
    return this.#firstStateReceived.promise;
  }

  async close(): Promise<void> {
    if (!this.#hasEnded) this.#send({ kind: "close" });
    await withDeadline(this.#whenExited, CLOSE_MS_MAX, () => {
      this.hasCloseTimedOut = true;
      this.#log("store_close_late", "a call into the database does not come back");
      // The thread may never exit, and its exit is what rejects them otherwise.
      this.#rejectPending();
    });
    this.ledgerPort.close();
    await this.#claim.release();
  }

  #send(message: MessageToStore): void {
    this.#worker.postMessage(message, []);
  }

  #receive(message: MessageFromStore): void {
    if (message.kind === "state") {
      this.#receiveState(message.state);
    } else if (message.kind === "ahead") {
      const { position, durableLsn } = message;
      this.#firstStateReceived.reject(new JournalEndLost(durableLsn, position, "the store"));
      this.#onAhead(position, durableLsn);
    } else if (message.kind === "log") {
      this.#log(message.event, message.detail);
    } else {
      const reply = message.kind === "answer" ? { value: message.result } : message;
      this.#calls.settle(message.id, reply);
    }
  }

  onRebuilt(listener: () => void): void {
    this.#rebuildListeners.push(listener);
  }

  #receiveState(state: StoreState): void {
    const isRebuilt = state.rebuildCount > this.#state.rebuildCount;
    this.#state = state;
    if (isRebuilt) for (const listener of this.#rebuildListeners) listener();
    this.#firstStateReceived.resolve();
    this.#positionWaiters.resolveUpTo(state.appliedLsn);
  }

  #rejectPending(): void {
    this.#hasEnded = true;
    this.#calls.rejectAll(createStoreEndedFault);
    this.#firstStateReceived.reject(createStoreEndedFault());
    this.#positionWaiters.rejectAll(createStoreEndedFault());
  }
}

/** Sends a call to the store thread. */
type StoreCaller = <T>(call: StoreCall) => Promise<T>;

function createStreamedRows(opened: RowStreamHandle, ask: StoreCaller): StreamedRows {
  const { id: stream, columns, asOf } = opened;
  const fetch = () => {
    const part = ask<Uint8Array | undefined>({ name: "nextPart", stream });
    // `next` reports its error.
    part.catch(() => undefined);
    return part;
  };
  let ahead = fetch();
  let isOver = false;
  return {
    columns,
    asOf,
    async next() {
      const part = await ahead;
      if (part === undefined) isOver = true;
      else ahead = fetch();
      return part;
    },
    cancel() {
      if (isOver) return;
      isOver = true;
      ask({ name: "closeStream", stream }).catch(() => undefined);
    },
  };
}

/** The thread has ended. */
function createStoreEndedFault(): ServiceFault {
  return new ServiceFault("store_unavailable", "the outcome store is not running");
}

/** The lists by way of `send`, which asks the store thread. */
function createAgentDirectory(
  send: (ask: AgentDirectoryRequest) => Promise<unknown>,
): AgentDirectory {
  const reads = new AdmissionLimit({
    countMax: DIRECTORY_READS_MAX,
    detail: "too many lists are waiting",
  });
  return {
    read<List extends AgentDirectoryRequest["list"]>(
      list: List,
      filter: AgentDirectoryFilter<List>,
    ) {
      const ask = { list, filter } as unknown as AgentDirectoryRequest;
      return reads.run(() => send(ask) as Promise<AgentDirectoryResults[List]>);
    },
  };
}
