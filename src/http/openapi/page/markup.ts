// HTML as a template that escapes whatever is put into it: text becomes markup in this file alone.

/** Text that is markup already. */
export class Markup {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

export type MarkupPiece = Markup | string | number | readonly MarkupPiece[];

const ESCAPES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

/** Markup from a template; pieces that are none are escaped, for text and quoted attributes. */
export function markup(parts: TemplateStringsArray, ...pieces: readonly MarkupPiece[]): Markup {
  let text = parts[0]!;
  for (const [index, piece] of pieces.entries()) text += escapePiece(piece) + parts[index + 1]!;
  return new Markup(text);
}

export const EMPTY_MARKUP = new Markup("");

function escapePiece(piece: MarkupPiece): string {
  if (piece instanceof Markup) return piece.text;
  if (typeof piece === "object") return piece.map(escapePiece).join("");
  return String(piece).replaceAll(/[&<>"']/g, (character) => ESCAPES[character]!);
}

/** Prose with code in backticks. */
export function renderProse(text: string): Markup {
  const parts = text.split(/`([^`]*)`/);
  return markup`${parts.map((part, index) => (index % 2 === 0 ? part : renderCode(part)))}`;
}

export function renderCode(text: string): Markup {
  return markup`<code>${text}</code>`;
}

/** Pieces with a separator between two. */
export function joinMarkup(pieces: readonly MarkupPiece[], separator: string): Markup {
  return markup`${pieces.flatMap((piece, index) => (index === 0 ? [piece] : [separator, piece]))}`;
}

/** An identifier for an anchor: letters, digits, `_` and `-`. */
export function formatAnchor(kind: string, name: string): string {
  return `${kind}-${name.replaceAll(/[^A-Za-z0-9_-]/g, "-")}`;
}
