// The matrix as a table in Markdown: adapters by columns, and below it the sentences of refusals and faults.
import type { Cell } from "./_cell.ts";

/** The table and, after it, one line for each cell that does not obey. Ends with a line break. */
export function formatTable(cells: readonly Cell[]): string {
  const columns = [...new Set(cells.map(({ column }) => column))];
  const adapters = [...new Set(cells.map(({ adapter }) => adapter))];
  const rows = adapters.map((adapter) => {
    const own = columns.map((column) =>
      formatCell(cells.find((cell) => cell.adapter === adapter && cell.column === column)),
    );
    return `| ${[adapter, ...own].join(" | ")} |`;
  });
  const head = [
    `| ${["adapter", ...columns].join(" | ")} |`,
    `|${"---|".repeat(columns.length + 1)}`,
  ];
  const notes = cells
    .filter(({ result }) => result !== "obeys")
    .map(({ adapter, column, detail }) => `- ${adapter}, ${column}: ${detail}`);
  return [...head, ...rows, "", ...notes, ""].join("\n");
}

function formatCell(cell: Cell | undefined): string {
  if (cell === undefined) return "–";
  return `${cell.version ?? "not installed"}, ${cell.result}`;
}
