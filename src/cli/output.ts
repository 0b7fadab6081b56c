// Output of the commands, and the one place where they write: results on stdout, everything meant
// only for people on stderr, so that a pipe sees data and nothing else.

// A reader that has seen enough (`... | head`) is no failure: what is left is written to nobody.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code !== "EPIPE") throw error;
});

/** Flags of a command that prints a result. */
export interface OutputFlags {
  /** One JSON value instead of text. */
  readonly json?: boolean;
}

/** One line of result. */
export function print(line: string): void {
  process.stdout.write(`${line}\n`);
}

/** A result that closes its lines itself. */
export function printText(text: string): void {
  process.stdout.write(text);
}

/** A part of a result; resolves with whether anybody wants more, once there is room for it. */
export function printPart(bytes: Uint8Array): Promise<boolean> {
  return new Promise((resolve) => {
    process.stdout.write(bytes, (error) => resolve(error === undefined || error === null));
  });
}

/** A result for programs: exactly one JSON value on one line. */
export function printJson(value: unknown): void {
  print(JSON.stringify(value));
}

/** One line for the person at the terminal. */
export function printNote(line: string): void {
  process.stderr.write(`${line}\n`);
}

function formatCell(value: unknown): string {
  if (typeof value === "string") return value;
  return value === null ? "" : (JSON.stringify(value) ?? "");
}

/** Columns padded to their widest cell, numbers to the right; no trailing blanks. */
export function formatTable(
  columns: readonly string[],
  rows: readonly (readonly unknown[])[],
): string[] {
  const cells = rows.map((row) => row.map(formatCell));
  const widths = columns.map((name, i) =>
    cells.reduce((width, row) => Math.max(width, row[i]?.length ?? 0), name.length),
  );
  const isNumeric = columns.map(
    (_, i) => rows.length > 0 && rows.every((row) => typeof row[i] === "number"),
  );
  const line = (row: readonly string[]) =>
    row
      .map((cell, i) => (isNumeric[i] ? cell.padStart(widths[i]!) : cell.padEnd(widths[i]!)))
      .join("  ")
      .trimEnd();
  return [line(columns), line(widths.map((width) => "-".repeat(width))), ...cells.map(line)];
}

export function printTable(...table: Parameters<typeof formatTable>): void {
  formatTable(...table).forEach(print);
}
