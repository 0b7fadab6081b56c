// Client of the store thread, for the main thread: starts it, passes queries, holds its last state.
import { MessageChannel, type MessagePort, Worker } from "node:worker_threads";
import type { DecisionCounts, DecisionFilter } from "../contract/decisions.ts";
import type { ExportView } from "../contract/views.ts";
import type { SignedId } from "../contract/signed-records.ts";
import type { ReplayableLeg } from "../contract/schemas/decisions.ts";
import type { UsageRow } from "../contract/usage.ts";
import type { MovedNote } from "../contract/notes.ts";
import { JournalEndLost } from "../journal/faults.ts";
import { claimDataDirectory, type DataDirectoryClaim } from "../journal/data-directory.ts";
import type { FromStore, StoreCall, StoreState, ToStore } from "./messages.ts";
import { type OpenStore, STATE_START, type StoreOptions, threadData } from "./options.ts";
import type { OpenedStream } from "./query/row-streams.ts";
import type {
  DecisionPage,
  ExportOptions,
  QueryLimits,
  QueryResult,
  Review,
  StoreDescription,
  StoreEvents,
  StreamedRows,
  UsageRange,
} from "./store.ts";
import { streamedRows } from "./streamed-rows.ts";
import { type AskedCall, storeEnded } from "./calls.ts";
import { AdmissionLimit } from "../concurrency/admission-limit.ts";
import { Waiting } from "./waiting.ts";
import { directoryBy } from "./directory/client.ts";
import { withDeadline } from "../concurrency/deadline.ts";
import { decodeFault } from "../contract/encoded-fault.ts";

export {
  DECISIONS_KEPT_DAYS,
  OUTCOMES_KEPT_DAYS,
  PROVENANCE_KEPT_DAYS,
  QUERY_MEMORY_MEGABYTES,
  STORE_MEMORY_MEGABYTES,
} from "./options.ts";
export type { OpenStore } from "./options.ts";

/** Queries waiting or running: they run one at a time, so more would only time out. */
export const QUERIES_MAX = 16;
/** Look-ups waiting or running: a batch of items signed one by one asks for each of them. */
const FINDS_MAX = 1000;
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
  const data = threadData(options, claim.paths);
  const worker = new Worker(options.entry ?? new URL("../threads/store.ts", import.meta.url), {
    name: "store",
    workerData: { ...data, ledgerPort: channel.port2 },
    transferList: [channel.port2],
  });
  const client = new StoreClient(worker, claim, channel.port1, options);
  if (!data.isStandalone) return client;
  try {
    await client.firstState();
    await client.appliedUpTo(client.status().durableLsn);
  } catch (error) {
    await client.close();
    throw error;
  }
  return client;
}

class StoreClient implements OpenStore {
  isLate = false;
  readonly ledgerPort: MessagePort;
  readonly #worker: Worker;
  readonly #isStandalone: boolean;
  readonly #claim: DataDirectoryClaim;
  readonly #log: (event: string, detail: string) => void;
  #state = STATE_START;
  #calls = new Map<number, AskedCall>();
  readonly #waiting = new Waiting();
  #hasState = Promise.withResolvers<void>();
  #nextId = 1;
  readonly #onRebuilt: (() => void)[] = [];
  readonly #onAhead: (position: number, durableLsn: number) => void;
  readonly #reads = new AdmissionLimit({
    countMax: QUERIES_MAX,
    detail: "too many queries are waiting",
  });
  readonly #logReads = new AdmissionLimit({
    countMax: LOG_READS_MAX,
    detail: "too many reads of the log are waiting",
  });
  readonly #finds = new AdmissionLimit({
    countMax: FINDS_MAX,
    detail: "too many repeats are being looked up",
  });
  readonly #runs = new AdmissionLimit({
    countMax: RUNS_MAX,
    bytesMax: RUN_BYTES_MAX,
    detail: "too many runs are waiting",
  });
  readonly directory = directoryBy((ask) => this.#call({ name: "directory", ask }));
  #isOver = false;
  #whenExited: Promise<void>;

  constructor(
    worker: Worker,
    claim: DataDirectoryClaim,
    ledgerPort: MessagePort,
    { log = () => undefined, onAhead = () => undefined, isStandalone = false }: StoreOptions,
  ) {
    this.#worker = worker;
    this.#isStandalone = isStandalone;
    this.#claim = claim;
    this.ledgerPort = ledgerPort;
    this.#log = log;
    this.#onAhead = onAhead;
    worker.on("message", (message: FromStore) => this.#receive(message));
    worker.on("error", (error) => this.#log("store_thread_failed", String(error)));
    // Only a store on its own waits for it.
    this.#hasState.promise.catch(() => undefined);
    this.#whenExited = new Promise((resolve) => {
      worker.once("exit", () => {
        this.#end();
        resolve();
      });
    });
  }

  status(): StoreState {
    return this.#state;
  }

  notify(position: number): void {
    if (!this.#isOver) this.#send({ kind: "notify", lsn: position });
  }

  query(
    sql: string,
    limits: QueryLimits,
    tenant?: string,
    withheld: readonly string[] = [],
    handle?: string,
  ): Promise<QueryResult> {
    return this.#ofCaller({ name: "query", sql, limits, asker: { tenant, withheld }, handle });
  }

  cancelQuery(handle: string): Promise<boolean> {
    return this.#call({ name: "cancelQuery", handle });
  }

  async stream(
    sql: string,
    tenant?: string,
    withheld: readonly string[] = [],
  ): Promise<StreamedRows> {
    const asker = { tenant, withheld };
    const opened = await this.#ofCaller<OpenedStream>({ name: "openStream", sql, asker });
    return streamedRows(opened, (call) => this.#call(call));
  }

  ask(sql: string): Promise<unknown[][]> {
    return this.#read({ name: "ask", sql });
  }

  describe(): Promise<StoreDescription> {
    return this.#read({ name: "describe" });
  }

  usage(range: UsageRange): Promise<UsageRow[]> {
    return this.#read({ name: "usage", range });
  }

  endQueries(): void {
    if (!this.#isOver) this.#send({ kind: "endQueries" });
  }

  showScores(engineMemory: WebAssembly.Memory): void {
    if (!this.#isOver) this.#send({ kind: "table", engineMemory });
  }

  findSigned(id: SignedId): ReturnType<OpenStore["findSigned"]> {
    return this.#finds.run(() => this.#call({ name: "findSigned", id }));
  }

  decisions(filter: DecisionFilter): Promise<ReplayableLeg[]> {
    return this.decisionPage(filter).then(({ legs }) => legs);
  }

  decisionPage(filter: DecisionFilter): Promise<DecisionPage> {
    return this.#logReads.run(() => this.#call({ name: "decisions", filter }));
  }

  decisionCounts(filter: DecisionFilter): Promise<DecisionCounts> {
    return this.#logReads.run(() => this.#call({ name: "decisionCounts", filter }));
  }

  reviews(filter: DecisionFilter, isOpen: boolean): Promise<Review[]> {
    return this.#logReads.run(() => this.#call({ name: "reviews", filter, isOpen }));
  }

  exportDays(view: ExportView, options: ExportOptions): Promise<string[]> {
    return this.#read({ name: "exportDays", view, options });
  }

  exportFile(view: ExportView, day: string | undefined, options: ExportOptions) {
    return this.#read<Uint8Array>({ name: "exportFile", view, day, options });
  }

  note(_table: "kaizen_runs", event: StoreEvents["kaizen_runs"]): Promise<void> {
    const bytes = JSON.stringify(event).length;
    return this.#runs.run(() => this.#call({ name: "note", event }), bytes);
  }

  /** Beside a ledger they have a process and a bounded line of their own. */
  #ofCaller<T>(call: StoreCall): Promise<T> {
    return this.#isStandalone ? this.#read(call) : this.#call(call);
  }

  unjournaled(): Promise<MovedNote[]> {
    return this.#call({ name: "unjournaled" });
  }

  /** All reads wait in one line: more would only time out. */
  #read<T>(call: StoreCall): Promise<T> {
    return this.#reads.run(() => this.#call<T>(call));
  }

  #call<T>(call: StoreCall): Promise<T> {
    if (this.#isOver) return Promise.reject(storeEnded());
    return new Promise((resolve, reject) => {
      const id = this.#nextId++;
      this.#calls.set(id, { resolve, reject });
      this.#send({ kind: "call", id, call });
    });
  }

  appliedUpTo(position: number, waitMsMax?: number): Promise<void> {
    if (this.#state.appliedLsn >= position) return Promise.resolve();
    if (this.#isOver) return Promise.reject(storeEnded());
    return this.#waiting.until(position, waitMsMax, () => this.#state.appliedLsn);
  }

  /** Resolves with the first state received after the start. */
  firstState(): Promise<void> {
    return this.#hasState.promise;
  }

  async close(): Promise<void> {
    if (!this.#isOver) this.#send({ kind: "close" });
    await withDeadline(this.#whenExited, CLOSE_MS_MAX, () => {
      this.isLate = true;
      this.#log("store_close_late", "a call into the database does not come back");
    });
    this.ledgerPort.close();
    await this.#claim.release();
  }

  #send(message: ToStore): void {
    this.#worker.postMessage(message, []);
  }

  #receive(message: FromStore): void {
    if (message.kind === "state") {
      this.#hearState(message.state);
    } else if (message.kind === "ahead") {
      const { position, durableLsn } = message;
      this.#hasState.reject(new JournalEndLost(durableLsn, position, "the store"));
      this.#onAhead(position, durableLsn);
    } else if (message.kind === "log") {
      this.#log(message.event, message.detail);
    } else {
      const call = this.#calls.get(message.id);
      this.#calls.delete(message.id);
      if (message.kind === "answer") call?.resolve(message.result as never);
      else call?.reject(decodeFault(message.fault));
    }
  }

  whenRebuilt(listener: () => void): void {
    this.#onRebuilt.push(listener);
  }

  #hearState(state: StoreState): void {
    const isRebuilt = state.rebuildCount > this.#state.rebuildCount;
    this.#state = state;
    if (isRebuilt) for (const listener of this.#onRebuilt) listener();
    this.#hasState.resolve();
    this.#waiting.reached(state.appliedLsn);
  }

  #end(): void {
    this.#isOver = true;
    for (const call of this.#calls.values()) call.reject(storeEnded());
    this.#hasState.reject(storeEnded());
    this.#waiting.end(storeEnded());
    this.#calls.clear();
  }
}
