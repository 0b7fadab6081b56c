// `trustrank usage`: what each key has read in a month, as a table, CSV, JSON or Parquet: the files of a
// data directory when no server holds it, else the server's own report.
import * as fs from "node:fs";
import {
  sumUsageByGroups,
  loadUsageRows,
  parseUsageQuery,
} from "../../http/access/usage-report.ts";
import type { UsageReport } from "../../contract/schemas/service.ts";
import { PAID_READS } from "../../contract/usage.ts";
import type { UsageFormat } from "../../contract/views.ts";
import { ServiceFault } from "../../contract/faults.ts";
import { formatCsv } from "../../platform/csv.ts";
import { moveDurably } from "../../platform/files.ts";
import { CommandFailure, EXIT_USAGE } from "../../service/failure.ts";
import { type ParquetColumn, writeParquet } from "../../store/exports.ts";
import { type DataAccess, runOnFilesOrServer } from "../data-access.ts";
import { withStoreOnFiles } from "../file-store.ts";
import { formatTable, printNote, printText, type OutputFlags } from "../output.ts";

export interface UsageFlags extends OutputFlags {
  /** `2026-01`; this month by default. */
  readonly month?: string;
  /** First and last day, instead of a month. */
  readonly from?: string;
  readonly to?: string;
  /** As `group_by` of the route. */
  readonly by: string;
  readonly format: UsageFormat;
  readonly out?: string;
}

type UsageTableRow = UsageReport["rows"][number];

const GROUP_COLUMNS = ["day", "month", "tenant", "key_id"] as const;
const COUNT_COLUMNS: readonly (readonly [name: string, count: (row: UsageTableRow) => number])[] = [
  ["paid_reads", (row) => row.paid_reads],
  ...PAID_READS.map((kind) => [`${kind}_reads`, (row: UsageTableRow) => row.reads[kind]] as const),
  ["test_reads", (row) => row.test_reads],
  ["outcomes_reported", (row) => row.outcomes_reported],
];
/** No process counts while a command reads the files. */
const NO_PROCESS_USAGE = { meter: "", since: 0, rows: () => [] };

/** Prints usage, or writes it to a file that then takes the place of an older one. */
export async function showUsage(access: DataAccess, flags: UsageFlags): Promise<void> {
  const query = buildUsageQuery(flags);
  const format = flags.json === true ? "json" : flags.format;
  if (format === "parquet" && flags.out === undefined) {
    throw new CommandFailure("Parquet is no text: give --out FILE", EXIT_USAGE);
  }
  const question = parseUsageQueryOrFail(query);
  const rows = await runOnFilesOrServer<UsageTableRow[]>(
    access,
    (dataDir) =>
      withStoreOnFiles(dataDir, false, async (store) =>
        sumUsageByGroups(
          await loadUsageRows(store, NO_PROCESS_USAGE, question, undefined),
          question.groups,
        ),
      ),
    async (client) => (await client.sendJson<UsageReport>("GET", `/v1/usage?${query}`)).rows,
  );
  await writeUsage(
    rows,
    question.groups.map((group) => (group === "key" ? "key_id" : group)),
    format,
    flags.out,
  );
}

function parseUsageQueryOrFail(query: string) {
  try {
    return parseUsageQuery(query, Date.now());
  } catch (error) {
    if (error instanceof ServiceFault) throw new CommandFailure(error.detail, EXIT_USAGE);
    throw error;
  }
}

/** @throws CommandFailure for what is no month. */
function buildUsageQuery({ month, from, to, by }: UsageFlags): string {
  const query = new URLSearchParams({ group_by: by });
  if (month !== undefined) {
    const first = /^\d{4}-(0[1-9]|1[0-2])$/.test(month) ? Date.parse(`${month}-01`) : Number.NaN;
    if (Number.isNaN(first) || from !== undefined || to !== undefined) {
      throw new CommandFailure(
        "--month is a month such as 2026-01, without --from and --to",
        EXIT_USAGE,
      );
    }
    query.set("from", `${month}-01`);
    query.set("to", findLastDayOfMonth(first));
    return query.toString();
  }
  if (from !== undefined) query.set("from", from);
  if (to !== undefined) query.set("to", to);
  return query.toString();
}

function findLastDayOfMonth(firstMs: number): string {
  const date = new Date(firstMs);
  const last = Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 0);
  return new Date(last).toISOString().slice(0, "2026-01-31".length);
}

async function writeUsage(
  rows: readonly UsageTableRow[],
  asked: readonly string[],
  format: UsageFormat,
  out: string | undefined,
): Promise<void> {
  const isWithTenant = asked.includes("key_id");
  const groups = GROUP_COLUMNS.filter(
    (name) => asked.includes(name) || (name === "tenant" && isWithTenant),
  );
  const names = [...groups, ...COUNT_COLUMNS.map(([name]) => name)];
  const cells = rows.map((row) => [
    ...groups.map((name) => row[name] ?? ""),
    ...COUNT_COLUMNS.map(([, count]) => count(row)),
  ]);
  if (format === "parquet") {
    const columns: ParquetColumn[] = [
      ...groups.map((name) => ({ name, type: name === "day" ? "DATE" : "VARCHAR" }) as const),
      ...COUNT_COLUMNS.map(([name]) => ({ name, type: "BIGINT" }) as const),
    ];
    await writeParquet(out!, columns, cells);
  } else {
    const text = formatUsage(names, cells, format);
    if (out === undefined) return printText(text);
    writeTextAtomically(out, text);
  }
  printNote(`${rows.length} rows in ${out}`);
}

function formatUsage(
  names: readonly string[],
  cells: readonly (readonly (string | number)[])[],
  format: Exclude<UsageFormat, "parquet">,
): string {
  if (format === "csv") return formatCsv(names, cells, "\n");
  if (format === "table") return `${formatTable(names, cells).join("\n")}\n`;
  const rows = cells.map((row) => Object.fromEntries(names.map((name, i) => [name, row[i]])));
  return `${JSON.stringify(rows)}\n`;
}

function writeTextAtomically(path: string, text: string): void {
  fs.writeFileSync(`${path}.partial`, text);
  moveDurably(`${path}.partial`, path);
}
