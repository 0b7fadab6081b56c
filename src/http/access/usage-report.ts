// Report of usage: the store's sums of earlier processes with those of this one, which the store may
// not have yet, grouped as the caller asks.
import { DAY_MS } from "../../contract/units.ts";
import { ServiceFault } from "../../contract/faults.ts";
import { USAGE_DAYS_MAX, USAGE_ROWS_MAX } from "../../contract/limits.ts";
import { parseDay } from "../../contract/parse/parameters.ts";
import type { Principal } from "../../contract/principal.ts";
import type { QuotaDescription } from "../../contract/schemas/quotas.ts";
import type { UsageReport } from "../../contract/schemas/service.ts";
import {
  addUsage,
  createUsageCounts,
  countPaidReads,
  USAGE_GROUPS,
  type UsageCounts,
  type UsageGroup,
  type UsageRow,
  UsageSums,
} from "../../contract/usage.ts";
import type { Store } from "../../store/store.ts";

/** Sums of the running process. */
export interface ProcessUsage {
  readonly meter: string;
  /** Position of the journal at its start. */
  readonly since: number;
  rows(): UsageRow[];
  /** When each key was last used in the running process, epoch ms, to the second. */
  lastUses(): ReadonlyMap<string, number>;
}

export interface UsageQuery {
  /** First and last day, UTC. */
  readonly from: string;
  readonly to: string;
  readonly groups: readonly UsageGroup[];
}

const DATE_LENGTH = "2026-01-31".length;
const MONTH_LENGTH = "2026-01".length;
/** Longest wait for a store that is still taking the records of earlier processes. */
const STORE_WAIT_MS = 3000;

/**
 * The days and the grouping of a query; this month by day when it says nothing.
 * @throws ServiceFault `invalid_parameter`.
 */
export function parseUsageQuery(query: string, nowMs: number): UsageQuery {
  const given = new URLSearchParams(query);
  const today = new Date(nowMs).toISOString().slice(0, DATE_LENGTH);
  const to = parseDayParameter(given, "to") ?? today;
  const from = parseDayParameter(given, "from") ?? `${to.slice(0, MONTH_LENGTH)}-01`;
  const days = (Date.parse(to) - Date.parse(from)) / DAY_MS + 1;
  if (days < 1 || days > USAGE_DAYS_MAX) {
    const detail = `from \`from\` to \`to\` there must be 1 to ${USAGE_DAYS_MAX} days`;
    throw new ServiceFault("invalid_parameter", detail);
  }
  return { from, to, groups: parseUsageGroups(given.get("group_by") ?? "day") };
}

function parseDayParameter(given: URLSearchParams, name: string): string | undefined {
  const text = given.get(name);
  return text === null ? undefined : parseDay(text, name);
}

function parseUsageGroups(text: string): UsageGroup[] {
  const names = text.split(",");
  const groups = USAGE_GROUPS.filter((group) => names.includes(group));
  if (groups.length === names.length) return groups;
  const detail = `\`group_by\` must list ${USAGE_GROUPS.join(", ")}, with commas between`;
  throw new ServiceFault("invalid_parameter", detail);
}

/**
 * Rows of the days that the tenant may see, one for each key and day; of all tenants without one.
 * @throws ServiceFault `store_behind` when the store lacks records of earlier processes,
 *   `invalid_parameter` when there are too many rows.
 */
export async function loadUsageRows(
  store: Pick<Store, "readUsage" | "waitUntilApplied"> | undefined,
  book: Omit<ProcessUsage, "lastUses">,
  { from, to }: Pick<UsageQuery, "from" | "to">,
  tenant: string | undefined,
): Promise<UsageRow[]> {
  const sums = new UsageSums();
  if (store !== undefined) {
    await store.waitUntilApplied(book.since, STORE_WAIT_MS);
    const { meter } = book;
    const rowsMax = USAGE_ROWS_MAX + 1;
    const rows = await store.readUsage({ from, to, tenant, meter, rowsMax });
    if (rows.length > USAGE_ROWS_MAX) {
      const detail = `more than ${USAGE_ROWS_MAX} rows: ask for fewer days`;
      throw new ServiceFault("invalid_parameter", detail);
    }
    for (const row of rows) sums.merge(row);
  }
  for (const row of book.rows()) {
    const isSeen = tenant === undefined || row.tenant === tenant;
    if (isSeen && row.day >= from && row.day <= to) sums.merge(row);
  }
  return sumMetersByKeyAndDay(sums.listRows());
}

/** Rows of all meters added up. */
function sumMetersByKeyAndDay(rows: readonly UsageRow[]): UsageRow[] {
  const added = new Map<string, UsageRow>();
  for (const row of rows) {
    const name = `${row.day} ${row.tenant} ${row.key_id}`;
    const sum = added.get(name);
    if (sum === undefined) added.set(name, { ...row, meter: "" });
    else addUsage(sum, row);
  }
  return [...added].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, row]) => row);
}

/** The document of an answer. The caller's own key is always among `keys`. */
export function buildUsageReport(
  principal: Principal,
  { from, to, groups }: UsageQuery,
  rows: readonly UsageRow[],
  quota?: QuotaDescription,
): UsageReport {
  const own = { key_id: principal.keyId, tenant: principal.tenant };
  const keys = sumUsageByGroups(rows, ["tenant", "key"]);
  if (!keys.some(({ key_id: id }) => id === own.key_id)) {
    keys.push({ ...own, ...describeUsageCounts(createUsageCounts()) });
  }
  return {
    since: new Date(Date.parse(from)).toISOString(),
    until: new Date(Date.parse(to) + DAY_MS).toISOString(),
    group_by: [...groups],
    rows: sumUsageByGroups(rows, groups),
    ...(quota === undefined ? {} : { quota }),
    keys: keys.map((key) => ({ ...own, ...key })),
  };
}

type UsageReportRow = UsageReport["rows"][number];

/** Rows added up by the groups that are asked for. */
export function sumUsageByGroups(
  rows: readonly UsageRow[],
  groups: readonly UsageGroup[],
): UsageReportRow[] {
  const sums = new Map<string, { names: Partial<UsageReportRow>; counts: UsageCounts }>();
  for (const row of rows) {
    const names = selectGroupMembers(row, groups);
    const name = JSON.stringify(names);
    let sum = sums.get(name);
    if (sum === undefined) sums.set(name, (sum = { names, counts: createUsageCounts() }));
    addUsage(sum.counts, row);
  }
  return [...sums.values()].map(({ names, counts }) => ({
    ...names,
    ...describeUsageCounts(counts),
  }));
}

function selectGroupMembers(row: UsageRow, groups: readonly UsageGroup[]): Partial<UsageReportRow> {
  return {
    ...(groups.includes("day") ? { day: row.day } : {}),
    ...(groups.includes("month") ? { month: row.day.slice(0, MONTH_LENGTH) } : {}),
    ...(groups.includes("tenant") || groups.includes("key") ? { tenant: row.tenant } : {}),
    ...(groups.includes("key") ? { key_id: row.key_id } : {}),
  };
}

function describeUsageCounts(counts: Readonly<UsageCounts>) {
  const { test, outcomes, ...reads } = counts;
  return {
    paid_reads: countPaidReads(counts),
    reads,
    test_reads: test,
    outcomes_reported: outcomes,
  };
}
