// The last day: decisions by the minute, and why some were denied, each reason with the decisions behind it.
import { querySql } from "../../api.ts";
import { formatNumber } from "../../format.ts";
import { html, useMemo, type VNode } from "../../html.ts";
import { linkTo } from "../../location.ts";
import { type Bar, Bars } from "../../parts/bars.ts";
import { Chart } from "../../parts/chart.ts";
import { Empty, Failure, Loading } from "../../parts/notices.ts";
import { Card, Grid } from "../../parts/page.ts";
import { usePolledData } from "../../use-data.ts";

interface DenialReasonRow {
  /** Rule that decided; null where the score alone did. */
  readonly reason: string | null;
  readonly decision: string;
  readonly denials: number;
}

interface MinuteRow {
  /** Epoch seconds. */
  readonly at: number;
  readonly allowed: number;
  readonly denied: number;
}

const EVERY_MS = 30_000;
const MINUTE_SEC = 60;
/** Minutes that are drawn at least, so that the first decisions are not all there is to see. */
const MINUTES_MIN = 30;

const REASONS_SQL = `SELECT nullif(log_reason, '') AS reason, if(coalesce(log_reason, '') = '', decision, '') AS decision,
count(*)::INTEGER AS denials FROM decisions
WHERE effective = 'deny' AND evaluated_at > now()::TIMESTAMP - INTERVAL 1 DAY
GROUP BY 1, 2 ORDER BY 3 DESC LIMIT 8`;
const MINUTES_SQL = `SELECT epoch(date_trunc('minute', evaluated_at))::INTEGER AS at,
(count(*) FILTER (effective = 'allow'))::INTEGER AS allowed,
(count(*) FILTER (effective = 'deny'))::INTEGER AS denied
FROM decisions WHERE evaluated_at > now()::TIMESTAMP - INTERVAL 1 DAY GROUP BY 1 ORDER BY 1`;

export function RecentCharts(): VNode {
  const { value, error, reload } = usePolledData(async (signal) => {
    const [reasons, minutes] = await Promise.all([
      querySql<DenialReasonRow>(REASONS_SQL, signal),
      querySql<MinuteRow>(MINUTES_SQL, signal),
    ]);
    return { reasons, minutes };
  }, EVERY_MS);
  if (value === undefined) {
    if (error === undefined) return html`<${Loading} />`;
    return html`<${Failure} error=${error} onRetry=${reload} />`;
  }
  return html`${error !== undefined && html`<${Failure} error=${error} onRetry=${reload} />`}
    <${Grid}>
      <${Card} title="Decisions a minute, one day" span=${7}>
        <${DecisionsByMinute} minutes=${value.minutes} />
      <//>
      <${Card} title="Denials by reason, one day" span=${5}>
        <${Bars} bars=${value.reasons.map(buildReasonBar)} empty="No denials in the last day." />
      <//>
    <//>`;
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
  const lines = [
    { label: "let through", color: "allow", values: drawn.map(({ allowed }) => allowed) },
    { label: "denied", color: "deny", values: drawn.map(({ denied }) => denied) },
  ];
  return html`<${Chart}
    title="Decisions a minute"
    at=${drawn.map(({ at }) => at)}
    lines=${lines}
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
    all.push(known.get(at) ?? { at, allowed: 0, denied: 0 });
  }
  return all;
}
