// Last use of each key and tenant, derived from the usage meters: to the second for this process, to the day
// for earlier ones. Nothing is written for it.
import { DAY_MS } from "../../contract/units.ts";
import type { KeyDescription } from "../../contract/schemas/service.ts";
import type { QuotaDescription } from "../../contract/schemas/quotas.ts";
import type { TenantDescription } from "../../contract/schemas/tenants.ts";
import {
  addUsage,
  createUsageCounts,
  countPaidReads,
  USAGE_KINDS,
  type UsageRow,
} from "../../contract/usage.ts";
import type { ProcessUsage } from "./usage-report.ts";

/** Days before today in which uses are looked for. */
export const LAST_USE_DAYS = 90;
const DATE_LENGTH = "2026-01-31".length;

/** First and last day of the look. */
export function computeLastUsePeriod(nowMs: number): { from: string; to: string } {
  const day = (at: number) => new Date(at).toISOString().slice(0, DATE_LENGTH);
  return { from: day(nowMs - (LAST_USE_DAYS - 1) * DAY_MS), to: day(nowMs) };
}

/** Epoch ms by key: a time of this process, else the beginning of the last day with a use. */
export function collectLastUses(
  rows: readonly UsageRow[],
  book: Pick<ProcessUsage, "lastUses">,
): Map<string, number> {
  const uses = new Map<string, number>();
  const note = (key: string, at: number) => uses.set(key, Math.max(uses.get(key) ?? 0, at));
  for (const row of rows) {
    if (USAGE_KINDS.some((kind) => row[kind] > 0)) note(row.key_id, Date.parse(row.day));
  }
  for (const [key, at] of book.lastUses()) note(key, at);
  return uses;
}

const formatLastUse = (at: number | undefined) =>
  at === undefined ? null : new Date(at).toISOString();

/** Keys with their last use; without the member where it is not known whether there was one. */
export function addLastUses(
  keys: readonly KeyDescription[],
  uses: ReadonlyMap<string, number>,
  isWhole: boolean,
): (KeyDescription & { last_used_at?: string | null })[] {
  return keys.map((key) => {
    const at = uses.get(key.key_id);
    return at === undefined && !isWhole ? key : { ...key, last_used_at: formatLastUse(at) };
  });
}

interface TenantRecords {
  readonly keys: readonly KeyDescription[];
  readonly rows: readonly UsageRow[];
  readonly uses: ReadonlyMap<string, number>;
  readonly quotas: readonly QuotaDescription[];
}

/** All tenants that have a key, a quota or a use in these rows, by name. */
export function describeTenants(
  { keys, rows, uses, quotas }: TenantRecords,
  nowMs: number,
): TenantDescription[] {
  const names = [keys, rows, quotas].flatMap((each) => each.map(({ tenant }) => tenant));
  const keyRows = Map.groupBy(keys, ({ tenant }) => tenant);
  const useRows = Map.groupBy(rows, ({ tenant }) => tenant);
  const quotaByTenant = new Map(quotas.map((quota) => [quota.tenant, quota]));
  return [...new Set(names)].toSorted().map((tenant) => {
    const own = keyRows.get(tenant) ?? [];
    const used = useRows.get(tenant) ?? [];
    const sums = createUsageCounts();
    for (const row of used) addUsage(sums, row);
    const ids = new Set([...own, ...used].map(({ key_id: id }) => id));
    const last = Math.max(...[...ids].map((id) => uses.get(id) ?? 0));
    const quota = quotaByTenant.get(tenant);
    return {
      tenant,
      keys: own.length,
      keys_active: own.filter((key) => isKeyActive(key, nowMs)).length,
      paid_reads: countPaidReads(sums),
      test_reads: sums.test,
      outcomes_reported: sums.outcomes,
      last_used_at: formatLastUse(last > 0 ? last : undefined),
      ...(quota === undefined ? {} : { quota }),
    };
  });
}

function isKeyActive({ revoked_at: revoked, expires_at: expires }: KeyDescription, nowMs: number) {
  return revoked === null && (expires === null || Date.parse(expires) > nowMs);
}
