// Client of the store thread, for the main thread: starts it, passes queries, holds its last state.
import { MessageChannel, type MessagePort, Worker } from "node:worker_threads";
import type { DecisionFilter } from "../contract/decisions.ts";
import { ServiceFault } from "../contract/faults.ts";
import type { ExportView } from "../contract/views.ts";
import type { SignedId, SignedRecords } from "../contract/signed-records.ts";
import type { ReplayableLeg } from "../contract/schemas/decisions.ts";
import { claimDataDirectory, type DataDirectoryClaim } from "../journal/data-directory.ts";
import type { FromStore, StoreCall, StoreState, StoreThreadData, ToStore } from "./messages.ts";
import { STATE_START } from "./messages.ts";
import type { OpenedStream } from "./query/row-streams.ts";
import type {
  DecisionPage,
  ExportOptions,
  QueryLimits,
  QueryResult,
  Review,
  Store,
  StoreDescription,
  StoreEvents,
  StreamedRows,
} from "./store.ts";
import { streamedRows } from "./streamed-rows.ts";
import { faultOf } from "./calls.ts";
import { Line } from "./line.ts";
import { Waiting } from "./waiting.ts";

/** Queries waiting or running: they run one at a time, so more would only time out. */
export const QUERIES_MAX = 16;
/** Look-ups waiting or running: a batch of items signed one by one asks for each of them. */
const FINDS_MAX = 1000;
/** Reads of the decision log waiting or running; queries do not count. */
const LOG_READS_MAX = 16;
/** Events waiting to be committed. */
const NOTES_MAX = 10_000;
const MEMORY_MEGABYTES = 512;
export const QUERY_MEMORY_MEGABYTES = 1024;
export const DECISIONS_KEPT_DAYS = 90;
/** Thirteen months: a year can be compared with the one before. */
export const OUTCOMES_KEPT_DAYS = 396;

export interface StoreOptions {
  dataDir: string;
  /** True when no ledger runs beside it: the store reads the journal's end by itself. */
  isStandalone?: boolean;
  /** Rings of the threads that decide (store/decisions/ring-layout.ts). */
  rings?: readonly SharedArrayBuffer[];
  /** Days that rows of the decision log are kept. */
  decisionsKeptDays?: number;
  /** Days that rows of outcomes are kept; daily counts stay. */
  outcomesKeptDays?: number;
  /** At least 512. */
  memoryMegabytes?: number;
  /** Limit on the memory of the process that runs callers' SQL; at least 1024. */
  queryMemoryMegabytes?: number;
  /** IANA name of the zone of local times; UTC by default. */
  timeZone?: string | undefined;
  /** Called for rebuilds and failures, one line each. */
  log?: (event: string, detail: string) => void;
  /** The thread's file; the default is the composition root's. */
  entry?: URL;
}

export interface OpenStore extends Store {
  /** Give this to startLedger as `storePort`. */
  readonly ledgerPort: MessagePort;
  /** The last state received. */
  status(): StoreState;
  /** Gives callers' SQL two more seconds: an end of the service waits for none. */
  endQueries(): void;
  /** Shows the scores of this agent table from now on, in the views `agents` and `scores_daily`. */
  showScores(engineMemory: WebAssembly.Memory): void;
}

/**
 * Claims the data directory and starts the store thread. Resolves at once with a ledger (the store
 * catches up in its own time); on its own, once everything in the journal is applied.
 * @throws DataDirectoryInUse when another process owns the directory.
 */
export async function startStore(options: StoreOptions): Promise<OpenStore> {
  const claim = await claimDataDirectory(options.dataDir);
  const channel = new MessageChannel();
  const data: StoreThreadData = {
    journal: claim.paths.journal,
    store: claim.paths.store,
    memoryMegabytes: options.memoryMegabytes ?? MEMORY_MEGABYTES,
    isStandalone: options.isStandalone ?? false,
    rings: options.rings ?? [],
    decisionsKeptDays: options.decisionsKeptDays ?? DECISIONS_KEPT_DAYS,
    outcomesKeptDays: options.outcomesKeptDays ?? OUTCOMES_KEPT_DAYS,
    timeZone: options.timeZone ?? "UTC",
    queryMemoryMegabytes: options.queryMemoryMegabytes ?? QUERY_MEMORY_MEGABYTES,
  };
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

interface Call {
  resolve: (result: never) => void;
  reject: (error: Error) => void;
}

class StoreClient implements OpenStore {
  readonly ledgerPort: MessagePort;
  readonly #worker: Worker;
  readonly #isStandalone: boolean;
  readonly #claim: DataDirectoryClaim;
  readonly #log: (event: string, detail: string) => void;
  #state = STATE_START;
  #calls = new Map<number, Call>();
  readonly #waiting = new Waiting();
  #hasState = Promise.withResolvers<void>();
  #nextId = 1;
  readonly #reads = new Line(QUERIES_MAX, "too many queries are waiting");
  readonly #logReads = new Line(LOG_READS_MAX, "too many reads of the log are waiting");
  readonly #finds = new Line(FINDS_MAX, "too many repeats are being looked up");
  readonly #notes = new Line(NOTES_MAX, "too many events are waiting");
  #isOver = false;
  #whenExited: Promise<void>;

  constructor(
    worker: Worker,
    claim: DataDirectoryClaim,
    ledgerPort: MessagePort,
    { log = () => undefined, isStandalone = false }: StoreOptions,
  ) {
    this.#worker = worker;
    this.#isStandalone = isStandalone;
    this.#claim = claim;
    this.ledgerPort = ledgerPort;
    this.#log = log;
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
  ): Promise<QueryResult> {
    return this.#ofCaller({ name: "query", sql, limits, asker: { tenant, withheld } });
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

  endQueries(): void {
    if (!this.#isOver) this.#send({ kind: "endQueries" });
  }

  showScores(engineMemory: WebAssembly.Memory): void {
    if (!this.#isOver) this.#send({ kind: "table", engineMemory });
  }

  findSigned(id: SignedId): Promise<SignedRecords> {
    return this.#finds.run(() => this.#call({ name: "findSigned", id }));
  }

  async decisions(filter: DecisionFilter): Promise<ReplayableLeg[]> {
    return (await this.decisionPage(filter)).legs;
  }

  decisionPage(filter: DecisionFilter): Promise<DecisionPage> {
    return this.#logReads.run(() => this.#call({ name: "decisions", filter }));
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

  note<Table extends keyof StoreEvents>(table: Table, event: StoreEvents[Table]): Promise<void> {
    return this.#notes.run(() => this.#call({ name: "note", table, event }));
  }

  /** Beside a ledger they have a process and a bounded line of their own. */
  #ofCaller<T>(call: StoreCall): Promise<T> {
    return this.#isStandalone ? this.#read(call) : this.#call(call);
  }

  /** All reads wait in one line: more would only time out. */
  #read<T>(call: StoreCall): Promise<T> {
    return this.#reads.run(() => this.#call<T>(call));
  }

  #call<T>(call: StoreCall): Promise<T> {
    if (this.#isOver) return Promise.reject(unavailable());
    return new Promise((resolve, reject) => {
      const id = this.#nextId++;
      this.#calls.set(id, { resolve, reject });
      this.#send({ kind: "call", id, call });
    });
  }

  appliedUpTo(position: number, waitMsMax?: number): Promise<void> {
    if (this.#state.appliedLsn >= position) return Promise.resolve();
    if (this.#isOver) return Promise.reject(unavailable());
    return this.#waiting.until(position, waitMsMax, () => this.#state.appliedLsn);
  }

  /** Resolves with the first state received after the start. */
  firstState(): Promise<void> {
    return this.#hasState.promise;
  }

  async close(): Promise<void> {
    if (!this.#isOver) this.#send({ kind: "close" });
    await this.#whenExited;
    this.ledgerPort.close();
    await this.#claim.release();
  }

  #send(message: ToStore): void {
    this.#worker.postMessage(message, []);
  }

  #receive(message: FromStore): void {
    if (message.kind === "state") {
      this.#hearState(message.state);
    } else if (message.kind === "log") {
      this.#log(message.event, message.detail);
    } else {
      const call = this.#calls.get(message.id);
      this.#calls.delete(message.id);
      if (message.kind === "answer") call?.resolve(message.result as never);
      else call?.reject(faultOf(message));
    }
  }

  #hearState(state: StoreState): void {
    this.#state = state;
    this.#hasState.resolve();
    this.#waiting.reached(state.appliedLsn);
  }

  #end(): void {
    this.#isOver = true;
    for (const call of this.#calls.values()) call.reject(unavailable());
    this.#hasState.reject(unavailable());
    this.#waiting.end(unavailable());
    this.#calls.clear();
  }
}

function unavailable(): ServiceFault {
  return new ServiceFault("store_unavailable", "the outcome store is not running");
}
