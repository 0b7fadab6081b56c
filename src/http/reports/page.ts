// The report for those who were refused, as one page of plain HTML: what counts against the agent, what
// would help, how to dispute. No script; one form, to this service. All that came from outside is
// text, and characters that would turn it around or hide in it are shown by their numbers.
import { STATEMENT_LENGTH_MAX } from "../../contract/reviews/disputes.ts";
import type { AgentReport, DisputeReceipt } from "../../contract/schemas/disputes.ts";
import {
  buildPagePolicy,
  EMPTY_MARKUP,
  markup,
  type Markup,
  renderCode,
  renderHtmlPage,
  renderStyle,
} from "../../markup/html.ts";
import { AGENT_REPORT_STYLE } from "../../markup/style.ts";

/** Header lines of the page: nothing is loaded or run by it, and its address is told to nobody. */
export const REPORT_PAGE_HEADER_LINES: readonly string[] = [
  "Content-Security-Policy",
  buildPagePolicy(AGENT_REPORT_STYLE, "form-action 'self'; frame-ancestors 'none'"),
  "Referrer-Policy",
  "no-referrer",
  "X-Content-Type-Options",
  "nosniff",
];

const DISPUTES_PATH = "/v1/disputes";
/** Control characters, marks of direction, and those without width. */
const HIDDEN_CHARACTERS =
  // oxlint-disable-next-line no-control-regex
  /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g;

/** The page; `link`: the token by which its reader came, who may dispute with it. */
export function renderAgentReportPage(report: AgentReport, link: string | undefined): string {
  const { agent_id: agent, evaluated_at: at, tenant } = report;
  return renderPageShell(
    `Report on ${escapeHiddenCharacters(agent)}`,
    markup`<h1>Why <bdi>${escapeHiddenCharacters(agent)}</bdi> is held back</h1>
<p class="soft">As ${escapeHiddenCharacters(tenant)} sees it on ${formatUtcMinute(at)}. Nobody who reported is named.</p>
${renderStanding(report)}${renderObjections(report)}${renderDenials(report)}${renderReviews(report)}
${renderDisputeForm(report, link)}${renderSignatureNote(report)}`,
  );
}

/** What is shown after a dispute was sent from the page. */
export function renderDisputeReceiptPage({ id, agent, opened_at: at }: DisputeReceipt): string {
  return renderPageShell(
    "Your dispute is on record",
    markup`<h1>Your dispute is on record</h1>
<p>It is about <bdi>${escapeHiddenCharacters(agent)}</bdi> and waits for a person since ${formatUtcMinute(at)}.</p>
<p>Its number is ${renderCode(id)}. The page you came from shows what becomes of it.</p>`,
  );
}

const REPORT_HEAD = markup`<meta name="robots" content="noindex">${renderStyle(AGENT_REPORT_STYLE)}`;

function renderPageShell(title: string, body: Markup): string {
  return renderHtmlPage(title, REPORT_HEAD, markup`<main>\n${body}\n</main>`);
}

function renderStanding({ score, tier, max_stakes: stakes, evidence }: AgentReport): Markup {
  const cells: readonly [string, string][] = [
    ["score, 0 to 100", String(Math.round(score))],
    ["tier", tier],
    ["connects up to stakes of", stakes === null ? "any" : formatNumber(stakes)],
    ["settled outcomes", formatNumber(evidence.outcomes)],
    ["failures, 90 days", formatNumber(evidence.failures_90d)],
    ["successes, 90 days", formatNumber(evidence.successes_90d)],
  ];
  const each = cells.map(([name, value]) => markup`<div><dt>${name}</dt><dd>${value}</dd></div>`);
  return markup`<dl>${each}</dl>`;
}

function renderObjections({ against }: AgentReport): Markup {
  const points = against.map(
    ({ code: name, sentence, remedy }) =>
      markup`<li><p>${sentence}</p><p class="soft">${remedy} ${renderCode(name)}</p></li>\n`,
  );
  const all =
    points.length === 0
      ? markup`<p>Nothing now. What was refused before is below.</p>`
      : markup`<ol class="against">${points}</ol>`;
  return markup`<h2>What counts against it, and what would help</h2>\n${all}\n`;
}

function renderDenials({ denials }: AgentReport): Markup {
  if (denials.length === 0) return EMPTY_MARKUP;
  const rows = denials.map(
    ({ request_id: id, evaluated_at: at, level, stakes, verdict, decision, reason }) =>
      markup`<tr><td class="n">${formatUtcMinute(at)}</td><td>${level}</td><td class="n">${formatNumber(stakes)}</td>
<td>${verdict ?? decision}${reason === null ? "" : markup`<br>${renderCode(reason)}`}</td>
<td>${renderCode(id)}</td></tr>\n`,
  );
  return markup`<h2>What was refused</h2><div class="wide"><table><thead><tr><th>when</th>
<th>level</th><th>stakes</th><th>answer</th><th>number of the decision</th></tr></thead>
<tbody>${rows}</tbody></table></div>\n`;
}

function renderReviews({ reviews }: AgentReport): Markup {
  if (reviews.length === 0) return EMPTY_MARKUP;
  const rows = reviews.map(({ kind, level, state, opened_at: at, decision, until }) => {
    const outcome =
      decision === null
        ? state === "claimed"
          ? "a person is at it"
          : "waits for a person"
        : `${decision === "overturned" ? "let through" : "upheld"} until ${formatUtcMinute(until ?? at)}`;
    const what = kind === "dispute" ? "dispute" : "calls held back";
    return markup`<tr><td class="n">${formatUtcMinute(at)}</td><td>${what}</td><td>${level}</td><td>${outcome}</td></tr>\n`;
  });
  return markup`<h2>What people make of it</h2><div class="wide"><table><thead><tr><th>since</th>
<th>what</th><th>level</th><th>state</th></tr></thead><tbody>${rows}</tbody></table></div>\n`;
}

function renderDisputeForm(
  { agent_id: agent, denials, dispute }: AgentReport,
  link: string | undefined,
): Markup {
  const heading = markup`<h2 id="dispute">Dispute it</h2>`;
  if (dispute.left_today === 0) {
    return markup`${heading}<p>No further dispute about this agent is taken today, UTC.</p>\n`;
  }
  if (link === undefined) {
    return markup`${heading}<p>Share this page by a link to let its reader dispute here, or send
${renderCode(`POST ${DISPUTES_PATH}`)} with an API key: agent, decision, statement, contact.</p>\n`;
  }
  const options = denials.map(({ request_id: id, evaluated_at: at, level }) => {
    return markup`<option value="${id}">${formatUtcMinute(at)}, ${level}, ${id}</option>`;
  });
  return markup`${heading}
<p>A person reads it. ${dispute.left_today} more can be sent today, UTC.</p>
<form method="post" action="${DISPUTES_PATH}">
<input type="hidden" name="link" value="${link}">
<label for="decision">About</label>
<select id="decision" name="decision"><option value="">the standing of ${escapeHiddenCharacters(agent)} as a whole</option>
${options}</select>
<label for="statement">What is wrong</label>
<textarea id="statement" name="statement" required maxlength="${STATEMENT_LENGTH_MAX}"></textarea>
<label for="contact">Where to answer <span class="soft">(if you like)</span></label>
<input id="contact" name="contact" maxlength="256" autocomplete="email">
<button type="submit">Send the dispute</button>
</form>\n`;
}

function renderSignatureNote({
  service_id: service,
  config_version: config,
  kid,
}: AgentReport): Markup {
  return markup`<p class="soft">Bureau ${escapeHiddenCharacters(service)}, weights ${renderCode(config)}. The same as data,
signed by the key ${renderCode(kid)}: ask with ${renderCode("format=json")}.</p>`;
}

function escapeHiddenCharacters(text: string): string {
  return text.replaceAll(HIDDEN_CHARACTERS, (character) => {
    return `\\u{${character.codePointAt(0)!.toString(16).padStart(4, "0")}}`;
  });
}

function formatUtcMinute(at: string): string {
  return `${at.slice(0, 10)} ${at.slice(11, 16)} UTC`;
}

function formatNumber(value: number): string {
  return (Math.round(value * 10) / 10).toLocaleString("en-US");
}
