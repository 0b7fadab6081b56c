// Paid reads of this month by processes before this one, from the store. Until the store has taken their
// records they count as none: a quota is lenient for a moment rather than a start slow.
import { countPaidReads } from "../../contract/usage.ts";
import type { Log } from "../../platform/log.ts";
import type { OpenStore } from "../../store/client.ts";

const RETRY_MS = 10_000;
/** More tenants than can have a key. */
const ROWS_FOR_EVERY_TENANT = 1_000_000;

export interface EarlierPaidReadsOptions {
  readonly store: Pick<OpenStore, "waitUntilApplied" | "readUsage">;
  /** Id of this process, whose reads are counted elsewhere. */
  readonly meter: string;
  /** Position of the journal at the start: no later record is an earlier process's. */
  readonly since: number;
  /** Month of the start, `2026-01`; no earlier process has read in a later one. */
  readonly month: string;
  readonly logger: Pick<Log, "warn">;
}

export class EarlierPaidReads {
  readonly #options: EarlierPaidReadsOptions;
  readonly #sums = new Map<string, number>();
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(options: EarlierPaidReadsOptions) {
    this.#options = options;
  }

  paidIn(month: string, tenant: string): number {
    return month === this.#options.month ? (this.#sums.get(tenant) ?? 0) : 0;
  }

  /** Asks the store, again until it answers. Never rejects. */
  async load(): Promise<void> {
    const { store, meter, since, month, logger } = this.#options;
    try {
      await store.waitUntilApplied(since);
      const days = { from: `${month}-01`, to: `${month}-31`, isByTenant: true };
      const rows = await store.readUsage({ ...days, meter, rowsMax: ROWS_FOR_EVERY_TENANT });
      for (const row of rows) {
        if (row.meter !== meter) this.#sums.set(row.tenant, countPaidReads(row));
      }
    } catch (error) {
      if (this.#isClosed) return;
      logger.warn("quota_reads_unknown", { detail: String(error) });
      this.#timer = setTimeout(() => void this.load(), RETRY_MS).unref();
    }
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
  }
}
