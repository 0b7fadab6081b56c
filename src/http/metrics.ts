// Counters of the HTTP room and their Prometheus text. Recording is one array or member increment,
// no clock and no allocation: it happens on every request. Everything else is done on scrape.
import type { Decision, Verdict } from "../contract/vocabulary.ts";
import { DECISIONS, VERDICTS } from "../contract/vocabulary.ts";

const STATUS_FIRST = 100;
const STATUS_COUNT = 500;

/** What the composition root knows and a scrape wants; gauges become `trustrank_<name>`. */
export interface Vitals {
  configVersion: string;
  agents: number;
  gauges?: Readonly<Record<string, number>>;
}

export class Metrics {
  readonly verdicts: Record<Verdict, number> = { ALLOW: 0, CHALLENGE: 0, QUARANTINE: 0, BLOCK: 0 };
  readonly checks: Record<Decision, number> = noDecisions();
  readonly handshakes: Record<Decision, number> = noDecisions();
  aborted = 0;
  refusedFraming = 0;
  readonly #routeNames: readonly string[];
  readonly #requests: Float64Array;

  /** `routeNames` in order of their index; requests that match none are counted under the last. */
  constructor(routeNames: readonly string[]) {
    this.#routeNames = routeNames;
    this.#requests = new Float64Array(routeNames.length * STATUS_COUNT);
  }

  countRequest(routeIndex: number, status: number): void {
    const at = routeIndex * STATUS_COUNT + status - STATUS_FIRST;
    this.#requests[at] = (this.#requests[at] as number) + 1;
  }

  /** Prometheus text format 0.0.4. */
  render(inflight: number, vitals: Vitals | undefined): string {
    const lines = [...this.#requestLines()];
    lines.push(...decisionLines("verdicts", "verdict", VERDICTS, this.verdicts));
    lines.push(...decisionLines("check_decisions", "decision", DECISIONS, this.checks));
    lines.push(...decisionLines("handshake_decisions", "decision", DECISIONS, this.handshakes));
    lines.push(...single("http_aborted_total", "counter", this.aborted));
    lines.push(...single("http_framing_refused_total", "counter", this.refusedFraming));
    lines.push(...single("http_inflight", "gauge", inflight));
    if (vitals !== undefined) {
      lines.push(...single("agents", "gauge", vitals.agents));
      lines.push("# TYPE trustrank_config_info gauge");
      lines.push(`trustrank_config_info{version="${escapeLabel(vitals.configVersion)}"} 1`);
      for (const [name, value] of Object.entries(vitals.gauges ?? {})) {
        lines.push(...single(name, "gauge", value));
      }
    }
    return `${lines.join("\n")}\n`;
  }

  *#requestLines(): Generator<string> {
    yield "# TYPE trustrank_http_requests_total counter";
    for (const [routeIndex, route] of this.#routeNames.entries()) {
      for (let slot = 0; slot < STATUS_COUNT; slot += 1) {
        const count = this.#requests[routeIndex * STATUS_COUNT + slot] as number;
        if (count === 0) continue;
        const labels = `route="${route}",status="${slot + STATUS_FIRST}"`;
        yield `trustrank_http_requests_total{${labels}} ${count}`;
      }
    }
  }
}

function noDecisions(): Record<Decision, number> {
  return { connect: 0, connect_with_verification: 0, escalate: 0, refuse: 0 };
}

function decisionLines<Word extends string>(
  name: string,
  label: string,
  words: readonly Word[],
  counts: Readonly<Record<Word, number>>,
): string[] {
  const metric = `trustrank_${name}_total`;
  const lines = words.map((word) => `${metric}{${label}="${word}"} ${counts[word]}`);
  return [`# TYPE ${metric} counter`, ...lines];
}

function single(name: string, type: "counter" | "gauge", value: number): string[] {
  return [`# TYPE trustrank_${name} ${type}`, `trustrank_${name} ${value}`];
}

function escapeLabel(text: string): string {
  return text.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n");
}
