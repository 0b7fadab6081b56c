// HTML as a template that escapes whatever is put into it: text becomes markup in this file alone.

/** Text that is markup already. */
export class Markup {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

export type Piece = Markup | string | number | readonly Piece[];

const ESCAPES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

/** Markup from a template; pieces that are none are escaped, for text and quoted attributes. */
export function markup(parts: TemplateStringsArray, ...pieces: readonly Piece[]): Markup {
  let text = parts[0]!;
  for (const [index, piece] of pieces.entries()) text += textOf(piece) + parts[index + 1]!;
  return new Markup(text);
}

export const NOTHING = new Markup("");

function textOf(piece: Piece): string {
  if (piece instanceof Markup) return piece.text;
  if (typeof piece === "object") return piece.map(textOf).join("");
  return String(piece).replaceAll(/[&<>"']/g, (character) => ESCAPES[character]!);
}

/** Prose with code in backticks. */
export function prose(text: string): Markup {
  const parts = text.split(/`([^`]*)`/);
  return markup`${parts.map((part, index) => (index % 2 === 0 ? part : code(part)))}`;
}

export function code(text: string): Markup {
  return markup`<code>${text}</code>`;
}

/** Pieces with a separator between two. */
export function joined(pieces: readonly Piece[], separator: string): Markup {
  return markup`${pieces.flatMap((piece, index) => (index === 0 ? [piece] : [separator, piece]))}`;
}

/** An identifier for an anchor: letters, digits, `_` and `-`. */
export function anchor(kind: string, name: string): string {
  return `${kind}-${name.replaceAll(/[^A-Za-z0-9_-]/g, "-")}`;
}
