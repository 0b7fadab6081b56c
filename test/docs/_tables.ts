// Markdown tables of a page, by the heading that they stand under.

/** Cells of every table row under a heading, without heads; code marks are taken off. */
export function rowsUnder(page: string, heading: string): string[][] {
  const lines = page.split("\n");
  const at = lines.indexOf(heading);
  if (at < 0) throw new Error(`the page has no heading ${heading}`);
  const rows: string[][] = [];
  for (const [index, line] of lines.entries()) {
    if (index <= at) continue;
    if (/^#{1,2} /.test(line)) break;
    const isHead = /^\|[-|: ]+\|$/.test(lines[index + 1] ?? "");
    if (line.startsWith("|") && !isHead && !/^\|[-|: ]+\|$/.test(line)) rows.push(cellsOf(line));
  }
  return rows;
}

function cellsOf(line: string): string[] {
  return line
    .replaceAll(/^\||\|$/g, "")
    .split("|")
    .map((cell) => cell.trim());
}

/** A cell that is one piece of code, without its marks. */
export function plain(cell: string): string {
  return cell.replaceAll(/^`|`$/g, "");
}

/** First cells of all rows under a heading. */
export function namesUnder(page: string, heading: string): string[] {
  return rowsUnder(page, heading).map(([name]) => plain(name!));
}

/** One field of a byte layout. */
export interface ByteField {
  readonly at: number;
  readonly bytes: number;
  readonly type: string;
  readonly name: string;
}

/** A byte table under a heading. Throws when its fields leave a hole or overlap. */
export function layoutUnder(page: string, heading: string): ByteField[] {
  let end = 0;
  return rowsUnder(page, heading).map(([at, bytes, type, name]) => {
    const field = { at: Number(at), bytes: Number(bytes), type: type!, name: name! };
    if (field.at !== end) throw new Error(`${heading}: ${field.name} does not begin at ${end}`);
    end += field.bytes;
    return field;
  });
}

/** Bytes of a layout. */
export function sizeOf(layout: readonly ByteField[]): number {
  const last = layout.at(-1);
  return last === undefined ? 0 : last.at + last.bytes;
}

/** Reads the field whose name begins so, as its type says; bytes as hex. */
export function readField(
  layout: readonly ByteField[],
  bytes: Buffer,
  base: number,
  name: string,
): number | string {
  const field = layout.find((each) => each.name.startsWith(name));
  if (field === undefined) throw new Error(`no field ${name}`);
  const at = base + field.at;
  switch (field.type) {
    case "u8":
      return bytes.readUInt8(at);
    case "u16":
      return bytes.readUInt16LE(at);
    case "u32":
      return bytes.readUInt32LE(at);
    case "u64":
      return Number(bytes.readBigUInt64LE(at));
    case "f64":
      return bytes.readDoubleLE(at);
    case "ascii":
      return bytes.toString("latin1", at, at + field.bytes);
    default:
      return bytes.toString("hex", at, at + field.bytes);
  }
}
