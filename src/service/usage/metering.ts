// Metering of a service: memory for each HTTP thread, the meter of the main one, the keeper that
// journals what they count, and the quotas that are held against it.
import { INSTALLED_KEY_ID } from "../../http/access/key-holder.ts";
import type { Keyring } from "../../http/access/keyring.ts";
import { createQuotaMemory } from "../../http/access/quota-memory.ts";
import { QuotaGuard } from "../../http/access/quotas.ts";
import { type UsageAccount, UsageMeter } from "../../http/access/usage.ts";
import { createUsageMemory } from "../../http/access/usage-memory.ts";
import type { ProcessUsage } from "../../http/access/usage-report.ts";
import type { Log } from "../../platform/log.ts";
import type { Closer } from "../closers.ts";
import type { ServiceStorage } from "../ground.ts";
import { EarlierPaidReads } from "./earlier-reads.ts";
import { USAGE_JOURNAL_INTERVAL_MS, UsageJournalWriter } from "./keeper.ts";
import { openQuotas, QUOTA_PUBLISH_INTERVAL_MS, type QuotaManager } from "./quota-keeper.ts";

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
