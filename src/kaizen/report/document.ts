// Frame of a report page: one self-contained HTML document that loads and runs nothing. The policy is in the
// page, so that it holds for a saved file as well as for a response.
import {
  buildPagePolicy,
  escapeHtml,
  Markup,
  markup,
  renderHtmlPage,
  renderStyle,
} from "../../markup/html.ts";
import { KAIZEN_REPORT_STYLE } from "../../markup/style.ts";

const REPORT_HEAD = markup`<meta http-equiv="Content-Security-Policy" content="${new Markup(
  buildPagePolicy(KAIZEN_REPORT_STYLE, "form-action 'none'"),
)}">${renderStyle(KAIZEN_REPORT_STYLE)}`;

/** A sentence from its words: escaped, and with a capital. */
export function formatSentenceHtml(text: string): string {
  return escapeHtml(text.slice(0, 1).toUpperCase() + text.slice(1));
}

/** The whole document. `title` is plain text, `body` is HTML. */
export function renderReportPage(title: string, body: string): string {
  return renderHtmlPage(title, REPORT_HEAD, new Markup(body));
}
