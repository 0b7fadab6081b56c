// Reads files of outcomes into requests of the contract, row by row: NDJSON, CSV with a header of
// member names, and the signed-trust-network format `SOURCE,TARGET,RATING,TIME`. A bad row becomes
// a row with its fault and never ends the file: the import decides what to do about it.
import { ServiceFault } from "../../contract/faults.ts";
import type { ImportedOutcome } from "../../contract/schemas/outcomes.ts";
import type { ImportFormat } from "../../contract/views.ts";
import { parseJson } from "../../contract/parse/json.ts";
import { parseImportedOutcome } from "../../contract/parse/requests.ts";
import { parseCsvLine } from "../../platform/csv.ts";
import { readLines } from "./read-lines.ts";
import type { TextLine } from "./read-lines.ts";

export interface OutcomeRow {
  readonly line: number;
  /** Bytes of the file that the row took, for progress. */
  readonly bytes: number;
  /** The outcome, or the fault of the line. */
  readonly outcome: ImportedOutcome | ServiceFault;
}

/** The rows of a file, in file order; `snap-ratings` sorted by time, then line. */
export function readOutcomes(
  path: string,
  format: ImportFormat,
  namespace: string,
): Iterable<OutcomeRow> {
  if (format === "snap-ratings") return readRatings(path, namespace);
  return format === "csv" ? readCsvRows(path) : readJsonRows(path);
}

function parseImportRow(line: TextLine, parse: () => ImportedOutcome): OutcomeRow {
  let outcome: ImportedOutcome | ServiceFault;
  try {
    outcome = parse();
  } catch (error) {
    if (!(error instanceof ServiceFault)) throw error;
    outcome = error;
  }
  return { line: line.number, bytes: line.bytes, outcome };
}

function* readJsonRows(path: string): Generator<OutcomeRow> {
  for (const line of readLines(path)) {
    yield parseImportRow(line, () => parseImportedOutcome(parseJson(Buffer.from(line.text))));
  }
}

/** Which cells are not text; a cell that is NULL is an absent member. */
const NUMBER_COLUMNS = new Set(["outcome", "stakes"]);
const FLAG_COLUMNS = new Set(["agent_fault", "first_party"]);

function convertCell(column: string, cell: string): unknown {
  if (NUMBER_COLUMNS.has(column)) return isDecimal(cell) ? Number(cell) : cell;
  if (column === "settled_at" && /^\d+$/.test(cell)) return Number(cell);
  if (FLAG_COLUMNS.has(column) && (cell === "true" || cell === "false")) return cell === "true";
  return cell;
}

function isDecimal(cell: string): boolean {
  return /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(cell);
}

function* readCsvRows(path: string): Generator<OutcomeRow> {
  let columns: string[] | undefined;
  for (const line of readLines(path)) {
    if (columns === undefined) {
      columns = splitCsvCells(line).map((name) => name ?? "");
      continue;
    }
    const names = columns;
    yield parseImportRow(line, () => {
      const cells = splitCsvCells(line);
      if (cells.length !== names.length) {
        throw createBadLineFault(`expected ${names.length} cells, found ${cells.length}`);
      }
      const members: Record<string, unknown> = {};
      for (const [i, column] of names.entries()) {
        const cell = cells[i]!;
        if (cell !== null) members[column] = convertCell(column, cell);
      }
      return parseImportedOutcome(members);
    });
  }
}

/** No member of an outcome can hold a line break, so a line is a record. */
function splitCsvCells(line: TextLine): (string | null)[] {
  const cells = parseCsvLine(line.text);
  if (cells === undefined) throw createBadLineFault("quotes do not match");
  return cells;
}

interface Rating {
  readonly line: TextLine;
  readonly cells: string[];
  readonly timeSec: number;
}

/**
 * Reporter SOURCE, subject TARGET, outcome RATING > 0, stakes |RATING|; TIME in epoch seconds. Such
 * stakes are no more known beforehand than the outcome is: the import marks the rows by their
 * source (RATINGS_SOURCE), and kaizen does not learn from their stakes. The file comes in any order
 * and evidence is folded in order of time, so all of it is read first.
 */
function* readRatings(path: string, namespace: string): Generator<OutcomeRow> {
  const ratings: Rating[] = [];
  for (const line of readLines(path)) {
    const cells = line.text.split(",");
    ratings.push({ line, cells, timeSec: Number(cells[3]) });
  }
  // A line without a time sorts first: its place does not matter, it will be reported.
  ratings.sort(
    (first, second) =>
      (first.timeSec || 0) - (second.timeSec || 0) || first.line.number - second.line.number,
  );
  for (const rating of ratings) {
    yield parseImportRow(rating.line, () => {
      const [source, target, ratingText] = rating.cells;
      const value = Number(ratingText);
      if (rating.cells.length !== 4 || !Number.isFinite(value) || value === 0) {
        throw createBadLineFault("expected SOURCE,TARGET,RATING,TIME with a rating that is not 0");
      }
      return parseImportedOutcome({
        subject: `agent://${namespace}/${target}`,
        reporter: `agent://${namespace}/${source}`,
        outcome: value > 0 ? 1 : 0,
        stakes: Math.abs(value),
        grade: "counterparty",
        settled_at: Math.round(rating.timeSec * 1000),
      });
    });
  }
}

function createBadLineFault(detail: string): ServiceFault {
  return new ServiceFault("malformed_body", detail);
}
