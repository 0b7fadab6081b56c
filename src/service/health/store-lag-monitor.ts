// Watch of a store that lags: told of once in the log and on record, and again only after it has caught
// up. Webhooks read it from the record.
import type { Log } from "../../platform/log.ts";
import type { StoreState } from "../../store/messages.ts";

/** A store that is behind for this long does not catch up by itself. */
const LAGGING_MS = 60_000;
const LAG_CHECK_INTERVAL_MS = 5000;
/** Between two records: a store that lags on and off fills no journal. */
const LAG_RECORD_INTERVAL_MS = 600_000;

export interface StoreLagMonitorOptions {
  readonly state: () => Pick<
    StoreState,
    "behindSinceMs" | "appliedLsn" | "durableLsn" | "failure" | "isBuilding"
  >;
  /** Makes an audit event durable. */
  readonly append: (payload: Uint8Array) => Promise<unknown>;
  /** Epoch ms. */
  readonly clock: () => number;
  readonly log: Pick<Log, "info" | "warn">;
}

export class StoreLagMonitor {
  readonly #options: StoreLagMonitorOptions;
  readonly #timer: NodeJS.Timeout;
  #isLagging = false;
  #toldMs = Number.NEGATIVE_INFINITY;

  constructor(options: StoreLagMonitorOptions) {
    this.#options = options;
    this.#timer = setInterval(() => this.look(), LAG_CHECK_INTERVAL_MS).unref();
  }

  look(): void {
    const { state, clock, log } = this.#options;
    const { behindSinceMs, appliedLsn, durableLsn } = state();
    const nowMs = clock();
    if (behindSinceMs === 0) {
      if (this.#isLagging) log.info("store_caught_up", { detail: `position ${appliedLsn}` });
      this.#isLagging = false;
      return;
    }
    const isLagging = nowMs - behindSinceMs >= LAGGING_MS;
    if (!isLagging || this.#isLagging || nowMs - this.#toldMs < LAG_RECORD_INTERVAL_MS) return;
    this.#isLagging = true;
    this.#toldMs = nowMs;
    const seconds = Math.round((nowMs - behindSinceMs) / 1000);
    const detail = `for ${seconds} s, at position ${appliedLsn} of ${durableLsn}`;
    log.warn("store_lagging", { detail });
    this.#record(seconds, nowMs);
  }

  close(): void {
    clearInterval(this.#timer);
  }

  #record(seconds: number, nowMs: number): void {
    const { state, append, log } = this.#options;
    const { appliedLsn, durableLsn, failure, isBuilding } = state();
    const record = {
      event: "store.lagging",
      at_ms: nowMs,
      behind_seconds: seconds,
      position: appliedLsn,
      durable_position: durableLsn,
      is_rebuilding: isBuilding,
      reason: failure === "" ? null : failure,
    };
    append(Buffer.from(JSON.stringify(record))).catch((error: unknown) => {
      log.warn("store_lagging_not_on_record", { detail: String(error) });
    });
  }
}
