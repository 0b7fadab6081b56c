// Overview: the last day's decisions and denials, live figures, and a tour of the sample history for the
// first minutes. Each figure links to the rows behind it.
import type { Disposition } from "../../contract/decisions.ts";
import type { LoggedLeg } from "../../contract/schemas/decisions.ts";
import { getDocument, querySql } from "../api.ts";
import { formatNumber, formatPercent } from "../format.ts";
import { html, type VNode, useState, useMemo } from "../html.ts";
import { linkTo } from "../location.ts";
import { hasAnyScope } from "../session.ts";
import { CurlCommand } from "../parts/actions.ts";
import { Failure, Loading, Empty } from "../parts/notices.ts";
import { Card, Page, Grid } from "../parts/page.ts";
import { type Column, Table } from "../parts/table.ts";
import { AgentLink, AnswerTag, DISPOSITION_WORDS, shortenName, Time } from "../parts/words.ts";
import { LiveCharts } from "./overview/live.ts";
import { usePolledData } from "../use-data.ts";
import { type Bar, Bars } from "../parts/bars.ts";
import { Chart } from "../parts/chart.ts";

interface DenialReasonRow {
  /** Rule that decided; null where the score alone did. */
  readonly reason: string | null;
  readonly decision: string;
  readonly agent: null;
  readonly denials: number;
}

interface MinuteRow {
  /** Epoch seconds. */
  readonly at: number;
  readonly counts: Readonly<Record<Disposition, number>> | undefined;
}

type MinuteReply = Readonly<Record<Disposition, number>> & Pick<MinuteRow, "at">;

interface DeniedAgentRow {
  readonly agent: string;
  readonly denials: number;
}

const isOfReason = (row: DenialReasonRow | DeniedAgentRow): row is DenialReasonRow =>
  row.agent === null;

const COUNTS_EVERY_MS = 30_000;
const MINUTE_SEC = 60;
/** Minutes that are drawn at least, so that the first decisions are not all there is to see. */
const MINUTES_MIN = 30;

const DENIALS =
  "FROM decisions WHERE effective = 'deny' AND evaluated_at > now()::TIMESTAMP - INTERVAL 1 DAY";
/** By reason, then by agent: one query, since few of a tenant run at once. */
const DENIALS_SQL = `SELECT * FROM (SELECT nullif(log_reason, '') AS reason,
if(coalesce(log_reason, '') = '', decision, '') AS decision, NULL AS agent, sum(weight)::INTEGER AS denials
${DENIALS} GROUP BY 1, 2 ORDER BY 4 DESC LIMIT 8)
UNION ALL SELECT * FROM (SELECT NULL, '', subject, sum(weight)::INTEGER
${DENIALS} GROUP BY 3 ORDER BY 4 DESC LIMIT 4)`;
const MINUTES_SQL = `SELECT epoch(date_trunc('minute', evaluated_at))::INTEGER AS at,
${Object.keys(DISPOSITION_WORDS)
  .map(
    (name) =>
      `(coalesce(sum(coalesce(weight, 1)) FILTER (disposition = '${name}'), 0))::INTEGER AS ${name}`,
  )
  .join(", ")}
FROM decisions WHERE evaluated_at > now()::TIMESTAMP - INTERVAL 1 DAY GROUP BY 1 ORDER BY 1`;

function RecentCharts(): VNode {
  const { value, error, reload } = usePolledData(async (signal) => {
    const [denials, minutes] = await Promise.all([
      querySql<DenialReasonRow | DeniedAgentRow>(DENIALS_SQL, signal),
      querySql<MinuteReply>(MINUTES_SQL, signal),
    ]);
    const [reasons, agents] = [
      denials.filter(isOfReason),
      denials.filter((row) => !isOfReason(row)),
    ];
    return { reasons, agents, minutes: minutes.map((counts) => ({ at: counts.at, counts })) };
  }, COUNTS_EVERY_MS);
  if (value === undefined) {
    if (error === undefined) return html`<${Loading} />`;
    return html`<${Failure} error=${error} onRetry=${reload} />`;
  }
  return html`${error !== undefined && html`<${Failure} error=${error} onRetry=${reload} />`}
    <${Grid}>
      <${Card} title="Decisions per minute, last 24 h" span=${7}>
        <${DecisionsByMinute} minutes=${value.minutes} />
      <//>
      <${Card} title="Held or refused, last 24 h" span=${5}>
        <h3>by reason, decisions</h3>
        <${Bars} bars=${value.reasons.map(buildReasonBar)} empty=${NO_DENIALS} />
        <h3>by agent, decisions</h3>
        <${Bars} bars=${value.agents.map(buildAgentBar)} empty=${NO_DENIALS} />
      <//>
    <//>`;
}

const NO_DENIALS = "Everything was allowed in the last day.";

function buildAgentBar({ agent, denials }: DeniedAgentRow): Bar {
  const href = linkTo("decisions", { agent, effective: "deny", range: "24h" });
  return { label: shortenName(agent), value: denials, href };
}

function buildReasonBar({ reason, decision, denials }: DenialReasonRow): Bar {
  const behind = reason === null ? { decision } : { reason };
  const href = linkTo("decisions", { ...behind, effective: "deny", range: "24h" });
  return { label: reason ?? decision, value: denials, href };
}

function DecisionsByMinute({ minutes }: { minutes: readonly MinuteRow[] }): VNode {
  const drawn = useMemo(() => fillEmptyMinutes(minutes, Date.now() / 1000), [minutes]);
  if (minutes.length === 0) {
    return html`<${Empty}
      >No decisions in the last day: a verify, check or handshake shows here.<//
    >`;
  }
  const lines = Object.entries(DISPOSITION_WORDS).map(([name, [label, color]]) => ({
    label,
    color,
    values: drawn.map(({ counts }) => counts?.[name as Disposition] ?? 0),
  }));
  return html`<${Chart}
    title="Decisions per minute"
    at=${drawn.map(({ at }) => at)}
    lines=${lines}
    unit="decisions per minute"
    say=${formatNumber}
  />`;
}

/** Every minute from the first to now: those without a decision count nought. */
function fillEmptyMinutes(minutes: readonly MinuteRow[], nowSec: number): MinuteRow[] {
  const last = Math.floor(nowSec / MINUTE_SEC) * MINUTE_SEC;
  const first = Math.min(minutes[0]?.at ?? last, last - (MINUTES_MIN - 1) * MINUTE_SEC);
  const known = new Map(minutes.map((minute) => [minute.at, minute]));
  const all: MinuteRow[] = [];
  for (let at = first; at <= last; at += MINUTE_SEC) {
    all.push(known.get(at) ?? { at, counts: undefined });
  }
  return all;
}

const TOUR_STORAGE_KEY = "trustrank.tour";
/** Agents are listed once they have been read, some seconds after a start. */
const TOUR_EVERY_MS = 15_000;
/** It turns bad in the sample: an agent worth looking at. */
const SAMPLE_AGENT = "agent://globex/price-scout";

/** Whether it is shown, and the way to change that. */
function useTour(): [isShown: boolean, show: (isShown: boolean) => void] {
  const [isShown, setIsShown] = useState(() => !isDismissed());
  const show = (next: boolean) => {
    try {
      if (next) localStorage.removeItem(TOUR_STORAGE_KEY);
      else localStorage.setItem(TOUR_STORAGE_KEY, "dismissed");
    } catch {
      // A browser may keep nothing: it holds for this visit then.
    }
    setIsShown(next);
  };
  return [isShown, show];
}

function isDismissed(): boolean {
  try {
    return localStorage.getItem(TOUR_STORAGE_KEY) !== null;
  } catch {
    return false;
  }
}

/** Where to go, the words of the link, and what is there. */
type TourStep = readonly [href: string, words: string, what: string];

function listTourSteps(isSample: boolean): readonly TourStep[] {
  const look = isSample ? "Look at an agent that turned bad" : "Look at an agent";
  return [
    [
      linkTo("agents", { order: "score" }),
      "See who is trusted least",
      "every agent with its score, its risk, and how sure that is",
    ],
    [
      isSample ? linkTo("agent", { id: SAMPLE_AGENT }) : linkTo("agents", { order: "-outcomes" }),
      look,
      "what each feature adds to its score; ask for a verdict with “Ask now”",
    ],
    [
      linkTo("decisions"),
      "Follow a decision",
      "from the row that was read to the rule that decided",
    ],
    [
      linkTo("policy"),
      "Draw another bound",
      "and see what it would have let through, before it is saved",
    ],
    [linkTo("keys"), "Make a key", "for your gateway, and one for whoever reports outcomes"],
  ];
}

function Tour({ onDismiss }: { onDismiss: () => void }): VNode {
  // Without an answer nothing is said about a sample.
  const { value } = usePolledData(
    (signal) =>
      getDocument<{ total: number }>("/v1/agents", { prefix: SAMPLE_AGENT, limit: 0 }, signal),
    TOUR_EVERY_MS,
  );
  const isSample = value !== undefined && value.total > 0;
  const close = html`<button type="button" class="small" onClick=${onDismiss}>Dismiss</button>`;
  return html`<${Card} title="Your first minutes" tools=${close}>
    <p>
      ${
        isSample
          ? html`A first start loads a sample history: some 5,000 outcomes of 120 days between
              agents of a few made-up companies. Start with <code>--no-sample</code> over an empty
              data directory for your own.`
          : "Scores come of outcomes that are reported, verdicts of scores. Five steps show how."
      }
    </p>
    <ol class="tour">
      ${listTourSteps(isSample).map(
        ([href, words, what]) =>
          html`<li>
            <a href=${href}>${words}</a>
            <span class="dim small">${what}</span>
          </li>`,
      )}
    </ol>
  <//>`;
}

const LATEST = "/v1/decisions?limit=14";
const LATEST_EVERY_MS = 5000;

const renderAnswer = ({ verdict, decision, disposition }: LoggedLeg) =>
  html`<${AnswerTag} word=${verdict ?? decision} disposition=${disposition} />`;

const COLUMNS: readonly Column<LoggedLeg>[] = [
  { label: "at", isExtra: true, cell: (row) => html`<${Time} at=${row.evaluated_at} />` },
  { label: "agent", cell: (row) => html`<${AgentLink} id=${row.subject} />` },
  {
    label: "asked",
    cell: (row) =>
      html`<a href=${linkTo("decision", { id: row.request_id })}
        >${row.kind} ${row.tool_level} ${row.action}</a
      >`,
  },
  { label: "answer", cell: renderAnswer },
  {
    label: "score, points",
    isNumber: true,
    isExtra: true,
    cell: (row) => formatNumber(row.internal_score),
  },
  {
    label: "risk of failure",
    isNumber: true,
    isExtra: true,
    cell: (row) => formatPercent(row.failure_probability),
  },
  {
    label: "reasons",
    isLong: true,
    isExtra: true,
    cell: (row) => html`<span class="dim">${row.reason_codes.join(", ")}</span>`,
  },
];

/** Whose figures these are: a sum is called so. */
function describeScope(): string {
  if (hasAnyScope()) return "What happens now, all tenants together.";
  return "What happens now: live figures of all tenants together, decisions of your own.";
}

export default function OverviewPage(): VNode {
  const { value, error, reload } = usePolledData(
    (signal) => getDocument<{ decisions: LoggedLeg[] }>(LATEST, {}, signal),
    LATEST_EVERY_MS,
  );
  const [isTouring, showTour] = useTour();
  const tools =
    !isTouring &&
    html`<button type="button" class="small" onClick=${() => showTour(true)}>
      Show the tour
    </button>`;
  return html`<${Page} title="Overview" lead=${describeScope()} tools=${tools}>
    ${isTouring && html`<${Tour} onDismiss=${() => showTour(false)} />`}
    ${error !== undefined && html`<${Failure} error=${error} onRetry=${reload} />`}
    <${LiveCharts} />
    <${RecentCharts} />
    <${Card} title="Latest decisions">
      ${
        value === undefined
          ? html`<${Loading} />`
          : html`<${Table}
              label="latest decisions"
              columns=${COLUMNS}
              rows=${value.decisions}
              keyOf=${(row: LoggedLeg) => row.request_id}
              empty="No decisions yet: the first verify, check or handshake shows here."
            />`
      }
      <${CurlCommand} path=${LATEST} />
    <//>
  <//>`;
}
