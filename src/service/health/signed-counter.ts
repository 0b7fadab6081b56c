// Counts outcomes of the last 30 days by the namespace that they were signed in: by the store, once an hour, for the
// warnings of `/readyz`, which reads the last counts and never waits.
import { HOUR_MS } from "../../contract/units.ts";
import { SIGNED_COUNTS_WINDOW_MS, type SignedCounts } from "../../http/access/vouching-warning.ts";
import type { OpenStore } from "../../store/client.ts";

/** How soon after an owner without a voucher appears its outcomes are counted. */
const LOOK_INTERVAL_MS = 5000;
const RETRY_INTERVAL_MS = 60_000;

export interface SignedCounterOptions {
  readonly store: Pick<OpenStore, "queryTrusted" | "status">;
  /** Whether anything would be said of them: without unvouched owners nothing is counted. */
  readonly isNeeded: () => boolean;
  /** Epoch ms. */
  readonly clock: () => number;
}

export class SignedCounter {
  readonly #options: SignedCounterOptions;
  readonly #timer: NodeJS.Timeout;
  /** Infinite while the store counts. */
  #dueMs = 0;
  #counts: SignedCounts | undefined;

  constructor(options: SignedCounterOptions) {
    this.#options = options;
    this.#timer = setInterval(() => void this.look(), LOOK_INTERVAL_MS).unref();
  }

  /** At most about an hour old while they are needed; undefined before the first. */
  get counts(): SignedCounts | undefined {
    return this.#counts;
  }

  /** Counts when it is due. A store that fails says so itself: the last counts stay, tried again in a minute. */
  async look(): Promise<void> {
    const { store, isNeeded, clock } = this.#options;
    const nowMs = clock();
    if (nowMs < this.#dueMs || store.status().isBuilding || !isNeeded()) return;
    this.#dueMs = Number.POSITIVE_INFINITY;
    const counts = await countSigned(store, nowMs - SIGNED_COUNTS_WINDOW_MS).catch(() => undefined);
    this.#counts = counts ?? this.#counts;
    // Shares of nothing are not worth an hour: the first outcomes may come now.
    const isWorthAnHour = counts !== undefined && counts.total > 0;
    this.#dueMs = nowMs + (isWorthAnHour ? HOUR_MS : RETRY_INTERVAL_MS);
  }

  close(): void {
    clearInterval(this.#timer);
  }
}

async function countSigned(
  store: Pick<OpenStore, "queryTrusted">,
  sinceMs: number,
): Promise<SignedCounts> {
  const rows = (await store.queryTrusted(
    `SELECT if(signed_by = 'reporter', reporter_namespace, NULL) AS namespace, count(*)
     FROM outcome_rows WHERE recorded_at >= epoch_ms(CAST(${Math.floor(sinceMs)} AS BIGINT))
     GROUP BY namespace`,
  )) as [string | null, number][];
  const signed = rows.filter((row): row is [string, number] => row[0] !== null);
  return { total: rows.reduce((sum, [, count]) => sum + count, 0), signed: new Map(signed) };
}
