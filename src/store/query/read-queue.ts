// Queue of reads of the database, one after another on a connection. A rebuild can end the running
// read and hold up later ones.
import { ServiceFault } from "../../contract/faults.ts";
import type { DatabaseConnections } from "../database.ts";
import type { Connection } from "../duckdb.ts";
import type { QueryRights } from "./guard.ts";
import { type CallerStatement, DatabaseSuspect, runQuery, INTERRUPT_REPEAT_MS } from "./query.ts";
import { RowStreams } from "./row-streams.ts";
import type { QueryLimits, QueryResult } from "../store.ts";
import { SerialQueue } from "../../concurrency/serial-queue.ts";

/** Serial queue of reads whose running one can be interrupted. */
class InterruptibleQueue {
  readonly #reads = new SerialQueue();
  #running: Connection | undefined;

  /** Runs `work` after all waiting work. It must pass the connection that it is about to use. */
  run<T>(work: (use: (connection: Connection) => Connection) => Promise<T>): Promise<T> {
    return this.#reads.run(async () => {
      try {
        return await work((connection) => (this.#running = connection));
      } finally {
        this.#running = undefined;
      }
    });
  }

  /** Ends all running and waiting work. */
  async stop(): Promise<void> {
    // One interrupt ends only the query that runs now; those in line have to be ended too.
    const nudge = setInterval(() => this.#running?.interrupt(), INTERRUPT_REPEAT_MS);
    this.#running?.interrupt();
    await this.#reads.drained();
    clearInterval(nudge);
  }

  /** Work that arrives from now on waits until the returned function is called. */
  hold(): () => void {
    const { promise, resolve } = Promise.withResolvers<void>();
    void this.#reads.run(() => promise);
    return resolve;
  }
}

export class ReadQueue {
  readonly #openConnections: () => Promise<DatabaseConnections>;
  readonly #reportDatabaseError: (error: Error) => void;
  /** Queries run one after another; look-ups that an answer waits for do not wait for them. */
  readonly #queryQueue = new InterruptibleQueue();
  readonly #lookupQueue = new InterruptibleQueue();
  readonly #ownConnectionQueue = new InterruptibleQueue();
  /** Answers that are taken in parts, beside the queries: their clients set the pace. */
  readonly streams: RowStreams;
  #streamsPaused: Promise<void> | undefined;
  readonly #clock: () => number;

  /**
   * `suspect` is called with errors that point to the database instead of a query; `clock` is epoch
   * ms.
   */
  constructor(
    open: () => Promise<DatabaseConnections>,
    suspect: (error: Error) => void,
    clock: () => number,
  ) {
    this.#openConnections = open;
    this.#reportDatabaseError = suspect;
    this.#clock = clock;
    const connect = async () => {
      await this.#streamsPaused;
      return (await open()).openAnother();
    };
    this.streams = new RowStreams(connect, suspect, clock);
  }

  /** An analyst's query; `parquetPath` as in QueryContext. */
  query(
    statement: CallerStatement,
    limits: QueryLimits,
    asker: QueryRights,
    parquetPath?: string,
  ): Promise<QueryResult> {
    return this.#queryQueue.run(async (use) => {
      const own = await (await this.#openConnections()).openAnother();
      try {
        const context = { limits, asker, clock: this.#clock, parquetPath };
        return await runQuery(use(own), statement, context);
      } catch (error) {
        if (!(error instanceof DatabaseSuspect)) throw error;
        this.#reportDatabaseError(error);
        throw new ServiceFault("store_unavailable", "the outcome store is being looked at");
      } finally {
        own.close();
      }
    });
  }

  /** A read of the store itself, in line with the queries and without their limits. */
  read<T>(run: (reader: Connection) => Promise<T>): Promise<T> {
    return this.#queryQueue.run(async (use) => run(use((await this.#openConnections()).reader)));
  }

  /** A small look-up that an answer waits for: no query holds it up. */
  lookUp<T>(run: (finder: Connection) => Promise<T>): Promise<T> {
    return this.#lookupQueue.run(async (use) =>
      run(use((await this.#openConnections()).lookupReader)),
    );
  }

  /** A read on a connection of its own, which no other read waits for. */
  readOnOwnConnection<T>(run: (connection: Connection) => Promise<T>): Promise<T> {
    return this.#ownConnectionQueue.run(async (use) => {
      const own = await (await this.#openConnections()).openAnother();
      try {
        return await run(use(own));
      } finally {
        own.close();
      }
    });
  }

  /** Ends all running and waiting reads. */
  async stop(): Promise<void> {
    const queues = [this.#queryQueue, this.#lookupQueue, this.#ownConnectionQueue].map((queue) =>
      queue.stop(),
    );
    await Promise.all([...queues, this.streams.stop()]);
  }

  /** Reads that arrive from now on wait until the returned function is called. */
  pause(): () => void {
    const resume = [
      this.#queryQueue.hold(),
      this.#lookupQueue.hold(),
      this.#ownConnectionQueue.hold(),
    ];
    this.#streamsPaused = new Promise((resolve) => resume.push(resolve));
    return () => {
      for (const each of resume) each();
    };
  }
}
