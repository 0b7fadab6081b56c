// Streamed results: a query whose rows are read in parts, as lines of JSON, by a client that sets the
// pace. Each has a connection and a snapshot of its own. Their number, the work that each may cost,
// the rest that a client may take and the age of a snapshot are bounded.
import { ServiceFault } from "../../contract/faults.ts";
import type { Connection } from "../duckdb.ts";
import type { SnapshotPosition, QueryColumn } from "../store.ts";
import type { QueryRights } from "./guard.ts";
import { numberColumnNames } from "./parquet.ts";
import {
  type CallerStatement,
  DatabaseSuspect,
  convertQueryError,
  type StartedQuery,
  RESULT_TEXT_MAX,
  startReadOnlyQuery,
  INTERRUPT_REPEAT_MS,
  QueryTimeLimit,
} from "./query.ts";

/** Open at one time, and of those for one tenant. */
export const STREAMS_MAX = 4;
export const STREAMS_PER_TENANT_MAX = 2;
/** Time that the database may work on one. */
export const STREAM_WORK_MS = 60_000;
/** Longest rest of a client between two parts. */
export const STREAM_IDLE_MS_MAX = 30_000;
/** Longest life: until then the snapshot holds on to what the database would like to free. */
const STREAM_LIFE_MS_MAX = 15 * 60_000;
/** A part ends with the chunk of rows that reaches this size. */
const PART_BYTES_MIN = 256 * 1024;

export interface RowStreamHandle {
  readonly id: number;
  readonly columns: QueryColumn[];
  readonly asOf: SnapshotPosition;
}

export class RowStreams {
  readonly #connect: () => Promise<Connection>;
  readonly #reportDatabaseError: (error: Error) => void;
  readonly #clock: () => number;
  readonly #open = new Map<number, RowStreamSession>();
  readonly #opening = new Set<Promise<RowStreamHandle>>();
  /** Tenants of the streams that are open or being opened. */
  readonly #tenants: (string | undefined)[] = [];
  #nextId = 1;

  /** `clock` is epoch ms. */
  constructor(
    connect: () => Promise<Connection>,
    suspect: (error: Error) => void,
    clock: () => number,
  ) {
    this.#connect = connect;
    this.#reportDatabaseError = suspect;
    this.#clock = clock;
  }

  /**
   * Starts a query. `workMs`: time that the database may work on it.
   * @throws ServiceFault `query_rejected`, or `overloaded` when too many are open.
   */
  async open(
    statement: CallerStatement,
    workMs: number,
    asker: QueryRights,
  ): Promise<RowStreamHandle> {
    const { tenant } = asker;
    const ofTenant = this.#tenants.filter((each) => each === tenant).length;
    if (this.#tenants.length >= STREAMS_MAX || ofTenant >= STREAMS_PER_TENANT_MAX) {
      throw new ServiceFault("overloaded", "too many answers are being streamed");
    }
    this.#tenants.push(tenant);
    const id = this.#nextId++;
    const forget = () => {
      this.#open.delete(id);
      this.#tenants.splice(this.#tenants.indexOf(tenant), 1);
    };
    const answer = new RowStreamSession(forget, workMs, this.#reportDatabaseError);
    this.#open.set(id, answer);
    const opening = this.#start(id, answer, statement, asker);
    this.#opening.add(opening);
    return opening.finally(() => this.#opening.delete(opening));
  }

  async #start(
    id: number,
    answer: RowStreamSession,
    statement: CallerStatement,
    asker: QueryRights,
  ) {
    try {
      const connection = await this.#connect();
      const { stream, asOf } = await answer.start(connection, statement, asker, this.#clock);
      return { id, columns: stream.columns, asOf };
    } catch (error) {
      await answer.close();
      throw error;
    }
  }

  /**
   * The next lines, or undefined after the last.
   * @throws ServiceFault `query_rejected`, or `store_unavailable` when the stream has ended.
   */
  async next(id: number): Promise<Uint8Array<ArrayBuffer> | undefined> {
    const answer = this.#open.get(id);
    if (answer === undefined) throw createStreamEndedFault();
    return answer.next();
  }

  /** Ends a stream before its end; harmless after it. */
  async close(id: number): Promise<void> {
    await this.#open.get(id)?.close();
  }

  /** Ends all streams, and resolves once their connections are closed. */
  async stop(): Promise<void> {
    await Promise.all([...this.#open.values()].map((answer) => answer.close()));
    await Promise.allSettled(this.#opening);
  }
}

class RowStreamSession {
  readonly #onEnded: () => void;
  readonly #workMs: number;
  readonly #reportDatabaseError: (error: Error) => void;
  #connection: Connection | undefined;
  #timeLimit: QueryTimeLimit | undefined;
  #query: StartedQuery | undefined;
  #linePrefixes: string[] = [];
  #idleTimer: NodeJS.Timeout | undefined;
  readonly #life: NodeJS.Timeout;
  /** The step that runs now; a connection is closed after it. */
  #step: Promise<unknown> = Promise.resolve();
  #closing: Promise<void> | undefined;

  constructor(onEnded: () => void, workMs: number, suspect: (error: Error) => void) {
    this.#onEnded = onEnded;
    this.#workMs = workMs;
    this.#reportDatabaseError = suspect;
    this.#life = setTimeout(() => void this.close(), STREAM_LIFE_MS_MAX);
  }

  async start(
    connection: Connection,
    statement: CallerStatement,
    asker: QueryRights,
    clock: () => number,
  ) {
    if (this.#closing !== undefined) {
      connection.close();
      throw createStreamEndedFault();
    }
    this.#connection = connection;
    this.#timeLimit = new QueryTimeLimit(connection, this.#workMs);
    const watch = this.#timeLimit;
    const reading = await this.#runStep(() =>
      watch.run(() => startReadOnlyQuery(connection, statement, asker, clock)),
    );
    this.#query = reading;
    this.#linePrefixes = buildLinePrefixes(reading.stream.columns);
    return reading;
  }

  async next(): Promise<Uint8Array<ArrayBuffer> | undefined> {
    if (this.#closing !== undefined) throw createStreamEndedFault();
    const part = await this.#runStep(() => this.#readPart());
    if (part === undefined) await this.close();
    return part;
  }

  async #readPart(): Promise<Uint8Array<ArrayBuffer> | undefined> {
    const { stream, budget } = this.#query as StartedQuery;
    const watch = this.#timeLimit as QueryTimeLimit;
    let lines = "";
    budget.reset(RESULT_TEXT_MAX);
    while (lines.length < PART_BYTES_MIN) {
      const chunk = await watch.run(() => stream.next());
      if (watch.isInterrupted) throw new Error("INTERRUPT Error: Interrupted!");
      if (chunk === undefined) break;
      for (const row of chunk.rows()) lines += formatStreamLine(this.#linePrefixes, row);
    }
    return lines === "" ? undefined : new TextEncoder().encode(lines);
  }

  /** One step at a time; between two the client may rest for a while. */
  async #runStep<T>(work: () => Promise<T>): Promise<T> {
    clearTimeout(this.#idleTimer);
    const watch = this.#timeLimit as QueryTimeLimit;
    const step = this.#step.then(work);
    this.#step = step.catch(() => undefined);
    try {
      return await step;
    } catch (error) {
      // Closed from outside, its time is not over: the store has ended it.
      const fault =
        this.#closing === undefined
          ? convertQueryError(error, watch, this.#workMs)
          : createStreamEndedFault();
      void this.close();
      if (!(fault instanceof DatabaseSuspect)) throw fault;
      this.#reportDatabaseError(fault);
      throw new ServiceFault("store_unavailable", "the outcome store is being looked at");
    } finally {
      if (this.#closing === undefined) {
        this.#idleTimer = setTimeout(() => void this.close(), STREAM_IDLE_MS_MAX);
      }
    }
  }

  close(): Promise<void> {
    this.#closing ??= this.#closeOnce();
    return this.#closing;
  }

  async #closeOnce(): Promise<void> {
    clearTimeout(this.#idleTimer);
    clearTimeout(this.#life);
    const connection = this.#connection;
    if (connection !== undefined) {
      const nudge = setInterval(() => connection.interrupt(), INTERRUPT_REPEAT_MS);
      connection.interrupt();
      await this.#step;
      clearInterval(nudge);
      this.#query?.stream.close();
      connection.close();
    }
    this.#onEnded();
  }
}

export function createStreamEndedFault(): ServiceFault {
  return new ServiceFault("store_unavailable", "the stream has ended before its last row");
}

/** Text before each value of a line. */
function buildLinePrefixes(columns: readonly QueryColumn[]): string[] {
  return numberColumnNames(columns).map(
    (name, index) => `${index === 0 ? "{" : ","}${JSON.stringify(name)}:`,
  );
}

function formatStreamLine(starts: readonly string[], row: readonly unknown[]): string {
  let line = "";
  for (const [index, start] of starts.entries()) line += start + JSON.stringify(row[index]);
  return `${line}}\n`;
}
