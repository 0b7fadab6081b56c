// Files of conditions -> rows of `POST /v1/conditions`: a JSON array, or CSV with a header. CSV is RFC 4180: cells may
// stand in double quotes, which are doubled inside.
import { ServiceFault } from "../faults.ts";

const COLUMNS = ["subject", "state", "levels", "max_stakes", "until", "code", "text", "case"];

/** The rows as they are, unchecked. @throws ServiceFault `invalid_parameter` for what is neither JSON nor such CSV. */
export function parseConditionRows(text: string): Record<string, unknown>[] {
  if (!/^\s*\[/.test(text)) return parseCsvRows(text);
  try {
    return JSON.parse(text) as Record<string, unknown>[];
  } catch (error) {
    throw new ServiceFault("invalid_parameter", `the file is no JSON: ${(error as Error).message}`);
  }
}

function parseCsvRows(text: string): Record<string, unknown>[] {
  const [header, ...lines] = splitCsvCells(text);
  const names = (header ?? []).map((name) => name.trim());
  const unknown = names.find((name) => !COLUMNS.includes(name));
  if (!names.includes("subject") || unknown !== undefined) {
    const detail = `the first line must name columns of ${COLUMNS.join(", ")}`;
    throw new ServiceFault("invalid_parameter", detail);
  }
  return lines.map((cells, index) => {
    if (cells.length !== names.length) {
      const detail = `line ${index + 2} has ${cells.length} cells, the header has ${names.length}`;
      throw new ServiceFault("invalid_parameter", detail);
    }
    return buildRow(new Map(names.map((name, at) => [name, cells[at]!])));
  });
}

/** Empty cells are left out. */
function buildRow(cells: ReadonlyMap<string, string>): Record<string, unknown> {
  const get = (name: string) => cells.get(name) || undefined;
  const stakes = get("max_stakes");
  return {
    subject: get("subject"),
    state: get("state"),
    levels: get("levels")?.split(/[\s,;]+/),
    max_stakes: stakes === undefined ? undefined : Number(stakes),
    until: get("until"),
    reason: { code: get("code"), text: get("text") },
    case: get("case"),
  };
}

/** Lines of cells; empty lines are left out. @throws ServiceFault `invalid_parameter` for a quote that never ends. */
export function splitCsvCells(text: string): string[][] {
  const lines: string[][] = [];
  const cell = /(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r?\n|$)/y;
  let line: string[] = [];
  while (cell.lastIndex < text.length || line.length > 0) {
    const at = cell.lastIndex;
    const found = cell.exec(text);
    if (found === null) {
      throw new ServiceFault("invalid_parameter", `the quotes at character ${at + 1} do not pair`);
    }
    const [, quoted, plain = "", end] = found;
    line.push(quoted === undefined ? plain : quoted.replaceAll('""', '"'));
    if (end === ",") continue;
    if (line.length > 1 || line[0] !== "") lines.push(line);
    line = [];
  }
  return lines;
}
