// Answers of the last minutes by the second: verdicts let through and denied, and how long they took.
import { duration, number } from "../../format.ts";
import { html, type VNode } from "../../html.ts";
import { linkTo, useParameters } from "../../location.ts";
import { AsCurl } from "../../parts/actions.ts";
import { Chart } from "../../parts/chart.ts";
import { Empty, Failure, Loading } from "../../parts/notices.ts";
import { Card, Figure, Figures, Grid } from "../../parts/page.ts";
import { Standing } from "./standing.ts";
import { takeLastSeconds, rates, type Seconds, SERIES, useSeries } from "../../series.ts";

/** Minutes by their name in the address. */
const RANGES: Readonly<Record<string, number>> = { "1m": 60, "5m": 300, "15m": 900 };
const RANGE_DEFAULT = "5m";
/** The bound of the alert on slow verdicts, drawn where it is near. */
const SLOW_MS = 10;

export function Live(): VNode {
  const { value, error, reload } = useSeries();
  const [{ range = RANGE_DEFAULT }, set] = useParameters();
  const seconds = RANGES[range] ?? RANGES[RANGE_DEFAULT]!;
  const choice = html`<select
    aria-label="time range"
    value=${range}
    onChange=${(event: Event) => set({ range: (event.target as HTMLSelectElement).value })}
  >
    ${Object.entries(RANGES).map(
      ([name, length]) => html`<option value=${name}>last ${number(length / 60)} min</option>`,
    )}
  </select>`;
  if (value === undefined) {
    return html`<${Card} title="Now" tools=${choice}>
      ${error === undefined ? html`<${Loading} />` : html`<${Failure} error=${error} onRetry=${reload} />`}
    <//>`;
  }
  return html`${error !== undefined && html`<${Failure} error=${error} onRetry=${reload} />`}
    <${Seen} series=${takeLastSeconds(value, seconds)} span=${seconds} choice=${choice} />`;
}

interface SeenProps {
  readonly series: Seconds;
  /** Seconds. */
  readonly span: number;
  readonly choice: VNode;
}

function Seen({ series, span, choice }: SeenProps): VNode {
  const at = series.at.map((time) => Date.parse(time) / 1000);
  const lines = [
    { label: "let through", color: "allow", values: rates(series, "let_through") },
    { label: "denied", color: "deny", values: rates(series, "denied") },
  ];
  return html`<${Totals} series=${series} />
    <${Grid}>
      <${Card} title="Answers a second" span=${7} tools=${choice}>
        ${
          at.length === 0
            ? html`<${Empty}>The first point comes within two seconds.<//>`
            : html`<${Chart}
                title="Answers a second"
                at=${at}
                lines=${lines}
                span=${span}
                say=${number}
              />`
        }
        <${AsCurl} path=${SERIES} />
      <//>
      <${Card} title="Time of an answer" span=${5}>
        <${Latency} series=${series} at=${at} span=${span} />
      <//>
    <//>`;
}

function Totals({ series }: { series: Seconds }): VNode {
  const sum = (values: readonly (number | null)[]) =>
    values.reduce<number>((total, value) => total + (value ?? 0), 0);
  const since = series.at[0];
  return html`<${Figures}>
    <${Figure}
      label="let through"
      tone="allow"
      value=${number(sum(series.let_through))}
      note="in this time"
      href=${linkTo("decisions", { effective: "allow", since })}
    />
    <${Figure}
      label="denied"
      tone="deny"
      value=${number(sum(series.denied))}
      note="in this time"
      href=${linkTo("decisions", { effective: "deny", since })}
    />
    <${Figure} label="p99 of an answer" value=${duration(newest(series.p99_ms))} note="last seen" />
    <${Figure}
      label="SQL is behind"
      value=${number(series.store_lag_records.at(-1))}
      note="records"
      href=${linkTo("health")}
    />
    <${Standing} />
  <//>`;
}

interface LatencyProps {
  readonly series: Seconds;
  readonly at: readonly number[];
  readonly span: number;
}

function Latency({ series, at, span }: LatencyProps): VNode {
  if (newest(series.p99_ms) === undefined) {
    return html`<${Empty}
      >Nothing was asked in this time: verify, check and handshake are timed.<//
    >`;
  }
  const worst = Math.max(0, ...series.p99_ms.map((value) => value ?? 0));
  const lines = [
    { label: "p50", color: "accent", values: series.p50_ms, isDots: true },
    { label: "p99", color: "warn", values: series.p99_ms, isDots: true },
  ];
  return html`<${Chart}
    title="Time of an answer"
    at=${at}
    lines=${lines}
    span=${span}
    limits=${worst > SLOW_MS / 4 ? [{ label: "slow", value: SLOW_MS }] : []}
    say=${duration}
  />`;
}

function newest(values: readonly (number | null)[]): number | undefined {
  return values.findLast((value) => value !== null) ?? undefined;
}
