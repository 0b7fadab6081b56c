// HTML templates that escape their values, and the frame of a page. The only escaper of the tree: every page
// that the service renders is made here.
import { createHash } from "node:crypto";

/** Text that is HTML already. */
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
  return escapeHtml(String(piece));
}

/** Escapes text for HTML and for quoted attributes. */
export function escapeHtml(text: string): string {
  return text.replaceAll(/[&<>"']/g, (character) => ESCAPES[character]!);
}

/** A whole document; `head` has its style and what else belongs there. */
export function renderHtmlPage(title: string, head: Markup, body: Markup): string {
  return markup`<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
${head}
<title>${title}</title></head>
<body>
${body}
</body></html>
`.text;
}

export function renderStyle(style: string): Markup {
  return markup`<style>${new Markup(style)}</style>`;
}

/** Content security policy of a page that loads and runs nothing, with `style` inline. */
export function buildPagePolicy(style: string, directives: string): string {
  const hash = createHash("sha256").update(style).digest("base64");
  return `default-src 'none'; style-src 'sha256-${hash}'; base-uri 'none'; ${directives}`;
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
