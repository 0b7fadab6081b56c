// Usage by key. SPEC §1: being scored is free, reading a score is the paid operation, so reads are
// metered per key; reports are counted beside them at no price. Counters live as long as the
// process; the decision log is the durable account.
import type { Principal } from "../../contract/principal.ts";
import type { UsageReport } from "../../contract/schemas/service.ts";

const READ_KINDS = ["verify", "check", "handshake", "explain"] as const;
export type ReadKind = (typeof READ_KINDS)[number];
const NO_READS: Readonly<Record<ReadKind, number>> = {
  verify: 0,
  check: 0,
  handshake: 0,
  explain: 0,
};

/** Usage of one key, as data that may cross between threads. */
export interface UsageAccount {
  keyId: string;
  tenant: string;
  reads: Record<ReadKind, number>;
  outcomesReported: number;
}

export class UsageMeter {
  readonly #accounts = new Map<string, UsageAccount>();
  /** Account of the last request: a thread's next request is mostly the same caller's. */
  #last: UsageAccount | undefined = undefined;
  /** Epoch ms. */
  readonly sinceMs: number;

  constructor(now: () => number) {
    this.sinceMs = now();
  }

  /** One paid operation; a handshake is one, although it scores two (SPEC §2.5: one call). */
  countRead(principal: Principal, kind: ReadKind, count = 1): void {
    this.#account(principal).reads[kind] += count;
  }

  countOutcomes(principal: Principal, count: number): void {
    this.#account(principal).outcomesReported += count;
  }

  /** Adds the counts of another thread. */
  add({ keyId, tenant, reads, outcomesReported }: UsageAccount): void {
    const account = this.#account({ keyId, tenant });
    for (const kind of READ_KINDS) account.reads[kind] += reads[kind];
    account.outcomesReported += outcomesReported;
  }

  accounts(): UsageAccount[] {
    return [...this.#accounts.values()];
  }

  #account(principal: Pick<Principal, "keyId" | "tenant">): UsageAccount {
    if (this.#last?.keyId === principal.keyId) return this.#last;
    const found = this.#accounts.get(principal.keyId);
    if (found !== undefined) return (this.#last = found);
    const reads = { ...NO_READS };
    const { keyId, tenant } = principal;
    const account: UsageAccount = { keyId, tenant, reads, outcomesReported: 0 };
    this.#accounts.set(keyId, account);
    return account;
  }
}

/** The caller's own account; all accounts for an administrator, with those of one key added up. */
export function usageReport(
  principal: Principal,
  sinceMs: number,
  accounts: readonly UsageAccount[],
): UsageReport {
  const isAdmin = principal.scopes.has("admin");
  const meter = new UsageMeter(() => sinceMs);
  for (const account of accounts) {
    if (isAdmin || account.keyId === principal.keyId) meter.add(account);
  }
  const own = { keyId: principal.keyId, tenant: principal.tenant };
  meter.add({ ...own, reads: { ...NO_READS }, outcomesReported: 0 });
  const keys = meter.accounts().map(({ keyId, tenant, reads, outcomesReported }) => ({
    key_id: keyId,
    tenant,
    paid_reads: Object.values(reads).reduce((sum, count) => sum + count, 0),
    reads,
    outcomes_reported: outcomesReported,
  }));
  return { since: new Date(sinceMs).toISOString(), keys };
}
