// `trustrank export --to DIR`: every view as Parquet, in the layout that DuckDB, pandas and Spark read
// as partitions: DIR/outcomes/day=2026-01-31/data.parquet, and DIR/agents/data.parquet where a view has
// no days. With --follow a DuckDB file beside them is kept fresh, for tools that ask no service.
import { DAY_MS } from "../contract/units.ts";
import * as fs from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { DATED_VIEWS, EXPORT_VIEWS, type ExportDay, type ExportView } from "../contract/views.ts";
import { moveDurably } from "../platform/files.ts";
import { CommandFailure } from "../service/failure.ts";
import { writeReplica } from "../store/exports.ts";
import { runOnFilesOrServer, type DataAccess } from "./data-access.ts";
import {
  type ExportSource,
  createServerExportSource,
  withStoreExportSource,
} from "./export-source.ts";
import { printNote, print, printJson } from "./output.ts";
import { Progress } from "./progress.ts";

export interface ExportRequest {
  readonly to: string;
  readonly sinceMs: number;
  readonly by: ExportDay;
}

export interface ExportSummary {
  directory: string;
  /** Days written by view; a view without days counts as one. */
  days: Record<string, number>;
  bytes: number;
  /** The DuckDB file, with --follow. */
  replica?: string;
}

/** Rest between two exports, however long one takes. */
const REST_MS_MIN = 1000;

/** Writes every day from `sinceMs` on. A file is replaced whole: readers see the old or the new. */
export async function runExport(
  access: DataAccess,
  request: ExportRequest,
  flags: { json?: boolean },
): Promise<void> {
  printSummary(await exportOnce(access, request, false), flags);
}

/** Exports, then goes on every `everyMs`: the days that can have changed, and a fresh replica. */
export async function followExport(
  access: DataAccess,
  request: ExportRequest,
  everyMs: number,
  flags: { json?: boolean },
): Promise<never> {
  let { sinceMs } = request;
  let hasExported = false;
  for (;;) {
    const startedMs = Date.now();
    try {
      printSummary(await exportOnce(access, { ...request, sinceMs }, true), flags);
      hasExported = true;
      // Outcomes of any age may settle late; what was recorded on an earlier day is all there.
      if (request.by === "recorded") sinceMs = Math.max(sinceMs, startedMs - (startedMs % DAY_MS));
    } catch (error) {
      // A wrong key or address shows at once.
      if (!(error instanceof CommandFailure) || !hasExported) throw error;
      // The last files stay; a service that restarts is there again the next time.
      printNote(`not exported this time: ${error.message}`);
    }
    await pause(Math.max(REST_MS_MIN, everyMs - (Date.now() - startedMs)));
  }
}

function exportOnce(access: DataAccess, request: ExportRequest, hasReplica: boolean) {
  assertOneLayout(request);
  return runOnFilesOrServer<ExportSummary>(
    access,
    (dataDir) =>
      withStoreExportSource(dataDir, request, (source) =>
        exportFromSource(source, request, hasReplica),
      ),
    (client) => exportFromSource(createServerExportSource(client, request), request, hasReplica),
  );
}

async function exportFromSource(
  source: ExportSource,
  { to }: ExportRequest,
  hasReplica: boolean,
): Promise<ExportSummary> {
  const summary: ExportSummary = { directory: to, days: {}, bytes: 0 };
  // Before the rows: they hold at least what is in the journal up to here.
  const description = hasReplica ? await source.describe() : undefined;
  for (const view of EXPORT_VIEWS) {
    const files = await listExportDays(source, view);
    const progress = new Progress(`export ${view}`, files.length);
    for (const [index, day] of files.entries()) {
      const bytes = await source.file(view, day);
      writeParquetAtomically(
        day === undefined ? join(to, view) : join(to, view, formatDayFolder(source, day)),
        bytes,
      );
      summary.bytes += bytes.length;
      progress.update(index + 1);
    }
    progress.stop();
    summary.days[view] = files.length;
  }
  if (description !== undefined) {
    summary.replica = await writeReplica(to, description, description.asOf);
  }
  return summary;
}

/** Days to write; undefined for a view that is one file. */
async function listExportDays(
  source: ExportSource,
  view: ExportView,
): Promise<(string | undefined)[]> {
  const isDated = (DATED_VIEWS as readonly string[]).includes(view);
  return isDated ? source.days(view) : [undefined];
}

function formatDayFolder({ by }: ExportSource, day: string): string {
  return `${by === "settled" ? "settled_day" : "day"}=${day}`;
}

/**
 * Both layouts in one directory would show every outcome twice.
 * @throws CommandFailure when the directory holds the other one.
 */
function assertOneLayout({ to, by }: ExportRequest): void {
  const folder = join(to, "outcomes");
  if (!fs.existsSync(folder)) return;
  const other = by === "settled" ? "day=" : "settled_day=";
  if (!fs.readdirSync(folder).some((name) => name.startsWith(other))) return;
  throw new CommandFailure(
    `\`${folder}\` has outcomes by another day: export to another directory`,
  );
}

function printSummary(summary: ExportSummary, flags: { json?: boolean }): void {
  if (flags.json === true) return printJson(summary);
  for (const view of DATED_VIEWS) print(`${view}: ${summary.days[view]} days`);
  print(`${summary.bytes} bytes in ${summary.directory}`);
  if (summary.replica !== undefined) print(`open ${summary.replica} read-only`);
}

function writeParquetAtomically(directory: string, bytes: Uint8Array): void {
  fs.mkdirSync(directory, { recursive: true });
  const partial = join(directory, ".data.parquet.partial");
  fs.writeFileSync(partial, bytes);
  moveDurably(partial, join(directory, "data.parquet"));
}
