// Figures of a scrape: threads added up, histograms cumulated, verdicts in their cells.
import { expect, test } from "vitest";
import {
  REASON_CLASSES,
  POLICY_LABELS,
  TOOL_LEVELS,
  VERDICTS,
} from "../../../src/contract/vocabulary.ts";
import { buildMetricFamilies, addThreadValues } from "../../../src/http/metrics/metric-values.ts";
import { RequestRecorder } from "../../../src/http/metrics/recorder.ts";
import { collectRequestMetrics } from "../../../src/http/metrics/scrape.ts";
import {
  REASON_CLASS_BY_LABEL,
  VERDICT_CELL_COUNT,
  computeVerdictCell,
  decodeVerdictCell,
} from "../../../src/http/metrics/verdict-cells.ts";

const familyOf = (figures: Parameters<typeof buildMetricFamilies>[0], name: string) =>
  buildMetricFamilies(figures).find((each) => each.name === `trustrank_${name}`)!;

test("requests of several threads are added by route, status and time", () => {
  const routes = ["verify", "unmatched"];
  const threads = [new RequestRecorder(routes), new RequestRecorder(routes)] as const;
  for (const metrics of threads) {
    metrics.countRequest(0, 200);
    metrics.timeRequest(0, 200, 0.2);
    metrics.countRequest(1, 404);
  }
  threads[1].timeRequest(0, 503, 20_000);
  const counts = threads.map((metrics) => metrics.counts(3));
  const figures = collectRequestMetrics(routes, counts);
  expect(figures.http_requests_total).toEqual([
    { labels: ["verify", "200"], value: 2 },
    { labels: ["unmatched", "404"], value: 2 },
  ]);
  expect(figures.http_inflight).toBe(6);
  const { samples } = familyOf(figures, "http_request_duration_seconds");
  const of = (statusClass: string, suffix: string, le?: string) =>
    samples.find(
      ({ labels, suffix: own }) =>
        labels["status_class"] === statusClass && own === suffix && labels["le"] === le,
    )!.value;
  expect(of("2xx", "_bucket", "0.0001")).toBe(0);
  expect(of("2xx", "_bucket", "0.00025")).toBe(2);
  expect(of("2xx", "_bucket", "+Inf")).toBe(2);
  expect(of("2xx", "_sum")).toBeCloseTo(0.0004);
  expect(of("5xx", "_bucket", "10")).toBe(0);
  expect([of("5xx", "_bucket", "+Inf"), of("5xx", "_count")]).toEqual([1, 1]);
});

test("figures of further threads are added to those of the main one", () => {
  const durations = { buckets: [1, 2], sum: 3 };
  const added = { outcomes_pending: 4, journal_append_duration_seconds: durations };
  const all = addThreadValues({ outcomes_pending: 1, agents: 7 }, [added, added]);
  expect(all).toEqual({
    agents: 7,
    outcomes_pending: 9,
    journal_append_duration_seconds: { buckets: [2, 4], sum: 6 },
  });
});

test("every label of the policy has a class, and every cell its own labels", () => {
  expect(Object.keys(REASON_CLASS_BY_LABEL).toSorted()).toEqual(POLICY_LABELS.toSorted());
  const seen = new Set<string>();
  for (let cell = 0; cell < VERDICT_CELL_COUNT; cell++) seen.add(decodeVerdictCell(cell).join(" "));
  expect(seen.size).toBe(TOOL_LEVELS.length * VERDICTS.length * REASON_CLASSES.length);
  const action = { verdict: "QUARANTINE", log_reason: "SOURCE_REVOKED" } as const;
  const cell = computeVerdictCell("L2", action);
  expect(decodeVerdictCell(cell)).toEqual(["L2", "QUARANTINE", "provenance"]);
  const risky = { verdict: "CHALLENGE", log_reason: "RISK_ABOVE_BOUND" } as const;
  expect(decodeVerdictCell(computeVerdictCell("L3", risky))).toEqual(["L3", "CHALLENGE", "risk"]);
});
