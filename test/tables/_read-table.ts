// Reader of decision tables written as text: a header line, then one row per line, columns
// separated by `|`; blank lines and lines that start with `#` are for people. Throws on a ragged
// row, so that a slip in a table fails the test instead of dropping a case.
import { readFileSync } from "node:fs";

export type TableRow = Readonly<Record<string, string>>;

/** The rows of `test/tables/<name>`, each with its columns by header name. */
export function readTable(name: string): TableRow[] {
  const text = readFileSync(new URL(name, import.meta.url), "utf8");
  const lines = text
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "" && !line.startsWith("#"));
  const [header, ...body] = lines.map(splitColumns);
  if (header === undefined) throw new Error(`${name} has no header`);
  return body.map((cells) => {
    if (cells.length !== header.length) {
      throw new Error(`${name}: expected ${header.length} columns in: ${cells.join(" | ")}`);
    }
    return Object.fromEntries(header.map((column, index) => [column, cells[index]!]));
  });
}

/** Reads `yes` and `no`, and nothing else. */
export function readYesNo(cell: string | undefined): boolean {
  if (cell !== "yes" && cell !== "no") throw new Error(`expected yes or no, found ${cell}`);
  return cell === "yes";
}

function splitColumns(line: string): string[] {
  return line.split("|").map((cell) => cell.trim());
}
