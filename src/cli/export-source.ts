// Source of an export: the server that holds the data, or the store opened on the files, with the
// scores of a replayed table.
import type { ExportDay, ExportView } from "../contract/views.ts";
import type { SnapshotPosition, StoreDescription } from "../store/store.ts";
import type { ExportRequest } from "./export-command.ts";
import { withStoreOnFiles } from "./file-store.ts";
import type { ServerClient } from "./server-client.ts";

export interface ExportSource {
  readonly by: ExportDay;
  /** The views, and as of which position they are at least. */
  describe(): Promise<StoreDescription & { asOf: SnapshotPosition }>;
  /** Days that a view has rows of. */
  days(view: ExportView): Promise<string[]>;
  /** One day of a view as Parquet; undefined for a view that is one file. */
  file(view: ExportView, day: string | undefined): Promise<Uint8Array>;
}

const POSITION_LIMITS = { rowsMax: 1, timeoutMs: 60_000 };

export function createServerExportSource(
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
export function withStoreExportSource<T>(
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
