// Counts outcomes of the last 30 days by the namespace that they were signed in: by the store, once an hour, for the
// warnings of `/readyz`, which reads the last counts and never waits.
import { HOUR_MS } from "../../contract/units.ts";
import { SIGNED_COUNTS_WINDOW_MS, type SignedCounts } from "../../http/access/vouching-warning.ts";
import type { OpenStore } from "../../store/client.ts";
import type { Closer } from "../closers.ts";
import type { ServiceStorage } from "../storage.ts";

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
  #isCounting = false;
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
    if (this.#isCounting || nowMs < this.#dueMs || store.status().isBuilding || !isNeeded()) return;
    this.#isCounting = true;
    try {
      this.#counts = await countSigned(store, nowMs - SIGNED_COUNTS_WINDOW_MS);
      // Shares of nothing are not worth an hour: the first outcomes may come now.
      this.#dueMs = nowMs + (this.#counts.total === 0 ? RETRY_INTERVAL_MS : HOUR_MS);
    } catch {
      this.#dueMs = nowMs + RETRY_INTERVAL_MS;
    } finally {
      this.#isCounting = false;
    }
  }

  close(): void {
    clearInterval(this.#timer);
  }
}

/** Counts from now on, until the service ends. */
export function openSignedCounter(
  { evidence, store, clock }: Pick<ServiceStorage, "evidence" | "store" | "clock">,
  closers: Closer[],
): SignedCounter {
  const { engine, registry } = evidence;
  const isNeeded = () => !engine.areStandingsInForce && registry.owners.listUnvouched().length > 0;
  const counter = new SignedCounter({ store, isNeeded, clock: clock.now });
  closers.push(() => counter.close());
  return counter;
}

async function countSigned(
  store: Pick<OpenStore, "queryTrusted">,
  sinceMs: number,
): Promise<SignedCounts> {
  const rows = (await store.queryTrusted(
    `SELECT if(signed_by = 'reporter', reporter_namespace, NULL) AS namespace, count(*)
     FROM outcome_rows WHERE recorded_at >= epoch_ms(CAST(${Math.floor(sinceMs)} AS BIGINT))
     GROUP BY namespace`,
  )) as [string | null, number | bigint][];
  const signed = new Map<string, number>();
  let total = 0;
  for (const [namespace, count] of rows) {
    total += Number(count);
    if (namespace !== null) signed.set(namespace, Number(count));
  }
  return { total, signed };
}
