// Keeper of usage: every second it reads what the HTTP threads have counted and journals the sums that
// have risen. A crash loses what was counted since the last record, a second at most; a sum that is
// journaled twice adds nothing (contract/usage.ts).
import { DAY_MS } from "../../contract/units.ts";
import type { UsageAccount } from "../../http/access/usage.ts";
import { visitUsage } from "../../http/access/usage-memory.ts";
import {
  addUsage,
  formatDayNumber,
  createUsageCounts,
  countPaidReads,
  USAGE_KINDS,
  type UsageCounts,
  type UsageRow,
} from "../../contract/usage.ts";
import { encodeUsage } from "../../contract/usage-records.ts";
import type { UsageLog } from "../../ledger/ledger.ts";
import type { Log } from "../../platform/log.ts";

/** With the time of a sync, a second. */
export const USAGE_JOURNAL_INTERVAL_MS = 900;
/** Sums of today and yesterday are held, as the threads' memory holds them. */
const DAYS_HELD = 2;
const MONTH_LENGTH = "2026-01".length;

export interface UsageJournalWriterOptions {
  /** Id of this process, which no other shares. */
  readonly meter: string;
  /** Of the HTTP threads. */
  readonly memories: readonly SharedArrayBuffer[];
  /** Whose number a memory names. */
  readonly accountOf: (keyNumber: number) => UsageAccount | undefined;
  readonly log: UsageLog;
  /** Epoch ms. */
  readonly clock: () => number;
  readonly logger: Pick<Log, "error" | "info">;
}

interface UsageSum {
  readonly day: number;
  readonly row: UsageRow;
  /** What a durable record says. */
  readonly durable: UsageCounts;
}

export class UsageJournalWriter {
  readonly #options: UsageJournalWriterOptions;
  readonly #held = new Map<string, UsageSum>();
  /** Paid reads of this process by month and tenant. */
  readonly #months = new Map<string, number>();
  /** When a look last found more, by key: epoch ms, late by at most the time between two looks. */
  readonly #lastUses = new Map<string, number>();
  #writing: Promise<void> | undefined;
  #hasFailed = false;
  /** Rows journaled since the start, and journalings that failed. */
  journaledCount = 0;
  failedCount = 0;

  constructor(options: UsageJournalWriterOptions) {
    this.#options = options;
  }

  get meter(): string {
    return this.#options.meter;
  }

  /** Sums of this process up to now, of today and yesterday at least. */
  rows(): UsageRow[] {
    this.collect();
    return [...this.#held.values()].map(({ row }) => ({ ...row }));
  }

  /** When each key was last used in this process, epoch ms, to the second. */
  lastUses(): ReadonlyMap<string, number> {
    this.collect();
    return this.#lastUses;
  }

  /** Paid reads of a tenant in a month (`2026-01`) by this process, as of the last look. */
  paidIn(month: string, tenant: string): number {
    return this.#months.get(`${month} ${tenant}`) ?? 0;
  }

  /** Journals what has risen. Resolves once that is durable, or has failed; never rejects. */
  keep(): Promise<void> {
    this.#writing ??= this.#write().finally(() => (this.#writing = undefined));
    return this.#writing;
  }

  /** Journals the last sums, once the threads count no more. */
  async close(): Promise<void> {
    await this.#writing;
    await this.keep();
  }

  async #write(): Promise<void> {
    this.collect();
    const risen = [...this.#held.values()].filter(hasUnjournaledCounts);
    // The counts go on rising while they are written.
    const rows = risen.map(({ row }) => ({ ...row }));
    if (rows.length === 0) return this.#forget();
    const { log, meter, logger } = this.#options;
    try {
      await Promise.all(encodeUsage(meter, rows).map((payload) => log.appendUsage(payload)));
    } catch (error) {
      this.failedCount += 1;
      // Nothing is lost: the next record has these sums and more.
      if (!this.#hasFailed) logger.error("usage_not_journaled", { detail: String(error) });
      this.#hasFailed = true;
      return;
    }
    if (this.#hasFailed) logger.info("usage_journaled_again", { rows: rows.length });
    this.#hasFailed = false;
    this.journaledCount += rows.length;
    for (const [index, { durable }] of risen.entries()) raiseCounts(rows[index]!, durable);
    this.#forget();
  }

  /** Looks at what the threads have counted. */
  collect(): void {
    const sums = new Map<string, { day: number; account: UsageAccount; counts: UsageCounts }>();
    for (const memory of this.#options.memories) {
      visitUsage(memory, (number, day, counts) => {
        const account = this.#options.accountOf(number);
        if (account === undefined) return;
        const name = `${day} ${account.keyId}`;
        let sum = sums.get(name);
        if (sum === undefined)
          sums.set(name, (sum = { day, account, counts: createUsageCounts() }));
        addUsage(sum.counts, counts);
      });
    }
    for (const [name, { day, account, counts }] of sums) {
      const held = this.#held.get(name) ?? this.#open(name, day, account);
      // Less is there when one thread has begun another day over an old one: that was read before.
      const before = countPaidReads(held.row);
      const isUsed = USAGE_KINDS.some((kind) => counts[kind] > held.row[kind]);
      if (isUsed) this.#lastUses.set(account.keyId, this.#options.clock());
      raiseCounts(counts, held.row);
      const risen = countPaidReads(held.row) - before;
      if (risen > 0) this.#addToMonth(held.row, risen);
    }
  }

  #addToMonth({ day, tenant }: UsageRow, risen: number): void {
    const name = `${day.slice(0, MONTH_LENGTH)} ${tenant}`;
    this.#months.set(name, (this.#months.get(name) ?? 0) + risen);
  }

  #open(name: string, day: number, { keyId, tenant }: UsageAccount): UsageSum {
    const { meter } = this.#options;
    const row = { meter, day: formatDayNumber(day), key_id: keyId, tenant, ...createUsageCounts() };
    const held = { day, row, durable: createUsageCounts() };
    this.#held.set(name, held);
    return held;
  }

  /** Days that the threads count no more are in the store. */
  #forget(): void {
    const today = Math.floor(this.#options.clock() / DAY_MS);
    for (const [name, held] of this.#held) {
      if (held.day <= today - DAYS_HELD && !hasUnjournaledCounts(held)) this.#held.delete(name);
    }
    const lastMonth = formatDayNumber(today - DAYS_HELD).slice(0, MONTH_LENGTH);
    for (const name of this.#months.keys()) {
      if (name.slice(0, MONTH_LENGTH) < lastMonth) this.#months.delete(name);
    }
  }
}

function hasUnjournaledCounts({ row, durable }: UsageSum): boolean {
  return USAGE_KINDS.some((kind) => row[kind] > durable[kind]);
}

function raiseCounts(from: Readonly<UsageCounts>, to: UsageCounts): void {
  for (const kind of USAGE_KINDS) to[kind] = Math.max(to[kind], from[kind]);
}
