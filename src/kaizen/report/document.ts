// Frame of a report page: one self-contained HTML document that loads nothing and runs nothing. The
// page says so itself, so that it holds for a saved file as well as for an answer.
import { createHash } from "node:crypto";
import { KAIZEN_REPORT_STYLE } from "./style.ts";

const STYLE_HASH = createHash("sha256").update(KAIZEN_REPORT_STYLE).digest("base64");
const CONTENT_SECURITY_POLICY = `default-src 'none'; style-src 'sha256-${STYLE_HASH}'; base-uri 'none'; form-action 'none'`;

/** Escapes text for HTML: records hold text from outside. */
export function escapeHtml(text: string): string {
  return text
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;");
}

/** A sentence from its words: escaped, and with a capital. */
export function formatSentenceHtml(text: string): string {
  return escapeHtml(text.slice(0, 1).toUpperCase() + text.slice(1));
}

/** The whole document. `title` is plain text, `body` is HTML. */
export function renderHtmlPage(title: string, body: string): string {
  return [
    `<!doctype html><html lang="en"><head><meta charset="utf-8">`,
    `<meta http-equiv="Content-Security-Policy" content="${CONTENT_SECURITY_POLICY}">`,
    `<meta name="viewport" content="width=device-width,initial-scale=1">`,
    `<title>${escapeHtml(title)}</title><style>${KAIZEN_REPORT_STYLE}</style></head>`,
    `<body>${body}</body></html>`,
  ].join("");
}
