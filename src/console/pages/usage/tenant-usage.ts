// Usage sums by tenant and by day, and the filters of the usage page.
import { DAY_MS } from "../../format.ts";
import type { UsageReport } from "../../../contract/schemas/service.ts";
import type { TenantDescription, TenantList } from "../../../contract/schemas/tenants.ts";
import type { PageParameters } from "../../location.ts";

const DAY_LENGTH = "2026-01-31".length;

/** Days by their name in the address, counted back from today; the months are calendar months. */
export const RANGE_LABELS = {
  "7d": "last 7 days",
  "30d": "last 30 days",
  "90d": "last 90 days",
  month: "this month",
  before: "last month",
} as const;
type DayRange = keyof typeof RANGE_LABELS;

/** Which tenants are shown. */
export const TENANT_FILTER_LABELS = {
  all: "all",
  used: "with a use in this time",
  quota: "with a quota",
  near: "with a quota nearly used",
} as const;
type TenantFilter = keyof typeof TENANT_FILTER_LABELS;

/** Share of a quota from which on it is nearly used, as the service's log and alert have it. */
const QUOTA_NEAR_SHARE = 0.8;

export const READ_KINDS = [
  "verify",
  "check",
  "handshake",
  "explain",
  "list",
  "history",
  "query",
  "export",
] as const satisfies readonly (keyof UsageCounts)[];

type UsageCounts = UsageReport["rows"][number]["reads"];

interface TenantUsageSums {
  readonly paid_reads: number;
  readonly reads: Readonly<UsageCounts>;
  readonly test_reads: number;
  readonly outcomes_reported: number;
}

export interface TenantUsageRow extends TenantUsageSums {
  readonly tenant: string;
  /** Undefined where the session may not list keys. */
  readonly keys?: number;
  readonly keys_active?: number;
  readonly last_used_at?: string | null;
  readonly quota?: TenantDescription["quota"];
}

export interface UsageDays {
  readonly from: string;
  readonly to: string;
}

export function readRange({ range = "" }: PageParameters): DayRange {
  return Object.hasOwn(RANGE_LABELS, range) ? (range as DayRange) : "30d";
}

export function readTenantFilter({ show = "" }: PageParameters): TenantFilter {
  return Object.hasOwn(TENANT_FILTER_LABELS, show) ? (show as TenantFilter) : "all";
}

/** First and last day, UTC. */
export function computeFirstAndLastDay(range: DayRange, nowMs: number): UsageDays {
  const now = new Date(nowMs);
  const [year, month] = [now.getUTCFullYear(), now.getUTCMonth()];
  const to = formatUtcDay(nowMs);
  if (range === "month") return { from: formatUtcDay(Date.UTC(year, month)), to };
  if (range === "before") {
    return {
      from: formatUtcDay(Date.UTC(year, month - 1)),
      to: formatUtcDay(Date.UTC(year, month) - DAY_MS),
    };
  }
  return { from: formatUtcDay(nowMs - (Number.parseInt(range, 10) - 1) * DAY_MS), to };
}

function formatUtcDay(ms: number): string {
  return new Date(ms).toISOString().slice(0, DAY_LENGTH);
}

/** Those of `counted` added up. */
export function sumCounts(counted: readonly TenantUsageSums[]): TenantUsageSums {
  const sum = (pick: (each: TenantUsageSums) => number) =>
    counted.reduce((total, each) => total + pick(each), 0);
  const reads = Object.fromEntries(
    READ_KINDS.map((kind) => [kind, sum((each) => each.reads[kind])]),
  );
  return {
    paid_reads: sum((each) => each.paid_reads),
    reads: reads as TenantUsageSums["reads"],
    test_reads: sum((each) => each.test_reads),
    outcomes_reported: sum((each) => each.outcomes_reported),
  };
}

/**
 * A row for each tenant, those that read most first: all that are known, or those of the report alone
 * where the session may not list tenants.
 */
export function buildTenantRows(
  report: UsageReport,
  known: TenantList["tenants"] | undefined,
  own: string | undefined,
): TenantUsageRow[] {
  const names = new Set([
    ...(known ?? []).map(({ tenant }) => tenant),
    ...report.keys.map(({ tenant }) => tenant),
  ]);
  const rows = [...names].map((tenant): TenantUsageRow => {
    const counts = sumCounts(report.keys.filter((key) => key.tenant === tenant));
    const description = known?.find((each) => each.tenant === tenant);
    const { keys, keys_active, last_used_at, quota } = description ?? {};
    const ownQuota = tenant === own ? report.quota : undefined;
    return {
      tenant,
      ...counts,
      ...(keys === undefined ? {} : { keys }),
      ...(keys_active === undefined ? {} : { keys_active }),
      ...(last_used_at === undefined ? {} : { last_used_at }),
      ...((quota ?? ownQuota) ? { quota: (quota ?? ownQuota)! } : {}),
    };
  });
  return rows.toSorted((a, b) => b.paid_reads - a.paid_reads || (a.tenant < b.tenant ? -1 : 1));
}

/** Share of the quota that is used, 1 for one of nought; undefined without a quota. */
export function computeQuotaShare({ quota }: Pick<TenantUsageRow, "quota">): number | undefined {
  if (quota === undefined) return undefined;
  const { used, paid_reads_per_month: most } = quota;
  return most === 0 ? 1 : used / most;
}

export function selectShareTone(share: number | undefined): "warn" | "deny" | undefined {
  if (share === undefined || share < QUOTA_NEAR_SHARE) return undefined;
  return share < 1 ? "warn" : "deny";
}

export function isTenantShown(row: TenantUsageRow, shown: TenantFilter): boolean {
  if (shown === "all") return true;
  if (shown === "used") return row.paid_reads + row.test_reads + row.outcomes_reported > 0;
  if (shown === "quota") return row.quota !== undefined;
  return selectShareTone(computeQuotaShare(row)) !== undefined;
}

/** Sums of each day, of one tenant or all; days without a use are there with nought. */
export function sumByDay(
  { rows }: UsageReport,
  { from, to }: UsageDays,
  tenant: string | undefined,
): { at: number[]; paid: number[]; reported: number[] } {
  const sums = new Map<string, { paid: number; reported: number }>();
  for (let at = Date.parse(from); at <= Date.parse(to); at += DAY_MS) {
    sums.set(formatUtcDay(at), { paid: 0, reported: 0 });
  }
  for (const row of rows) {
    const sum = sums.get(row.day ?? "");
    if (sum === undefined || (tenant !== undefined && row.tenant !== tenant)) continue;
    sum.paid += row.paid_reads;
    sum.reported += row.outcomes_reported;
  }
  return {
    at: [...sums.keys()].map((day) => Date.parse(day) / 1000),
    paid: [...sums.values()].map(({ paid }) => paid),
    reported: [...sums.values()].map(({ reported }) => reported),
  };
}

/** A row for each key and day, of which the service makes the file. */
export function buildUsageCsvSql({ from, to }: UsageDays): string {
  return `SELECT * EXCLUDE (position) FROM usage WHERE day BETWEEN '${from}' AND '${to}'
ORDER BY day, tenant, key_id`;
}
