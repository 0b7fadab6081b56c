// Usage (metering) of the bureau: what each API key has read on each UTC day. A row is a sum, not a
// change: of two rows of the same meter, key and day the larger counts hold. So rows may be replayed,
// repeated, merged from a backup and in any order, and nothing is billed twice.

import { DAY_MS } from "./units.ts";

/**
 * Reads that are paid for. SPEC §1: reading a score is, being scored is not. A list counts the agents on
 * its page; analysts' SQL and exports, whose rows need not be scores, count by request.
 */
export const PAID_READS = [
  "verify",
  "check",
  "handshake",
  "explain",
  "list",
  "history",
  "query",
  "export",
] as const;
export type PaidRead = (typeof PAID_READS)[number];

/**
 * All that is counted: `test` are reads about the reserved test agents, `outcomes` what was reported;
 * neither costs anything.
 */
export const USAGE_KINDS = [...PAID_READS, "test", "outcomes"] as const;
export type UsageKind = (typeof USAGE_KINDS)[number];
export type UsageCounts = Record<UsageKind, number>;

/** Sums of one key on one day, as one meter has counted them. */
export interface UsageRow extends UsageCounts {
  /** Id of the process that counted: two processes never share one, a copied directory's neither. */
  readonly meter: string;
  /** UTC, as `2026-01-31`. */
  readonly day: string;
  readonly key_id: string;
  readonly tenant: string;
}

/** Name of a day by its number since 1970. */
export function formatDayNumber(day: number): string {
  return new Date(day * DAY_MS).toISOString().slice(0, 10);
}

export function createUsageCounts(): UsageCounts {
  return Object.fromEntries(USAGE_KINDS.map((kind) => [kind, 0])) as UsageCounts;
}

export function countPaidReads(counts: Readonly<UsageCounts>): number {
  return PAID_READS.reduce((sum, kind) => sum + counts[kind], 0);
}

/** Adds counts of another key, day or meter. */
export function addUsage(sum: UsageCounts, counts: Readonly<UsageCounts>): void {
  for (const kind of USAGE_KINDS) sum[kind] += counts[kind];
}

/** Fold of rows: the largest counts of each meter, key and day. */
export class UsageSums {
  readonly #rows = new Map<string, UsageRow>();

  /** Takes a row. Returns whether it says more than was known. */
  merge(row: UsageRow): boolean {
    const name = `${row.meter} ${row.day} ${row.key_id}`;
    const known = this.#rows.get(name);
    if (known === undefined) {
      this.#rows.set(name, { ...row });
      return true;
    }
    let isMore = false;
    for (const kind of USAGE_KINDS) {
      if (row[kind] <= known[kind]) continue;
      known[kind] = row[kind];
      isMore = true;
    }
    return isMore;
  }

  /** In the order in which they came first. */
  listRows(): UsageRow[] {
    return [...this.#rows.values()];
  }
}

/** By what a report of usage may be grouped. */
export const USAGE_GROUPS = ["day", "month", "tenant", "key"] as const;
export type UsageGroup = (typeof USAGE_GROUPS)[number];
