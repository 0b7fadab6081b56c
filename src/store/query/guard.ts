// Validates analysts' queries: accepts exactly one read-only statement, using DuckDB's own parser, which
// serializes a SELECT to a tree and rejects everything else. The engine's locks (read-only transaction,
// no external access, locked settings) are the second line; SELECTs with side effects are rejected here.
import { ServiceFault } from "../../contract/faults.ts";
import { BODY_BYTES_MAX } from "../../contract/limits.ts";
import type { Connection } from "../duckdb.ts";
import { VIEWS } from "./views.ts";

/**
 * Functions that may stand in FROM. Others exist that write though the statement reads (checkpoint,
 * enable_logging) or run text as SQL (query, query_table).
 */
const ALLOWED_TABLE_FUNCTIONS: ReadonlySet<string> = new Set([
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
 * Functions of expressions that may not be called: those with a side effect, and those whose result
 * is as large as an argument demands. The latter make gigabytes in one step that DuckDB 1.5 neither
 * counts against its memory limit nor can interrupt (measured: 40 s after the interrupt). Those that
 * analysts lay tables out with are allowed within a budget (ResultLengthBudget).
 */
const FORBIDDEN_FUNCTIONS: ReadonlySet<string> = new Set([
  "nextval",
  "write_log",
  "setseed",
  "repeat",
  "range",
  "generate_series",
  "list_resize",
  "array_resize",
  "bitstring",
  "equi_width_bins",
  // These only block the queries that wait in the queue.
  "sleep_ms",
  "pg_sleep",
]);

/**
 * These answer from statistics and plans, which cover all tenants' rows, or from settings, some of
 * which are directories of the server.
 */
const TENANT_FORBIDDEN_FUNCTIONS: ReadonlySet<string> = new Set([
  "stats",
  "json_serialize_plan",
  "current_setting",
]);
const ROW_COUNT_FUNCTIONS: ReadonlySet<string> = new Set(["duckdb_tables"]);

/** EXPLAIN is not serialised; the statement that it explains is. */
const EXPLAIN_PREFIX = /^\s*explain\s+(?:analyze\s+)?(?:\(\s*[a-z_]+(?:\s+[a-z_]+)?\s*\)\s*)?/i;

interface SerialisedQuery {
  error: boolean;
  error_type?: string;
  error_message?: string;
  /** Of what the parser did not take: characters (code points) before it, as a text. */
  position?: string;
  statements?: unknown[];
}

export function createQueryRejection(detail: string): ServiceFault {
  return new ServiceFault("query_rejected", detail);
}

/** Rights of the key that asks. */
export interface QueryRights {
  /** Whose rows are visible; undefined for all. */
  readonly tenant: string | undefined;
  /** Views that the key's scopes do not cover. */
  readonly withheld: readonly string[];
}

/**
 * Accepts one reading statement.
 * @returns for a tenant's query the views it reads, whose rows the caller narrows; none for an
 *   administrator's, which may name tables as well.
 * @throws ServiceFault `query_rejected` when `sql` is anything but exactly one reading statement,
 *   `insufficient_scope` when it reads a view that is withheld.
 */
export async function assertReadOnly(
  connection: Connection,
  sql: string,
  { tenant, withheld }: QueryRights,
): Promise<ReadonlySet<string>> {
  const isTenants = tenant !== undefined;
  if (sql.length > BODY_BYTES_MAX) throw createQueryRejection("the query is too long");
  // The binding cuts a text at a NUL: the rest would go unchecked.
  if (sql.includes("\0")) throw createQueryRejection("the query holds a NUL character");
  const text = sql.replace(EXPLAIN_PREFIX, "");
  // Plans reveal how many rows there are of all tenants.
  if (isTenants && text !== sql) throw createQueryRejection("EXPLAIN takes an administrator's key");
  const [row] = await connection.rows(
    "SELECT json_serialize_sql($1::VARCHAR, skip_null := true, skip_empty := true)",
    [text],
  );
  const tree = JSON.parse(String(row?.[0])) as SerialisedQuery;
  if (tree.error) throw createParseRejection(tree, text);
  if (tree.statements?.length !== 1) {
    throw createQueryRejection("the query must be exactly one statement");
  }
  const named: QueryNames = { relations: [], ctes: new Set() };
  assertTreeAllowed(tree.statements, isTenants, named);
  const views = isTenants ? await assertDocumentedViews(connection, named) : new Set<string>();
  const names = isTenants ? views : listNames(named);
  const hidden = withheld.find((view) => names.has(view));
  if (hidden === undefined) return views;
  throw new ServiceFault(
    "insufficient_scope",
    `the view \`${hidden}\` takes \`score:read\` as well`,
  );
}

/** Names in FROM, of whatever schema, and the views over the tables among them. */
function listNames({ relations }: QueryNames): ReadonlySet<string> {
  const names = new Set(relations.map(({ table_name: name }) => String(name).toLowerCase()));
  for (const [view, { sql }] of Object.entries(VIEWS)) {
    sql((table) => {
      if (names.has(table)) names.add(view);
      return table;
    });
  }
  return names;
}

function createParseRejection(tree: SerialisedQuery, sql: string): ServiceFault {
  if (tree.error_type === "not implemented") {
    return createQueryRejection("only SELECT statements are allowed");
  }
  const message = tree.error_message ?? "the query does not parse";
  if (tree.position === undefined) return createDatabaseRejection(message);
  return createDatabaseRejection(`${message}\n\n${markPlace(sql, Number(tree.position))}`);
}

/** Longest part of a line that is shown before the mark, and behind it. */
const SHOWN_CHARACTERS = 60;

/** The line of a text behind that many code points, and a caret below the place, as DuckDB prints them. */
function markPlace(sql: string, codePoints: number): string {
  const before = Array.from(sql).slice(0, codePoints).join("");
  const lines = before.split("\n");
  const start = lines.at(-1)!.slice(-SHOWN_CHARACTERS);
  const [end = ""] = sql.slice(before.length).split("\n", 1);
  const head = `LINE ${lines.length}: `;
  const caret = `${" ".repeat(head.length + start.length)}^`;
  return `${head}${start}${end.slice(0, SHOWN_CHARACTERS)}\n${caret}`;
}

type ParseNode = Readonly<Record<string, unknown>>;

/** Names in FROM anywhere in a query, and the names that its WITH clauses give. */
interface QueryNames {
  relations: ParseNode[];
  ctes: Set<string>;
}

/** Walks the tree without recursion: its depth is the caller's to choose. */
function assertTreeAllowed(statements: unknown[], isTenants: boolean, named: QueryNames): void {
  const pending: unknown[] = [...statements];
  const sized = new ResultLengthBudget();
  while (pending.length > 0) {
    const node = pending.pop();
    if (typeof node !== "object" || node === null) continue;
    const { type, function_name: name, ...members } = node as Record<string, unknown>;
    if (typeof name === "string") {
      assertFunction(name.toLowerCase(), isTenants);
      sized.spend(name.toLowerCase(), (members["children"] ?? []) as unknown[]);
    }
    if (type === "BASE_TABLE") named.relations.push(members);
    if (type === "PIVOT") assertPivot(members["pivots"]);
    // A file by its path reads like a table. Exports lie where the engine may read for a moment.
    if (type === "BASE_TABLE" && String(members["table_name"]).includes("/")) {
      throw createQueryRejection("files cannot be read");
    }
    const ctes = (members["cte_map"] as { map?: { key: string }[] } | undefined)?.map ?? [];
    for (const { key } of ctes) named.ctes.add(key.toLowerCase());
    if (type === "TABLE_FUNCTION") {
      // The call itself is judged here, by another list; only its arguments are expressions.
      pending.push(checkTableFunctionArguments(members["function"], isTenants));
      delete members["function"];
    }
    pending.push(...Object.values(members));
  }
}

/** Columns that one PIVOT may make; each costs an aggregate over all rows. */
const PIVOT_COLUMNS_MAX = 1000;

function assertPivot(pivots: unknown): void {
  const parts = Array.isArray(pivots) ? (pivots as { entries?: unknown[] }[]) : [];
  const columns = parts.reduce((product, { entries }) => product * (entries?.length ?? 1), 1);
  if (columns <= PIVOT_COLUMNS_MAX) return;
  throw createQueryRejection(
    `PIVOT makes ${columns} columns, at most ${PIVOT_COLUMNS_MAX} are allowed`,
  );
}

/** The optimizer's own: they trust their arguments. */
const INTERNAL_PREFIX = "__internal_";

function assertFunction(name: string, isTenants: boolean): void {
  const isForbidden = FORBIDDEN_FUNCTIONS.has(name) || name.startsWith(INTERNAL_PREFIX);
  if (isForbidden || (isTenants && TENANT_FORBIDDEN_FUNCTIONS.has(name))) {
    throw createQueryRejection(`function \`${name}\` is not allowed in an expression`);
  }
}

/**
 * The arguments of an allowed table function.
 * @throws ServiceFault `query_rejected` for any other.
 */
function checkTableFunctionArguments(called: unknown, isTenants: boolean): unknown {
  const { function_name: name, ...members } = called as Record<string, unknown>;
  const known = String(name).toLowerCase();
  const isAllowed =
    ALLOWED_TABLE_FUNCTIONS.has(known) && !(isTenants && ROW_COUNT_FUNCTIONS.has(known));
  if (!isAllowed) throw createQueryRejection(`table function \`${String(name)}\` is not allowed`);
  return members;
}

/**
 * Accepts documented views by their bare names: in a tenant's connection those are its own. A name
 * that a WITH clause gives is good too, unless it is also that of something else in the database:
 * then it could mean either, by where it stands.
 */
async function assertDocumentedViews(
  connection: Connection,
  { relations, ctes }: QueryNames,
): Promise<ReadonlySet<string>> {
  const views = new Set<string>();
  const others = new Set<string>();
  for (const { table_name: table, schema_name: schema, catalog_name: catalog } of relations) {
    if (schema !== undefined || catalog !== undefined) {
      throw createQueryRejection("views are read by their bare names");
    }
    const name = String(table).toLowerCase();
    if (Object.hasOwn(VIEWS, name)) views.add(name);
    else if (ctes.has(name)) others.add(name);
    else throw createQueryRejection(`there is no view \`${String(table)}\``);
  }
  const existing = await connection.rows(
    `SELECT view_name FROM duckdb_views() UNION ALL SELECT table_name FROM system.main.duckdb_tables()`,
  );
  const clash = existing.find(([name]) => others.has(String(name).toLowerCase()));
  if (clash !== undefined) {
    throw createQueryRejection(
      `\`${String(clash[0])}\` has another meaning here: choose another name`,
    );
  }
  return views;
}

const DETAIL_LENGTH_MAX = 300;
/** The line of the statement with a caret below the place: the last lines of a message. */
const PLACE = /^LINE \d+: [^]*\^/m;

/** DuckDB's message and what it suggests in one line; `errors` has the line of the statement with a caret. */
export function createDatabaseRejection(message: string): ServiceFault {
  const place = PLACE.exec(message);
  const detail = formatDatabaseMessage(message.slice(0, place?.index));
  if (place === null) return createQueryRejection(detail);
  return new ServiceFault("query_rejected", detail, [
    { pointer: "/sql", code: "sql", detail: place[0] },
  ]);
}

/** As one line in house form: lower-case start, no full stop, suggestions behind semicolons. */
function formatDatabaseMessage(message: string): string {
  const lines = message.split("\n").map((line) => line.trim());
  const [first = "", ...others] = lines.filter((line) => line !== "");
  const line = first.replace(/^[A-Z][A-Za-z ]* Error: /, "").replace(/[.!]$/, "");
  const isSentence = /^[A-Z][a-z ]/.test(line);
  const lowered = isSentence ? line.charAt(0).toLowerCase() + line.slice(1) : line;
  return [lowered, ...others].join("; ").slice(0, DETAIL_LENGTH_MAX);
}

/** Characters that all such calls of one query may ask for together, for each row. */
const SIZED_LENGTH_MAX = 10_000;
/** Places in one format text: each can repeat an argument, however long. */
const FORMAT_FIELDS_MAX = 100;
/** Length of a `bar` that names none. */
const BAR_LENGTH = 80;

type CallArguments = readonly unknown[];

/** Characters that a call asks for, or undefined when its arguments do not say. */
type LengthMeasure = (given: CallArguments) => number | undefined;

const LENGTH_MEASURES: Readonly<Record<string, LengthMeasure>> = {
  lpad: (given) => readNumberConstant(given[1]),
  rpad: (given) => readNumberConstant(given[1]),
  bar: (given) => (given.length < 4 ? BAR_LENGTH : readNumberConstant(given[3])),
  format: (given) => sumFormatWidths(given[0], /\{/g, (text) => text.replaceAll(/\{\{|\}\}/g, "")),
  printf: (given) => sumFormatWidths(given[0], /%/g, (text) => text.replaceAll("%%", "")),
};

/** Adds up what the calls of one query ask for. */
class ResultLengthBudget {
  #left = SIZED_LENGTH_MAX;

  /** @throws ServiceFault `query_rejected` for a call that asks for too much, or does not say. */
  spend(name: string, given: CallArguments): void {
    if (!Object.hasOwn(LENGTH_MEASURES, name)) return;
    const length = (LENGTH_MEASURES[name] as LengthMeasure)(given);
    if (length === undefined) {
      const what = name === "format" || name === "printf" ? "format text" : "length";
      const detail = `the ${what} of \`${name}\` must stand in the query as it is`;
      throw new ServiceFault("query_rejected", detail);
    }
    this.#left -= length;
    if (this.#left >= 0) return;
    const detail = `\`${name}\` asks for too much: at most ${SIZED_LENGTH_MAX} characters a query`;
    throw new ServiceFault("query_rejected", detail);
  }
}

interface ConstantNode {
  class?: string;
  value?: { value?: unknown };
}

/** A constant of a serialised query; undefined for every other expression. */
function readConstant(node: unknown): unknown {
  const { class: kind, value } = (node ?? {}) as ConstantNode;
  // An empty text is left out of the serialised tree.
  return kind === "CONSTANT" ? (value?.value ?? "") : undefined;
}

function readNumberConstant(node: unknown): number | undefined {
  const value = readConstant(node);
  return typeof value === "number" && value >= 0 ? value : undefined;
}

/**
 * Widths and precisions that a format text names. One that comes from an argument (`*`, or a field in
 * a field) is unknown.
 */
function sumFormatWidths(
  node: unknown,
  field: RegExp,
  unescaped: (text: string) => string,
): number | undefined {
  const constant = readConstant(node);
  if (typeof constant !== "string") return undefined;
  const text = unescaped(constant);
  if (/%[^%a-zA-Z]*\*/.test(text) || /\{[^}]*\{/.test(text)) return undefined;
  const fields = text.match(field)?.length ?? 0;
  if (fields > FORMAT_FIELDS_MAX) return Number.POSITIVE_INFINITY;
  // Every number counts, whatever it means: those outside fields are few and small.
  return (text.match(/\d+/g) ?? []).reduce((sum, digits) => sum + Number(digits), 0);
}
