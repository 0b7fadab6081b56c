// The last minutes by the second: differences of counts, their quantiles, and the ring's bound.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { RequestRecorder } from "../../../src/http/metrics/recorder.ts";
import {
  computeQuantileMs,
  SeriesBuffer,
  SERIES_POINTS_MAX,
} from "../../../src/http/metrics/series.ts";
import { DURATION_BOUNDS_SEC } from "../../../src/platform/histogram.ts";

const START_MS = 1_700_000_000_000;
const IDLE = { outcomes: 0, lagRecords: 0 };
const ALLOWED = { verdict: "ALLOW", log_reason: "TRUST_SUFFICIENT" } as never;
const BLOCKED = { verdict: "BLOCK", log_reason: "THIN_FILE" } as never;

describe("series", () => {
  it("begins with what is counted after the first look, and adds up the threads", () => {
    const threads = [
      new RequestRecorder(["verify", "usage"]),
      new RequestRecorder(["verify", "usage"]),
    ];
    const [one, other] = threads as [RequestRecorder, RequestRecorder];
    const series = new SeriesBuffer();
    const take = (second: number, sampled = IDLE) =>
      series.take(
        START_MS + second * 1000,
        threads.map((each) => each.pulse()),
        sampled,
      );
    one.tallies.countVerdict("L1", ALLOWED);
    take(0, { outcomes: 5, lagRecords: 0 });
    expect(series.read(0).at).toEqual([]);
    one.tallies.countVerdict("L1", ALLOWED);
    other.tallies.countVerdict("L3", BLOCKED);
    other.tallies.checks.connect_with_verification += 1;
    other.tallies.handshakes.refuse += 2;
    other.tallies.countFault("rate_limited");
    one.tallies.refuseOutcome("unknown_agent" as never);
    one.timeRequest(0, 200, 2);
    // Not of a route whose latency is told.
    one.timeRequest(1, 200, 900);
    take(1, { outcomes: 8, lagRecords: 4 });
    take(3, { outcomes: 8, lagRecords: 0 });
    const read = series.read(0);
    expect(read).toMatchObject({
      at: [new Date(START_MS + 1000).toISOString(), new Date(START_MS + 3000).toISOString()],
      span_ms: [1000, 2000],
      let_through: [2, 0],
      denied: [3, 0],
      verdicts: { ALLOW: [1, 0], CHALLENGE: [0, 0], BLOCK: [1, 0] },
      decisions: { connect_with_verification: [1, 0], refuse: [2, 0] },
      denials_by_reason: { thin_file: [1, 0], sufficient: [0, 0] },
      outcomes: [3, 0],
      outcomes_refused: [1, 0],
      problems: [1, 0],
      store_lag_records: [4, 0],
    });
    expect(read.p50_ms[1]).toBeNull();
    // 2 ms lies in the bucket from 1 to 2.5 ms.
    expect(read.p50_ms[0]).toBe(1.75);
    expect(read.whole.latency_counts.reduce((sum, count) => sum + count, 0)).toBe(1);
    expect(series.read(START_MS + 1000).at).toEqual(read.at.slice(1));
  });

  it("keeps fifteen minutes and no more, oldest first", () => {
    const metrics = new RequestRecorder(["check"]);
    const series = new SeriesBuffer();
    const last = SERIES_POINTS_MAX + 50;
    for (let second = 0; second <= last; second++) {
      metrics.tallies.checks.connect += second;
      series.take(START_MS + second * 1000, [metrics.pulse()], IDLE);
    }
    const { let_through: counts, at } = series.read(0);
    expect(counts).toHaveLength(SERIES_POINTS_MAX);
    expect([counts[0], counts.at(-1)]).toEqual([last - SERIES_POINTS_MAX + 1, last]);
    expect(at.toSorted()).toEqual(at);
  });

  it("has no count below 0 when a clock or a count goes back", () => {
    const series = new SeriesBuffer();
    const metrics = new RequestRecorder(["check"]);
    metrics.tallies.checks.connect = 9;
    series.take(START_MS, [metrics.pulse()], IDLE);
    series.take(START_MS - 5000, [new RequestRecorder(["check"]).pulse()], IDLE);
    expect(series.read(0)).toMatchObject({ let_through: [0], span_ms: [0] });
  });

  it("quantiles lie in the bucket of the value of that rank", () => {
    const cells = fc.array(fc.nat(50), {
      minLength: DURATION_BOUNDS_SEC.length + 1,
      maxLength: DURATION_BOUNDS_SEC.length + 1,
    });
    fc.assert(
      fc.property(cells, fc.double({ min: 0.01, max: 1, noNaN: true }), (counts, quantile) => {
        const total = counts.reduce((sum, count) => sum + count, 0);
        const found = computeQuantileMs(counts, quantile);
        if (total === 0) {
          expect(found).toBeNull();
          return;
        }
        let below = 0;
        const bucket = counts.findIndex((count) => (below += count) >= quantile * total - 1e-9);
        const upper = (DURATION_BOUNDS_SEC[bucket] ?? DURATION_BOUNDS_SEC.at(-1)!) * 1000;
        const lower =
          (DURATION_BOUNDS_SEC[Math.min(bucket, DURATION_BOUNDS_SEC.length) - 1] ?? 0) * 1000;
        expect(found).toBeLessThanOrEqual(upper + 1e-3);
        expect(found).toBeGreaterThanOrEqual(lower - 1e-3);
      }),
    );
  });
});
