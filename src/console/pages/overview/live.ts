// Live charts: verdicts per second, latency, open reviews and number of agents.
import { formatDuration, formatNumber } from "../../format.ts";
import { html, type VNode } from "../../html.ts";
import { linkTo, usePageParameters } from "../../location.ts";
import { CurlCommand } from "../../parts/actions.ts";
import { Chart } from "../../parts/chart.ts";
import { Empty, Failure, Loading } from "../../parts/notices.ts";
import { Card, MetricTile, MetricTiles, Grid } from "../../parts/page.ts";
import {
  takeLastSeconds,
  computeRatesPerSecond,
  type SecondSeries,
  SERIES_PATH,
  useServiceSeries,
} from "../../series.ts";
import { getDocument } from "../../api.ts";
import { usePolledData } from "../../use-data.ts";

/** Minutes by their name in the address. */
const RANGE_SECONDS: Readonly<Record<string, number>> = { "1m": 60, "5m": 300, "15m": 900 };
const RANGE_DEFAULT = "5m";
/** The bound of the alert on slow verdicts, drawn where it is near. */
const SLOW_MS = 10;

export function LiveCharts(): VNode {
  const { value, error, reload } = useServiceSeries();
  const [{ range = RANGE_DEFAULT }, set] = usePageParameters();
  const seconds = RANGE_SECONDS[range] ?? RANGE_SECONDS[RANGE_DEFAULT]!;
  const choice = html`<select
    aria-label="time range"
    value=${range}
    onChange=${(event: Event) => set({ range: (event.target as HTMLSelectElement).value })}
  >
    ${Object.entries(RANGE_SECONDS).map(
      ([name, length]) =>
        html`<option value=${name}>last ${formatDuration(length * 1000)}</option>`,
    )}
  </select>`;
  if (value === undefined) {
    return html`<${Card} title="Now" tools=${choice}>
      ${error === undefined ? html`<${Loading} />` : html`<${Failure} error=${error} onRetry=${reload} />`}
    <//>`;
  }
  return html`${error !== undefined && html`<${Failure} error=${error} onRetry=${reload} />`}
    <${LiveContent} series=${takeLastSeconds(value, seconds)} span=${seconds} choice=${choice} />`;
}

interface LiveContentProps {
  readonly series: SecondSeries;
  /** Seconds. */
  readonly span: number;
  readonly choice: VNode;
}

function LiveContent({ series, span, choice }: LiveContentProps): VNode {
  const at = series.at.map((time) => Date.parse(time) / 1000);
  const lines = [
    { label: "allowed", color: "allow", values: computeRatesPerSecond(series, "let_through") },
    {
      label: "held (step-up, person) or refused",
      color: "accent",
      values: computeRatesPerSecond(series, "denied"),
    },
  ];
  return html`<${LiveMetrics} series=${series} span=${span} />
    <${Grid}>
      <${Card} title="Verdicts per second" span=${7} tools=${choice}>
        ${
          at.length === 0
            ? html`<${Empty}>The first point comes within two seconds.<//>`
            : html`<${Chart}
                title="Verdicts per second"
                at=${at}
                lines=${lines}
                unit="verdicts per second"
                span=${span}
                say=${formatRate}
              />`
        }
        <${CurlCommand} path=${SERIES_PATH} />
      <//>
      <${Card} title="Response time" span=${5}>
        <${LatencyChart} series=${series} at=${at} span=${span} />
      <//>
    <//>`;
}

const formatRate = (value: number): string => formatNumber(value, 1);

function LiveMetrics({ series, span }: { series: SecondSeries; span: number }): VNode {
  const note = `verdicts of all tenants, last ${formatDuration(span * 1000)}`;
  const sum = (values: readonly (number | null)[]) =>
    values.reduce<number>((total, value) => total + (value ?? 0), 0);
  const since = series.at[0];
  return html`<${MetricTiles}>
    <${MetricTile}
      label="allowed"
      tone="allow"
      value=${formatNumber(sum(series.let_through))}
      note=${note}
      href=${linkTo("decisions", { effective: "allow", since })}
    />
    <${MetricTile}
      label="held or refused"
      value=${formatNumber(sum(series.denied))}
      note=${note}
      href=${linkTo("decisions", { effective: "deny", since })}
    />
    <${MetricTile}
      label="p99 response"
      value=${formatDuration(findNewestValue(series.p99_ms))}
      note="99 of 100 are faster"
    />
    <${MetricTile}
      label="SQL is behind"
      value=${formatNumber(series.store_lag_records.at(-1))}
      note="records of the journal"
      href=${linkTo("health")}
    />
    <${CurrentCounts} />
  <//>`;
}

interface LatencyChartProps {
  readonly series: SecondSeries;
  readonly at: readonly number[];
  readonly span: number;
}

function LatencyChart({ series, at, span }: LatencyChartProps): VNode {
  if (findNewestValue(series.p99_ms) === undefined) {
    return html`<${Empty}
      >Nothing was asked in this time: verify, check and handshake are timed.<//
    >`;
  }
  const worst = Math.max(0, ...series.p99_ms.map((value) => value ?? 0));
  const lines = [
    { label: "half take less (p50)", color: "accent", values: series.p50_ms, isDots: true },
    { label: "99 of 100 take less (p99)", color: "warn", values: series.p99_ms, isDots: true },
  ];
  return html`<${Chart}
    title="Response time"
    at=${at}
    lines=${lines}
    unit="response time, logarithmic"
    scale="log"
    span=${span}
    limits=${worst > SLOW_MS / 4 ? [{ label: `alert above ${formatDuration(SLOW_MS)}`, value: SLOW_MS }] : []}
    say=${formatDuration}
  />`;
}

function findNewestValue(values: readonly (number | null)[]): number | undefined {
  return values.findLast((value) => value !== null) ?? undefined;
}

const EVERY_MS = 15_000;

/** What a key may not see is left out; the figure says so by a dash. */
async function catchAsUndefined<Value>(asked: Promise<Value>): Promise<Value | undefined> {
  return asked.catch(() => undefined);
}

async function loadCurrentCounts(signal: AbortSignal) {
  const queue = { state: "open", limit: 1 };
  const [open, agents] = await Promise.all([
    catchAsUndefined(getDocument<{ total: number }>("/v1/reviews", queue, signal)),
    catchAsUndefined(getDocument<{ total: number }>("/v1/agents", { limit: 0 }, signal)),
  ]);
  return { open: open?.total, agents: agents?.total };
}

export function CurrentCounts(): VNode {
  const { value: { open, agents } = {} } = usePolledData(loadCurrentCounts, EVERY_MS);
  return html`
    <${MetricTile}
      label="open reviews"
      value=${formatNumber(open)}
      note="cases for a person"
      tone=${(open ?? 0) > 0 ? "warn" : undefined}
      href=${linkTo("reviews")}
    />
    <${MetricTile}
      label="agents"
      value=${formatNumber(agents)}
      note="agents on record"
      href=${linkTo("agents")}
    />
  `;
}
