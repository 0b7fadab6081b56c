// Decides whether a text is one statement that only reads, by DuckDB's own parser: it serialises
// a SELECT to a tree and refuses everything else. The engine's own locks (read-only transaction, no
// external access, settings locked) stand behind this; here go the SELECTs with side effects.
import { ServiceFault } from "../contract/faults.ts";
import { BODY_BYTES_MAX } from "../contract/limits.ts";
import type { Connection } from "./duckdb.ts";

/**
 * Functions that may stand in FROM. Others exist that write though the statement reads (checkpoint,
 * enable_logging) or run text as SQL (query, query_table).
 */
const TABLE_FUNCTIONS: ReadonlySet<string> = new Set([
  "range",
  "generate_series",
  "unnest",
  "repeat",
  "repeat_row",
  "json_each",
  "json_tree",
  "pragma_table_info",
  "duckdb_columns",
  "duckdb_functions",
  "duckdb_keywords",
  "duckdb_tables",
  "duckdb_types",
  "duckdb_views",
  "test_all_types",
]);

/**
 * Functions of expressions that may not be called: those with a side effect, and those whose
 * answer is as large as a number says. The latter make gigabytes in one step that DuckDB 1.5
 * neither counts against its memory limit nor can interrupt (measured: 40 s after the interrupt).
 */
const FORBIDDEN: ReadonlySet<string> = new Set([
  "nextval",
  "write_log",
  "setseed",
  "repeat",
  "lpad",
  "rpad",
  "bar",
  "format",
  "printf",
  "range",
  "generate_series",
  "list_resize",
  "array_resize",
  "bitstring",
  "equi_width_bins",
]);

/** EXPLAIN is not serialised; what it explains is. */
const EXPLAIN = /^\s*explain\s+(?:analyze\s+)?(?:\(\s*[a-z_]+(?:\s+[a-z_]+)?\s*\)\s*)?/i;

interface Serialised {
  error: boolean;
  error_type?: string;
  error_message?: string;
  statements?: unknown[];
}

export function queryRejected(detail: string): ServiceFault {
  return new ServiceFault("query_rejected", detail);
}

/** @throws ServiceFault `query_rejected`, unless `sql` is exactly one reading statement. */
export async function assertReadOnly(connection: Connection, sql: string): Promise<void> {
  if (sql.length > BODY_BYTES_MAX) throw queryRejected("the query is too long");
  // The binding has no text with a NUL: what is behind it would go unseen.
  if (sql.includes("\0")) throw queryRejected("the query holds a NUL character");
  const text = sql.replace(EXPLAIN, "");
  const [row] = await connection.rows(
    "SELECT json_serialize_sql($1::VARCHAR, skip_null := true, skip_empty := true)",
    [text],
  );
  const tree = JSON.parse(String(row?.[0])) as Serialised;
  if (tree.error) throw queryRejected(refusalOf(tree));
  if (tree.statements?.length !== 1) {
    throw queryRejected("the query must be exactly one statement");
  }
  assertHarmless(tree.statements);
}

function refusalOf(tree: Serialised): string {
  if (tree.error_type === "not implemented") return "only SELECT statements are allowed";
  return oneLine(tree.error_message ?? "the query does not parse");
}

/** Walks the tree without recursion: its depth is the caller's to choose. */
function assertHarmless(statements: unknown[]): void {
  const pending: unknown[] = [...statements];
  while (pending.length > 0) {
    const node = pending.pop();
    if (typeof node !== "object" || node === null) continue;
    const { type, function_name: name, ...members } = node as Record<string, unknown>;
    if (typeof name === "string" && FORBIDDEN.has(name.toLowerCase())) {
      throw queryRejected(`function \`${name}\` is not allowed in an expression`);
    }
    // A file by its path reads like a table. Exports lie where the engine may read for a moment.
    if (type === "BASE_TABLE" && String(members["table_name"]).includes("/")) {
      throw queryRejected("files cannot be read");
    }
    if (type === "TABLE_FUNCTION") {
      // The call itself is judged here, by another list; only its arguments are expressions.
      pending.push(argumentsOf(members["function"]));
      delete members["function"];
    }
    pending.push(...Object.values(members));
  }
}

/** The arguments of a table function that is allowed; throws for one that is not. */
function argumentsOf(called: unknown): unknown {
  const { function_name: name, ...members } = called as Record<string, unknown>;
  if (typeof name !== "string" || !TABLE_FUNCTIONS.has(name.toLowerCase())) {
    throw queryRejected(`table function \`${String(name)}\` is not allowed`);
  }
  return members;
}

const DETAIL_LENGTH_MAX = 300;

/** DuckDB's message as one line of ours: first line, lower-case start, no full stop. */
export function oneLine(message: string): string {
  const [first = ""] = message.split("\n", 1);
  const line = first.replace(/^[A-Z][A-Za-z ]* Error: /, "").replace(/\.$/, "");
  const isSentence = /^[A-Z][a-z ]/.test(line);
  const lowered = isSentence ? line.charAt(0).toLowerCase() + line.slice(1) : line;
  return lowered.slice(0, DETAIL_LENGTH_MAX);
}
