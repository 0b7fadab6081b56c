// What each key has used. SPEC §1: being scored is free, reading a score is the paid operation, so
// reads are metered per key; reports are counted beside them at no price. Counters live as long as
// the process; the decision log is the durable account.
import type { Principal, UsageReport } from "../contract/messages.ts";

export type ReadKind = "verify" | "check" | "handshake" | "explain";

interface Account {
  tenant: string;
  reads: Record<ReadKind, number>;
  outcomesReported: number;
}

export class UsageMeter {
  readonly #accounts = new Map<string, Account>();
  readonly #sinceMs: number;

  constructor(now: () => number) {
    this.#sinceMs = now();
  }

  /** One paid operation; a handshake is one, although it scores two (SPEC §2.5: one call). */
  countRead(principal: Principal, kind: ReadKind, count = 1): void {
    this.#account(principal).reads[kind] += count;
  }

  countOutcomes(principal: Principal, count: number): void {
    this.#account(principal).outcomesReported += count;
  }

  /** The caller's own account; all accounts for an administrator. */
  report(principal: Principal): UsageReport {
    const isAdmin = principal.scopes.has("admin");
    this.#account(principal);
    const keys = [...this.#accounts]
      .filter(([keyId]) => isAdmin || keyId === principal.keyId)
      .map(([keyId, account]) => ({
        key_id: keyId,
        tenant: account.tenant,
        paid_reads: Object.values(account.reads).reduce((sum, count) => sum + count, 0),
        reads: { ...account.reads },
        outcomes_reported: account.outcomesReported,
      }));
    return { since: new Date(this.#sinceMs).toISOString(), keys };
  }

  #account(principal: Principal): Account {
    const found = this.#accounts.get(principal.keyId);
    if (found !== undefined) return found;
    const reads = { verify: 0, check: 0, handshake: 0, explain: 0 };
    const account: Account = { tenant: principal.tenant, reads, outcomesReported: 0 };
    this.#accounts.set(principal.keyId, account);
    return account;
  }
}
