// The documented views as data: their columns, types and meaning, in their own order.
import type { Connection } from "../duckdb.ts";
import type { StoreDescription } from "../store.ts";
import { VIEWS } from "./views.ts";

/** Describes every documented view. */
export async function describeViews(connection: Connection): Promise<StoreDescription> {
  const [zone] = await connection.rows("SELECT current_setting('TimeZone')");
  const rows = await connection.rows(
    `SELECT table_name, column_name, data_type, coalesce(comment, '') FROM duckdb_columns()
     WHERE schema_name = 'main' AND NOT internal ORDER BY table_name, column_index`,
  );
  const views = Object.entries(VIEWS).map(([name, { comment }]) => ({
    name,
    comment,
    columns: rows
      .filter(([table]) => table === name)
      .map(([, column, type, about]) => ({
        name: String(column),
        type: String(type),
        comment: String(about),
      })),
  }));
  return { views, timeZone: String(zone?.[0]) };
}
