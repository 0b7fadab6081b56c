// Comma-separated values (RFC 4180), written and read in this one place: what the HTTP API answers,
// what the commands print and what an import reads. NULL is a field with nothing in it, the empty
// string a pair of quotes, in every direction. Text that a spreadsheet would take for a formula is
// written with an apostrophe before it: names and actions are callers' to choose.
import { CsvError, parse } from "csv-parse/sync";
import { stringify } from "csv-stringify/sync";

/** Ends a record: CRLF in a document sent over the network, LF on a terminal or in a pipe. */
export type RecordEnd = "\r\n" | "\n";

/** How a formula begins (OWASP, CSV injection), and the wide forms that some programs read alike. */
const FORMULA = /^[=+\-@\t\r\uFF1D\uFF0B\uFF0D\uFF20]/;
/** Numbers too large for the type come as text, and are harmless. */
const NUMBER = /^-\d+(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

function escapeFormula(text: string): string {
  return FORMULA.test(text) && !NUMBER.test(text) ? `'${text}` : text;
}

/**
 * The whole table as CSV text, the header first, each record closed by `recordEnd`. Values that are
 * neither text, number nor boolean are written as JSON; null and undefined are NULL. Text that begins
 * as a formula does gets an apostrophe before it; numbers stay as they are.
 */
export function formatCsv(
  columns: readonly string[],
  rows: readonly (readonly unknown[])[],
  recordEnd: RecordEnd,
): string {
  return stringify([columns, ...rows], {
    record_delimiter: recordEnd,
    // Of what is empty only text, unlike `quoted_empty`; and line breaks of either kind.
    quoted_match: /^$|[\r\n]/,
    cast: { boolean: String, string: escapeFormula, object: (value) => JSON.stringify(value) },
  });
}

/**
 * The fields of one line, blanks around them removed; null is NULL. A record that goes on over
 * several lines is not read. Undefined when the quotes do not match.
 */
export function parseCsvLine(line: string): (string | null)[] | undefined {
  // A call of the library takes 18 µs whatever the line: too long for each of a million rows.
  if (!line.includes('"')) return line.split(",").map((field) => field.trim() || null);
  try {
    const [fields] = parse(line, {
      trim: true,
      cast: (field, { quoting }) => (field === "" && !quoting ? null : field),
    }) as (string | null)[][];
    return fields;
  } catch (error) {
    if (error instanceof CsvError) return undefined;
    throw error;
  }
}
