// Rows of conditions: CSV with a header, as `POST /v1/conditions` takes it, and files of the command line, which may
// be a JSON array as well. CSV is RFC 4180: cells may stand in double quotes, which are doubled inside.
import { isUtf8 } from "node:buffer";
import { type FieldError, invalidRequest, ServiceFault } from "../faults.ts";
import { parseConditionBatch, type SubjectOrder } from "./conditions.ts";

/** Columns in any order; only `agent` must be there. */
const COLUMNS = [
  "agent",
  "state",
  "reason_code",
  "reason_text",
  "until",
  "max_stakes",
  "levels",
  "case",
  "scope",
] as const;
type Column = (typeof COLUMNS)[number];

/** Column of each member of a condition, where they differ. */
const COLUMN_BY_MEMBER: Readonly<Record<string, Column>> = {
  subject: "agent",
  "reason/code": "reason_code",
  "reason/text": "reason_text",
};

interface CsvRecord {
  /** Of its first character, from 1. */
  readonly line: number;
  readonly cells: readonly string[];
}

/** The rows as they are, unchecked. @throws ServiceFault `invalid_parameter` for what is neither JSON nor such CSV. */
export function parseConditionRows(text: string): Record<string, unknown>[] {
  if (!/^\s*\[/.test(text)) return parseCsvRows(text).rows;
  try {
    return JSON.parse(text) as Record<string, unknown>[];
  } catch (error) {
    throw new ServiceFault("invalid_parameter", `the file is no JSON: ${(error as Error).message}`);
  }
}

/**
 * Up to 1,000 conditions of a CSV document. `nowMs`, epoch ms: their ends must lie ahead.
 * @throws ServiceFault `malformed_body`, `invalid_parameter` for what is not such CSV; `invalid_request` with a pointer to the row and the
 * column of each fault (`/0/state`: the first row below the header), and its line in the detail.
 */
export function parseConditionCsv(body: Buffer, nowMs: number): SubjectOrder[] {
  if (!isUtf8(body)) throw new ServiceFault("malformed_body", "the body is not valid UTF-8");
  const { rows, lines } = parseCsvRows(body.toString("utf8"));
  try {
    return parseConditionBatch({ conditions: rows }, nowMs);
  } catch (error) {
    if (!(error instanceof ServiceFault) || error.errors.length === 0) throw error;
    throw invalidRequest(error.errors.map((each) => locateInCsv(each, lines)));
  }
}

/** `/conditions/3/reason/code` -> `/3/reason_code`, and the line of that row. */
function locateInCsv(fault: FieldError, lines: readonly number[]): FieldError {
  const [, , row, ...members] = fault.pointer.split("/");
  if (row === undefined) return { ...fault, pointer: "" };
  const [first = "", second = ""] = members;
  const column = COLUMN_BY_MEMBER[`${first}/${second}`] ?? COLUMN_BY_MEMBER[first] ?? first;
  const pointer = column === "" ? `/${row}` : `/${row}/${column}`;
  return { ...fault, pointer, detail: `line ${lines[Number(row)]}: ${fault.detail}` };
}

function parseCsvRows(text: string): { rows: Record<string, unknown>[]; lines: number[] } {
  // Spreadsheets begin UTF-8 with a byte order mark.
  const [header, ...records] = splitCsvRecords(text.replace(/^\uFEFF/, ""));
  const names = (header?.cells ?? []).map((name) => name.trim());
  const isKnown = names.every((name) => (COLUMNS as readonly string[]).includes(name));
  if (!isKnown || !names.includes("agent") || new Set(names).size !== names.length) {
    const detail = `the first line must name columns of ${COLUMNS.join(", ")}, each once, \`agent\` among them`;
    throw new ServiceFault("invalid_parameter", detail);
  }
  const rows = records.map(({ line, cells }) => {
    if (cells.length !== names.length) {
      const detail = `line ${line} has ${cells.length} cells, the header has ${names.length}`;
      throw new ServiceFault("invalid_parameter", detail);
    }
    return buildRow(new Map(names.map((name, at) => [name, cells[at]!.trim()])));
  });
  return { rows, lines: records.map(({ line }) => line) };
}

/** Empty cells are left out. */
function buildRow(cells: ReadonlyMap<string, string>): Record<string, unknown> {
  const get = (name: Column) => cells.get(name) || undefined;
  const row = {
    subject: get("agent"),
    state: get("state"),
    scope: get("scope"),
    levels: get("levels")?.split(/[\s,;]+/),
    max_stakes: convertNumber(get("max_stakes")),
    until: convertNumber(get("until")),
    reason: { code: get("reason_code"), text: get("reason_text") },
    case: get("case"),
  };
  return Object.fromEntries(Object.entries(row).filter(([, value]) => value !== undefined));
}

/** A cell with a number as one; others stay text, and the check says what is wrong. */
function convertNumber(cell: string | undefined): number | string | undefined {
  return cell !== undefined && /^-?\d+(?:\.\d+)?$/.test(cell) ? Number(cell) : cell;
}

/** Records with their lines; empty lines are left out. @throws ServiceFault `invalid_parameter` for quotes that do not pair. */
function splitCsvRecords(text: string): CsvRecord[] {
  const records: CsvRecord[] = [];
  const cell = /(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r?\n|$)/y;
  let cells: string[] = [];
  let [line, nextLine] = [1, 1];
  while (cell.lastIndex < text.length || cells.length > 0) {
    const found = cell.exec(text);
    if (found === null) {
      throw new ServiceFault("invalid_parameter", `line ${nextLine}: the quotes do not pair`);
    }
    const [all, quoted, plain = "", end] = found;
    nextLine += all.split("\n").length - 1;
    cells.push(quoted === undefined ? plain : quoted.replaceAll('""', '"'));
    if (end === ",") continue;
    if (cells.length > 1 || cells[0] !== "") records.push({ line, cells });
    cells = [];
    line = nextLine;
  }
  return records;
}
