// Query results as CSV (RFC 4180): a header line, CRLF, quotes where needed. NULL is an empty field
// and an empty string a quoted one, so the two stay apart.
import type { QueryResult } from "../../store/store.ts";

const NEEDS_QUOTES = /[",\r\n]/;

/** The whole result as CSV text. */
export function csvOf(result: QueryResult): string {
  const header = result.columns.map((column) => field(column.name)).join(",");
  const rows = result.rows.map((row) => row.map(field).join(","));
  return `${[header, ...rows].join("\r\n")}\r\n`;
}

function field(value: unknown): string {
  if (value === null || value === undefined) return "";
  const text = typeof value === "string" ? value : JSON.stringify(value);
  const needsQuotes = text === "" || NEEDS_QUOTES.test(text);
  return needsQuotes ? `"${text.replaceAll('"', '""')}"` : text;
}
