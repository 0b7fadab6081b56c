// Metering of a service: memory for each HTTP thread, the meter of the main one, the keeper that
// journals what they count, and the quotas that are held against it.
import { countPaidReads } from "../../contract/usage.ts";
import type { Log } from "../../platform/log.ts";
import type { OpenStore } from "../../store/client.ts";
import { INSTALLED_KEY_ID } from "../../http/access/key-holder.ts";
import type { Keyring } from "../../http/access/keyring.ts";
import { createQuotaMemory } from "../../http/access/quota-memory.ts";
import { QuotaGuard } from "../../http/access/quotas.ts";
import { type UsageAccount, UsageMeter } from "../../http/access/usage.ts";
import { createUsageMemory } from "../../http/access/usage-memory.ts";
import type { ProcessUsage } from "../../http/access/usage-report.ts";
import type { Closer } from "../closers.ts";
import type { ServiceStorage } from "../storage.ts";
import { USAGE_JOURNAL_INTERVAL_MS, UsageJournalWriter } from "./usage-journal-writer.ts";
import { openQuotas, QUOTA_PUBLISH_INTERVAL_MS, type QuotaManager } from "./quota-manager.ts";

export interface Metering {
  /** Of the main thread. */
  readonly usageMeter: UsageMeter;
  readonly quotaGuard: QuotaGuard;
  /** Of the further threads, in their order. */
  readonly usageMemories: readonly SharedArrayBuffer[];
  /** Of all threads. */
  readonly quotaMemory: SharedArrayBuffer;
  readonly usageKeeper: UsageJournalWriter;
  readonly usageBook: ProcessUsage;
  readonly quotas: QuotaManager;
}

type MeteringDependencies = Pick<
  ServiceStorage,
  "paths" | "claim" | "keyring" | "evidence" | "clock" | "store"
>;

/**
 * Opens it before the listeners, so that it closes after them: the last reads are journaled too.
 * @throws Error when quotas.json is no list of quotas.
 */
export async function openMetering(
  httpThreads: number,
  ground: MeteringDependencies,
  logger: Log,
  closers: Closer[],
): Promise<Metering> {
  const { paths, claim, keyring, evidence, clock, store } = ground;
  const { ledger } = evidence;
  const [memory, ...usageMemories] = Array.from({ length: httpThreads }, () => createUsageMemory());
  const now = clock.now;
  const meter = claim.owner.id;
  const keeper = new UsageJournalWriter({
    meter,
    memories: [memory!, ...usageMemories],
    accountOf: createAccountLookup(keyring),
    log: ledger,
    clock: now,
    logger,
  });
  // Whatever earlier processes counted lies before this start.
  const since = ledger.position();
  const month = new Date(now()).toISOString().slice(0, "2026-01".length);
  const earlier = new EarlierPaidReads({ store, meter, since, month, logger });
  const quotaMemory = createQuotaMemory();
  const quotas = await openQuotas({
    dataDir: paths.root,
    memory: quotaMemory,
    look: () => keeper.collect(),
    paidIn: (asked, tenant) => earlier.paidIn(asked, tenant) + keeper.paidIn(asked, tenant),
    clock: now,
    logger,
  });
  void earlier.load();
  closers.push(startMeteringTimers(keeper, quotas, earlier));
  return {
    usageMeter: new UsageMeter({
      now,
      memory,
      findKeyNumber: (keyId) => keyring.findKeyNumber(keyId),
    }),
    quotaGuard: new QuotaGuard(quotaMemory, now),
    usageMemories,
    quotaMemory,
    usageKeeper: keeper,
    usageBook: { meter, since, rows: () => keeper.rows(), lastUses: () => keeper.lastUses() },
    quotas,
  };
}

/** Journals and tells until what it returns is called. */
function startMeteringTimers(
  keeper: UsageJournalWriter,
  quotas: QuotaManager,
  earlier: EarlierPaidReads,
): Closer {
  const keeping = setInterval(() => void keeper.keep(), USAGE_JOURNAL_INTERVAL_MS).unref();
  const telling = setInterval(() => quotas.tell(), QUOTA_PUBLISH_INTERVAL_MS).unref();
  return () => {
    clearInterval(keeping);
    clearInterval(telling);
    earlier.close();
    return keeper.close();
  };
}

const INSTALLED_KEY_ACCOUNT: UsageAccount = { keyId: INSTALLED_KEY_ID, tenant: "operator" };

/** Accounts by the numbers that a keyring gives: in order of creation, from 1. */
function createAccountLookup(keyring: Keyring): (number: number) => UsageAccount | undefined {
  let known: readonly UsageAccount[] = [];
  return (number) => {
    if (number === 0) return INSTALLED_KEY_ACCOUNT;
    if (number > known.length) known = keyring.listStoredKeys();
    return known[number - 1];
  };
}

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
