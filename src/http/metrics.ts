// Counters of the HTTP layer and their Prometheus text. Recording is one array or member increment,
// no clock and no allocation: it happens on every request. Everything else is done on scrape, and
// there over all threads that serve.
import type { Decision, Verdict } from "../contract/vocabulary.ts";
import { DECISIONS, VERDICTS } from "../contract/vocabulary.ts";

import { Connections } from "./server/connections.ts";

const STATUS_FIRST = 100;
const STATUS_COUNT = 500;

/** Health figures of the service for a scrape; gauges become `trustrank_<name>`. */
export interface HealthFigures {
  configVersion: string;
  agents: number;
  gauges?: Readonly<Record<string, number>>;
}

/** Counts of one thread, as data that may cross to the thread that renders them. */
export interface MetricCounts {
  /** Index into the table of routes and statuses, count; only those that are not 0. */
  requests: [number, number][];
  verdicts: Record<Verdict, number>;
  checks: Record<Decision, number>;
  handshakes: Record<Decision, number>;
  aborted: number;
  refusedFraming: number;
  /** Asynchronous answers under way. */
  pending: number;
  /** Open connections and their bound; those refused or closed while idle for want of room. */
  connections: Pick<Connections, "open" | "max" | "refused" | "closedIdle">;
}

export class Metrics {
  readonly verdicts: Record<Verdict, number> = { ALLOW: 0, CHALLENGE: 0, QUARANTINE: 0, BLOCK: 0 };
  readonly checks: Record<Decision, number> = noDecisions();
  readonly handshakes: Record<Decision, number> = noDecisions();
  aborted = 0;
  refusedFraming = 0;
  /** Of the server that this thread runs. */
  connections = new Connections(0);
  readonly routeNames: readonly string[];
  readonly #requests: Float64Array;

  /** `routeNames` in order of their index; unmatched requests are counted under the last. */
  constructor(routeNames: readonly string[]) {
    this.routeNames = routeNames;
    this.#requests = new Float64Array(routeNames.length * STATUS_COUNT);
  }

  countRequest(routeIndex: number, status: number): void {
    const at = routeIndex * STATUS_COUNT + status - STATUS_FIRST;
    this.#requests[at] = (this.#requests[at] as number) + 1;
  }

  counts(pending: number): MetricCounts {
    const requests: [number, number][] = [];
    for (const [at, count] of this.#requests.entries()) if (count > 0) requests.push([at, count]);
    const { verdicts, checks, handshakes, aborted, refusedFraming } = this;
    const { open, max, refused, closedIdle } = this.connections;
    const connections = { open, max, refused, closedIdle };
    return {
      requests,
      verdicts,
      checks,
      handshakes,
      aborted,
      refusedFraming,
      pending,
      connections,
    };
  }
}

/** Prometheus text format 0.0.4, summed over the threads, which are in their order. */
export function renderMetrics(
  routeNames: readonly string[],
  threads: readonly MetricCounts[],
  health: HealthFigures | undefined,
): string {
  const sum = (pick: (counts: MetricCounts) => number) =>
    threads.reduce((total, counts) => total + pick(counts), 0);
  const lines = requestLines(routeNames, threads);
  const labelled = [
    decisionLines("verdicts", "verdict", VERDICTS, (word) => sum((each) => each.verdicts[word])),
    decisionLines("check_decisions", "decision", DECISIONS, (word) =>
      sum((each) => each.checks[word]),
    ),
    decisionLines("handshake_decisions", "decision", DECISIONS, (word) =>
      sum((each) => each.handshakes[word]),
    ),
  ];
  lines.push(...labelled.flat());
  lines.push(
    ...single(
      "http_aborted_total",
      "counter",
      sum((each) => each.aborted),
    ),
  );
  const refused = sum((each) => each.refusedFraming);
  lines.push(...single("http_framing_refused_total", "counter", refused));
  lines.push(
    ...single(
      "http_inflight",
      "gauge",
      sum((each) => each.pending),
    ),
  );
  lines.push(...connectionLines(threads));
  if (health !== undefined) {
    lines.push(...single("agents", "gauge", health.agents));
    lines.push("# TYPE trustrank_config_info gauge");
    lines.push(`trustrank_config_info{version="${escapeLabel(health.configVersion)}"} 1`);
    for (const [name, value] of Object.entries(health.gauges ?? {})) {
      lines.push(...single(name, "gauge", value));
    }
  }
  return `${lines.join("\n")}\n`;
}

function connectionLines(threads: readonly MetricCounts[]): string[] {
  const sum = (member: keyof MetricCounts["connections"]) =>
    threads.reduce((total, { connections }) => total + connections[member], 0);
  return [
    ...single("http_connections", "gauge", sum("open")),
    ...single("http_connections_max", "gauge", sum("max")),
    ...single("http_connections_refused_total", "counter", sum("refused")),
    ...single("http_connections_closed_idle_total", "counter", sum("closedIdle")),
  ];
}

/** Requests by route and status, and by thread: how evenly connections are distributed. */
function requestLines(routeNames: readonly string[], threads: readonly MetricCounts[]): string[] {
  const totals = new Map<number, number>();
  const byThread = threads.map(({ requests }) => {
    let ofThread = 0;
    for (const [at, count] of requests) {
      totals.set(at, (totals.get(at) ?? 0) + count);
      ofThread += count;
    }
    return ofThread;
  });
  const lines = ["# TYPE trustrank_http_requests_total counter"];
  for (const at of [...totals.keys()].toSorted((a, b) => a - b)) {
    const route = routeNames[Math.trunc(at / STATUS_COUNT)];
    const labels = `route="${route}",status="${(at % STATUS_COUNT) + STATUS_FIRST}"`;
    lines.push(`trustrank_http_requests_total{${labels}} ${totals.get(at)}`);
  }
  lines.push("# TYPE trustrank_http_thread_requests_total counter");
  for (const [thread, count] of byThread.entries()) {
    lines.push(`trustrank_http_thread_requests_total{thread="${thread}"} ${count}`);
  }
  return lines;
}

function noDecisions(): Record<Decision, number> {
  return { connect: 0, connect_with_verification: 0, escalate: 0, refuse: 0 };
}

function decisionLines<Word extends string>(
  name: string,
  label: string,
  words: readonly Word[],
  countOf: (word: Word) => number,
): string[] {
  const metric = `trustrank_${name}_total`;
  const lines = words.map((word) => `${metric}{${label}="${word}"} ${countOf(word)}`);
  return [`# TYPE ${metric} counter`, ...lines];
}

function single(name: string, type: "counter" | "gauge", value: number): string[] {
  return [`# TYPE trustrank_${name} ${type}`, `trustrank_${name} ${value}`];
}

function escapeLabel(text: string): string {
  return text.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n");
}
