// The store thread's loop: hear how far the journal is durable, apply at most every so often,
// answer queries in between. A failure to apply is told and tried again; it stops nothing else.
import type { MessagePort } from "node:worker_threads";
import { ServiceFault } from "../contract/faults.ts";
import { APPLY_RECORDS_MAX, type StoreCore } from "./store-core.ts";
import type { FromStore, ToStore } from "./store-messages.ts";

const APPLY_INTERVAL_MS = 250;
const RETRY_INTERVAL_MS = 5000;

export interface StoreLoopOptions {
  port: MessagePort;
  /** Where the ledger announces positions; undefined for a store on its own. */
  ledgerPort: MessagePort | undefined;
  core: StoreCore;
  /** The journal's end for a store on its own; else unknown until the ledger tells. */
  durableLsn: number | undefined;
}

/** Serves until told to close. Returns at once. */
export function serveStore(options: StoreLoopOptions): void {
  new StoreLoop(options).start();
}

class StoreLoop {
  private readonly options: StoreLoopOptions;
  private durableLsn: number | undefined;
  private failure = "";
  private timer: NodeJS.Timeout | undefined;
  private applying: Promise<void> | undefined;
  private isClosing = false;

  constructor(options: StoreLoopOptions) {
    this.options = options;
    this.durableLsn = options.durableLsn;
  }

  start(): void {
    const { port, ledgerPort } = this.options;
    port.on("message", (message: ToStore) => this.take(message));
    ledgerPort?.on("message", (lsn: number) => this.hear(lsn));
    if (this.durableLsn !== undefined) this.schedule(0);
  }

  private take(message: ToStore): void {
    if (message.kind === "notify") this.hear(message.lsn);
    else if (message.kind === "query") void this.answer(message);
    else void this.close();
  }

  private hear(lsn: number): void {
    const isFirst = this.durableLsn === undefined;
    if (lsn <= (this.durableLsn ?? -1)) return;
    this.durableLsn = lsn;
    const backlog = lsn - this.options.core.applied.lsn;
    this.schedule(isFirst || backlog >= APPLY_RECORDS_MAX ? 0 : APPLY_INTERVAL_MS);
  }

  /** One apply at a time; a timer that is set stays, unless there is reason to hurry. */
  private schedule(delayMs: number): void {
    if (this.isClosing || this.applying !== undefined || this.durableLsn === undefined) return;
    if (this.timer !== undefined && delayMs > 0) return;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => {
      this.timer = undefined;
      this.applying = this.apply(this.durableLsn ?? 0);
    }, delayMs);
  }

  private async apply(durableLsn: number): Promise<void> {
    let delayMs = APPLY_INTERVAL_MS;
    try {
      const hasMore = await this.options.core.follow(durableLsn);
      this.failure = "";
      if (hasMore) delayMs = 0;
    } catch (error) {
      this.failure = String(error);
      this.tell({ kind: "log", event: "store_apply_failed", detail: this.failure });
      delayMs = RETRY_INTERVAL_MS;
    }
    this.applying = undefined;
    this.tellState();
    if (this.isBehind() || this.failure !== "") this.schedule(delayMs);
  }

  private async answer(message: Extract<ToStore, { kind: "query" }>): Promise<void> {
    const { id, sql, limits } = message;
    try {
      const result = await this.options.core.query(sql, limits);
      this.tell({ kind: "answer", id, result });
    } catch (error) {
      const isFault = error instanceof ServiceFault;
      const code = isFault ? error.code : "store_unavailable";
      const detail = isFault ? error.detail : "the outcome store does not answer";
      if (!isFault) this.tell({ kind: "log", event: "store_query_failed", detail: String(error) });
      this.tell({ kind: "refusal", id, code, detail });
    }
    // A query can have found the database broken: the next apply looks into it.
    if (this.options.core.isSuspect) this.schedule(0);
  }

  private isBehind(): boolean {
    const { applied, isSuspect } = this.options.core;
    return isSuspect || applied.lsn < (this.durableLsn ?? 0);
  }

  private async close(): Promise<void> {
    this.isClosing = true;
    clearTimeout(this.timer);
    await this.applying;
    await this.options.core.close();
    this.options.ledgerPort?.close();
    this.options.port.close();
  }

  private tellState(): void {
    const { applied, rebuildCount } = this.options.core;
    this.tell({
      kind: "state",
      state: {
        appliedLsn: applied.lsn,
        durableLsn: this.durableLsn ?? 0,
        outcomeCount: applied.outcomeCount,
        rebuildCount,
        failure: this.failure,
      },
    });
  }

  private tell(message: FromStore): void {
    this.options.port.postMessage(message, []);
  }
}
