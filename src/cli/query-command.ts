// `trustrank query "SELECT ..."`: runs SQL over the outcome store, opened here or through the
// server.
import type { QueryResult } from "../store/store.ts";
import { PAID_VIEWS, type QueryFormat } from "../contract/views.ts";
import { runOnFilesOrServer } from "./data-access.ts";
import type { DataAccess } from "./data-access.ts";
import { formatCsv } from "../platform/csv.ts";
import { withStoreOnFiles } from "./file-store.ts";
import { printNote, printJson, printText, printTable, type OutputFlags } from "./output.ts";

const QUERY_LIMITS = { rowsMax: 100_000, timeoutMs: 60_000 };

type QueryRows = Pick<QueryResult, "columns" | "rows" | "isTruncated">;

interface ServerRows {
  columns: QueryResult["columns"];
  rows: unknown[][];
  is_truncated: boolean;
}

/** Prints the rows; notes on stderr when the answer was cut. */
export async function runQuery(
  access: DataAccess,
  { sql, params }: { readonly sql: string; readonly params: readonly string[] },
  flags: OutputFlags & { format: QueryFormat },
): Promise<void> {
  const result = await runOnFilesOrServer<QueryRows>(
    access,
    (dataDir) =>
      withStoreOnFiles(dataDir, mentionsCurrentScores(sql), (store) =>
        store.query(sql, QUERY_LIMITS, undefined, { params }),
      ),
    async (client) => {
      const { columns, rows, is_truncated } = await client.sendJson<ServerRows>(
        "POST",
        "/v1/query",
        { sql, params, format: "json" },
      );
      return { columns, rows, isTruncated: is_truncated };
    },
  );
  const names = result.columns.map((column) => column.name);
  if (flags.json === true || flags.format === "json") {
    printJson(result.rows.map((row) => Object.fromEntries(names.map((name, i) => [name, row[i]]))));
  } else if (flags.format === "csv") {
    printText(formatCsv(names, result.rows, "\n"));
  } else {
    printTable(names, result.rows);
  }
  if (result.isTruncated) printNote(`only the first ${result.rows.length} rows`);
}

/** Whether the query may look at current scores, for which the files have to be replayed. */
function mentionsCurrentScores(sql: string): boolean {
  return PAID_VIEWS.some((view) => new RegExp(`\\b${view}\\b`, "i").test(sql));
}
