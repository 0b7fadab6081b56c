// Time limit of one reading connection: counts the time that DuckDB works on it, and interrupts it once
// that is used up. The pauses of a stream, in which its client takes what it has, do not count.
import type { Connection } from "../duckdb.ts";

/** An interrupt that comes between two steps is lost, so it is repeated at this interval in ms. */
export const INTERRUPT_REPEAT_MS = 20;

export class QueryTimeLimit {
  isInterrupted = false;
  /** Its caller wants no answer any more. */
  isCancelled = false;
  readonly #connection: Connection;
  #leftMs: number;
  #timer: NodeJS.Timeout | undefined;

  constructor(connection: Connection, limitMs: number) {
    this.#connection = connection;
    this.#leftMs = limitMs;
  }

  /** Runs `work` within the time that is left. */
  async run<T>(work: () => Promise<T>): Promise<T> {
    const startedAt = performance.now();
    this.#timer = setTimeout(() => this.#interruptRepeatedly(), Math.max(0, this.#leftMs));
    try {
      return await work();
    } finally {
      clearTimeout(this.#timer);
      this.#leftMs -= performance.now() - startedAt;
    }
  }

  /** Interrupts it for its caller's sake. */
  cancel(): void {
    this.isCancelled = true;
    this.#interruptRepeatedly();
  }

  #interruptRepeatedly(): void {
    this.isInterrupted = true;
    this.#connection.interrupt();
    clearTimeout(this.#timer);
    this.#timer = setInterval(() => this.#connection.interrupt(), INTERRUPT_REPEAT_MS);
  }
}
