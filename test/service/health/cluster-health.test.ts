// Readiness of a node by its place along the ordered log.
import { expect, test } from "vitest";
import {
  checkClusterLag,
  collectStreamMetrics,
  describeStream,
} from "../../../src/service/health/cluster-health.ts";
import { readMonotonicMs } from "../../../src/platform/moment.ts";
import { StreamMetrics } from "../../../src/stream/metrics.ts";

const NOW_MS = 1_700_000_000_000;

function figuresAt(lagMs: number, silentMs: number): StreamMetrics {
  const figures = new StreamMetrics();
  figures.applied = 7;
  figures.known = 9;
  figures.answeredMs = NOW_MS - silentMs;
  figures.setCaughtUpAt({ epochMs: NOW_MS - lagMs, monotonicMs: readMonotonicMs() });
  return figures;
}

test("alone, and up with the log, there is nothing to say", () => {
  const nothing = { reasons: [], warnings: [] };
  expect(checkClusterLag(undefined, NOW_MS)).toEqual(nothing);
  expect(checkClusterLag(figuresAt(5000, 0), NOW_MS)).toEqual(nothing);
});

test("a node behind is warned of, and not ready after 30 s", () => {
  const behind = (seconds: number) => `behind the cluster by ${seconds} s at message 7 of 9`;
  expect(checkClusterLag(figuresAt(6000, 0), NOW_MS).warnings).toEqual([behind(6)]);
  expect(checkClusterLag(figuresAt(30_000, 0), NOW_MS).reasons).toEqual([]);
  expect(checkClusterLag(figuresAt(31_000, 0), NOW_MS).reasons).toEqual([behind(31)]);
});

test("a log that does not answer is told with its time", () => {
  const { reasons } = checkClusterLag(figuresAt(31_000, 31_000), NOW_MS);
  const since = new Date(NOW_MS - 31_000).toISOString();
  expect(reasons).toEqual([`ordered log unreachable since ${since}: at message 7 of 9`]);
});

test("a node that never caught up is not ready", () => {
  const figures = new StreamMetrics();
  figures.answeredMs = NOW_MS;
  expect(checkClusterLag(figures, NOW_MS).reasons).toEqual([
    "behind the cluster at message 0 of 0",
  ]);
});

test("the state of a node is its place, its connection and whether somebody leads", () => {
  const figures = figuresAt(6000, 0);
  const link = { port: undefined as never, origin: "a:1", generation: 2 };
  const state = () => describeStream({ node: "a", link, figures }, NOW_MS);
  expect(state()).toEqual({
    node: "a",
    generation: 2,
    position: 7,
    lag_messages: 2,
    lag_ms: 6000,
    connected: false,
    leader_known: false,
    away_since: null,
  });
  figures.unavailableSinceMs = NOW_MS - 60_000;
  expect(state()?.away_since).toBe(new Date(NOW_MS - 60_000).toISOString());
  figures.setLedAt(readMonotonicMs());
  figures.setConnection({ isUp: true, lost: 3 });
  expect(state()).toMatchObject({ connected: true, leader_known: true });
  const ledMs = readMonotonicMs();
  figures.setLedAt(ledMs);
  expect([figures.hasLeader(ledMs + 4000), figures.hasLeader(ledMs + 4001)]).toEqual([true, false]);
  expect(describeStream(undefined, NOW_MS)).toBeUndefined();
  const fresh = { node: "a", link, figures: new StreamMetrics() };
  expect(describeStream(fresh, NOW_MS)).toMatchObject({ position: 0, lag_ms: null });
});

test("figures are what the stream thread has written, none without one", () => {
  const figures = figuresAt(1500, 0);
  figures.setConnection({ isUp: true, lost: 3 });
  figures.recordPublishMs(4);
  figures.recordPublishMs(40_000);
  figures.tablesDiffer = true;
  const told = collectStreamMetrics(new StreamMetrics(figures.memory), NOW_MS);
  expect(told).toMatchObject({
    stream_connected: 1,
    stream_leader_known: 0,
    stream_position: 7,
    stream_lag_messages: 2,
    stream_lag_seconds: 1.5,
    stream_reconnects_total: 3,
    stream_tables_differ: 1,
    stream_publish_duration_seconds: { sum: 40.004 },
  });
  expect(collectStreamMetrics(new StreamMetrics(), NOW_MS)).not.toHaveProperty(
    "stream_lag_seconds",
  );
  expect(collectStreamMetrics(undefined, NOW_MS)).toEqual({});
});
