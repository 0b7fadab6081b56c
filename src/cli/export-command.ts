// `trustrank export --to DIR`: outcomes and decisions as Parquet, one file a day, in the layout
// that DuckDB, pandas and Spark read as partitions: DIR/outcomes/day=2026-01-31/data.parquet.
import * as fs from "node:fs";
import { join } from "node:path";
import { EXPORT_VIEWS } from "../store/store.ts";
import type { ExportView } from "../store/store.ts";
import { startStore } from "../store/client.ts";
import { withData } from "./data-access.ts";
import type { DataAccess } from "./data-access.ts";
import { note, print, printJson } from "./output.ts";
import { Progress } from "./progress.ts";
import type { ServerClient } from "./server-client.ts";

interface Source {
  days(view: ExportView): Promise<string[]>;
  day(view: ExportView, day: string): Promise<Uint8Array>;
}

export interface ExportSummary {
  directory: string;
  days: Record<ExportView, number>;
  bytes: number;
}

/** Writes every day from `sinceMs` on. A file is replaced whole: readers see the old or the new. */
export async function runExport(
  access: DataAccess,
  options: { to: string; sinceMs: number },
  flags: { json?: boolean },
): Promise<void> {
  const { to, sinceMs } = options;
  const summary = await withData<ExportSummary>(
    access,
    (dataDir) => exportFiles(dataDir, to, sinceMs),
    (client) => exportFrom(serverSource(client, sinceMs), to),
  );
  if (flags.json === true) return printJson(summary);
  for (const view of EXPORT_VIEWS) print(`${view}: ${summary.days[view]} days`);
  print(`${summary.bytes} bytes in ${summary.directory}`);
}

function serverSource(client: ServerClient, sinceMs: number): Source {
  return {
    days: async (view) => {
      const path = `/v1/export/${view}/days?since=${sinceMs}`;
      return (await client.sendJson<{ days: string[] }>("GET", path)).days;
    },
    day: (view, day) => client.fetchBytes(`/v1/export/${view}?day=${day}&since=${sinceMs}`),
  };
}

/** Opens the store alone: it first applies the journal records that it lacks. */
async function exportFiles(dataDir: string, to: string, sinceMs: number): Promise<ExportSummary> {
  const store = await startStore({
    dataDir,
    isStandalone: true,
    log: (event, detail) => note(`${event}: ${detail}`),
  });
  try {
    return await exportFrom(
      {
        days: (view) => store.exportDays(view, sinceMs),
        day: (view, day) => store.exportDay(view, day, sinceMs),
      },
      to,
    );
  } finally {
    await store.close();
  }
}

async function exportFrom(source: Source, to: string): Promise<ExportSummary> {
  const summary: ExportSummary = { directory: to, days: { outcomes: 0, decisions: 0 }, bytes: 0 };
  for (const view of EXPORT_VIEWS) {
    const days = await source.days(view);
    const progress = new Progress(`export ${view}`, days.length);
    for (const [index, day] of days.entries()) {
      const bytes = await source.day(view, day);
      writeWhole(join(to, view, `day=${day}`), bytes);
      summary.bytes += bytes.length;
      progress.update(index + 1);
    }
    progress.stop();
    summary.days[view] = days.length;
  }
  return summary;
}

function writeWhole(directory: string, bytes: Uint8Array): void {
  fs.mkdirSync(directory, { recursive: true });
  const partial = join(directory, ".data.parquet.partial");
  fs.writeFileSync(partial, bytes);
  fs.renameSync(partial, join(directory, "data.parquet"));
}
