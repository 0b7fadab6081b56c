// Monthly quotas: the check of one HTTP thread before its paid reads, and the port through which routes set them.
// Nothing is counted here: the main thread writes the use several times a second (service/usage/quota-manager.ts).
import { DAY_MS } from "../../contract/units.ts";
import { ServiceFault } from "../../contract/faults.ts";
import type { Principal } from "../../contract/principal.ts";
import type { QuotaDescription } from "../../contract/schemas/quotas.ts";
import { QuotaReader } from "./quota-memory.ts";

/** Quotas, as their routes use them. Changes resolve once they are durable and hold. */
export interface Quotas {
  list(): QuotaDescription[];
  find(tenant: string): QuotaDescription | undefined;
  /** @throws ServiceFault `overloaded` when there are too many. */
  set(tenant: string, paidReadsPerMonth: number): Promise<QuotaDescription>;
  /** @throws ServiceFault `not_found` when it has none. */
  remove(tenant: string): Promise<QuotaDescription>;
}

/** What a caller with a quota is told: headers of every answer and, when it is used up, the fault. */
export interface QuotaStatus {
  readonly headers: readonly string[];
  readonly fault: ServiceFault | undefined;
}

/** Whoever sleeps until next month does not notice that its quota was raised. */
const RETRY_AFTER_SEC_MAX = 3600;
const SECONDS_PER_DAY = DAY_MS / 1000;

interface CachedQuotaStatus {
  readonly limit: number;
  readonly used: number;
  readonly epochSec: number;
  readonly status: QuotaStatus;
}

export class QuotaGuard {
  readonly #reader: QuotaReader;
  readonly #now: () => number;
  /** Last answer of each slot: what it says changes a few times a second. */
  readonly #statusBySlot: (CachedQuotaStatus | undefined)[] = [];

  constructor(memory: SharedArrayBuffer, now: () => number) {
    this.#reader = new QuotaReader(memory);
    this.#now = now;
  }

  /** Undefined for a tenant without a quota. */
  readStatus(tenant: string): QuotaStatus | undefined {
    const slot = this.#reader.findSlot(tenant);
    if (slot === undefined) return undefined;
    const limit = this.#reader.readLimit(slot);
    const used = this.#reader.readUsed(slot);
    const second = Math.floor(this.#now() / 1000);
    const told = this.#statusBySlot[slot];
    if (told?.epochSec === second && told.used === used && told.limit === limit) return told.status;
    const status = this.#computeStatus(limit, used, second);
    this.#statusBySlot[slot] = { limit, used, epochSec: second, status };
    return status;
  }

  #computeStatus(limit: number, used: number, second: number): QuotaStatus {
    const endSec = Math.ceil(this.#reader.monthEndMs / 1000);
    const leftSec = Math.max(1, endSec - second);
    const endedMonth = new Date(endSec * 1000 - 1);
    const days = endedMonth.getUTCDate();
    // draft-ietf-httpapi-ratelimit-headers: quota and window of the policy, and the remainder.
    const headers = [
      "RateLimit-Policy",
      `"month";q=${limit};w=${days * SECONDS_PER_DAY}`,
      "RateLimit",
      `"month";r=${Math.max(0, limit - used)};t=${leftSec}`,
    ];
    return { headers, fault: used < limit ? undefined : createQuotaFault(limit, used, leftSec) };
  }
}

function createQuotaFault(limit: number, used: number, leftSec: number): ServiceFault {
  const detail = `the tenant has used ${used} of its ${limit} paid reads of this month`;
  const error = {
    pointer: "/paid_reads_per_month",
    code: "quota_exceeded" as const,
    detail: `${used} of ${limit} are used`,
  };
  const retryAfterSec = Math.min(leftSec, RETRY_AFTER_SEC_MAX);
  return new ServiceFault("quota_exceeded", detail, [error], retryAfterSec);
}

/** A request of a caller, as far as its quota is concerned. */
interface QuotaCheckedRequest {
  readonly principal: Pick<Principal, "tenant">;
  extraHeaders: readonly string[] | undefined;
}

/**
 * Tells a caller with a quota what is left of it.
 * @throws ServiceFault `quota_exceeded` when nothing is.
 */
export function enforceQuota(guard: QuotaGuard | undefined, asking: QuotaCheckedRequest): void {
  const status = guard?.readStatus(asking.principal.tenant);
  if (status === undefined) return;
  const { headers, fault } = status;
  const { extraHeaders } = asking;
  asking.extraHeaders = extraHeaders === undefined ? headers : [...extraHeaders, ...headers];
  if (fault !== undefined) throw fault;
}
