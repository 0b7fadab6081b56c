// Metering of a service: memory for each HTTP thread, the meter of the main one, and the keeper that
// journals what they count.
import { INSTALLED_KEY_ID } from "../../http/access/installed-key.ts";
import type { Keyring } from "../../http/access/keyring.ts";
import { type UsageAccount, UsageMeter } from "../../http/access/usage.ts";
import { createUsageMemory } from "../../http/access/usage-memory.ts";
import type { UsageBook } from "../../http/access/usage-report.ts";
import type { Log } from "../../platform/log.ts";
import type { Closer } from "../closers.ts";
import type { Ground } from "../ground.ts";
import { USAGE_EVERY_MS, UsageKeeper } from "./keeper.ts";

export interface Metering {
  /** Of the main thread. */
  readonly usageMeter: UsageMeter;
  /** Of the further threads, in their order. */
  readonly usageMemories: readonly SharedArrayBuffer[];
  readonly usageKeeper: UsageKeeper;
  readonly usageBook: UsageBook;
}

/** Opens it before the listeners, so that it closes after them: the last reads are journaled too. */
export function openMetering(
  httpThreads: number,
  { claim, keyring, evidence, clock }: Pick<Ground, "claim" | "keyring" | "evidence" | "clock">,
  logger: Log,
  closers: Closer[],
): Metering {
  const { ledger } = evidence;
  const [memory, ...usageMemories] = Array.from({ length: httpThreads }, () => createUsageMemory());
  const now = clock.now;
  const keeper = new UsageKeeper({
    meter: claim.owner.id,
    memories: [memory!, ...usageMemories],
    accountOf: accountsIn(keyring),
    log: ledger,
    clock: now,
    logger,
  });
  const timer = setInterval(() => void keeper.keep(), USAGE_EVERY_MS).unref();
  closers.push(() => {
    clearInterval(timer);
    return keeper.close();
  });
  const numberOf = (keyId: string) => keyring.numberOf(keyId);
  return {
    usageMeter: new UsageMeter({ now, memory, numberOf }),
    usageMemories,
    usageKeeper: keeper,
    // Whatever earlier processes counted lies before this start.
    usageBook: { meter: keeper.meter, since: ledger.position(), rows: () => keeper.rows() },
  };
}

const INSTALLED: UsageAccount = { keyId: INSTALLED_KEY_ID, tenant: "operator" };

/** Accounts by the numbers that a keyring gives: in order of creation, from 1. */
function accountsIn(keyring: Keyring): (number: number) => UsageAccount | undefined {
  let known: readonly UsageAccount[] = [];
  return (number) => {
    if (number === 0) return INSTALLED;
    if (number > known.length) known = keyring.storedKeys();
    return known[number - 1];
  };
}
