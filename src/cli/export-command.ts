// `trustrank export --to DIR`: every view as Parquet, in the layout that DuckDB, pandas and Spark read
// as partitions: DIR/outcomes/day=2026-01-31/data.parquet, and DIR/agents/data.parquet where a view has
// no days. With --follow a DuckDB file beside them is kept fresh, for tools that ask no service.
import { DAY_MS } from "../contract/units.ts";
import { moveDurably } from "../platform/files.ts";
import { type ExportDay, type ExportView, DATED_VIEWS, EXPORT_VIEWS } from "../contract/views.ts";
import type { SnapshotPosition, StoreDescription } from "../store/store.ts";
import { withStoreOnFiles } from "./file-store.ts";
import type { ServerClient } from "./server-client.ts";
import * as fs from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { CommandFailure } from "../service/failure.ts";
import { writeReplica } from "../store/exports.ts";
import { runOnFilesOrServer, type DataAccess } from "./data-access.ts";
import { printNote, print, printJson, type OutputFlags } from "./output.ts";
import { Progress } from "./progress.ts";

interface ExportRequest {
  readonly to: string;
  readonly sinceMs: number;
  readonly by: ExportDay;
}

interface ExportSummary {
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
  flags: OutputFlags,
): Promise<void> {
  printSummary(await exportOnce(access, request, false), flags);
}

/** Exports, then goes on every `everyMs`: the days that can have changed, and a fresh replica. */
export async function followExport(
  access: DataAccess,
  request: ExportRequest,
  everyMs: number,
  flags: OutputFlags,
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

function printSummary(summary: ExportSummary, flags: OutputFlags): void {
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

interface ExportSource {
  readonly by: ExportDay;
  /** The views, and as of which position they are at least. */
  describe(): Promise<StoreDescription & { asOf: SnapshotPosition }>;
  /** Days that a view has rows of. */
  days(view: ExportView): Promise<string[]>;
  /** One day of a view as Parquet; undefined for a view that is one file. */
  file(view: ExportView, day: string | undefined): Promise<Uint8Array>;
}

const POSITION_LIMITS = { rowsMax: 1, timeoutMs: 60_000 };

function createServerExportSource(
  client: ServerClient,
  { sinceMs, by }: ExportRequest,
): ExportSource {
  const choice = `since=${sinceMs}&by=${by}`;
  return {
    by,
    async describe() {
      interface Described {
        views: StoreDescription["views"];
        time_zone: string;
      }
      interface Answered {
        as_of: { position: number; time: string };
      }
      const path = "/v1/query/schema";
      const { views, time_zone: timeZone } = await client.sendJson<Described>("GET", path);
      const sql = "SELECT 1";
      const { as_of } = await client.sendJson<Answered>("POST", "/v1/query", { sql });
      return {
        views,
        timeZone,
        asOf: { position: as_of.position, timeMs: Date.parse(as_of.time) },
      };
    },
    days: async (view) => {
      const path = `/v1/export/${view}/days?${choice}`;
      return (await client.sendJson<{ days: string[] }>("GET", path)).days;
    },
    file: (view, day) =>
      client.fetchBytes(`/v1/export/${view}?${choice}${day === undefined ? "" : `&day=${day}`}`),
  };
}

/** Opens the store alone: it first applies the journal records that it lacks. */
function withStoreExportSource<T>(
  dataDir: string,
  { sinceMs, by }: ExportRequest,
  work: (source: ExportSource) => Promise<T>,
): Promise<T> {
  return withStoreOnFiles(dataDir, true, (store) =>
    work({
      by,
      async describe() {
        const { asOf } = await store.query("SELECT 1", POSITION_LIMITS);
        return { ...(await store.describeViews()), asOf };
      },
      days: (view) => store.listExportDays(view, { sinceMs, by }),
      file: (view, day) => store.exportParquet(view, day, { sinceMs, by }),
    }),
  );
}
