// Readiness of a node by its place along the ordered log.
import { expect, test } from "vitest";
import { clusterHealth } from "../../../src/service/health/cluster-health.ts";
import { StreamFigures } from "../../../src/stream/figures.ts";

const NOW_MS = 1_700_000_000_000;

function figuresAt(lagMs: number, silentMs: number): StreamFigures {
  const figures = new StreamFigures();
  figures.applied = 7;
  figures.known = 9;
  figures.answeredMs = NOW_MS - silentMs;
  figures.caughtUp(NOW_MS - lagMs);
  return figures;
}

test("alone, and up with the log, there is nothing to say", () => {
  const nothing = { reasons: [], warnings: [] };
  expect(clusterHealth(undefined, NOW_MS)).toEqual(nothing);
  expect(clusterHealth(figuresAt(5000, 0), NOW_MS)).toEqual(nothing);
});

test("a node behind is warned of, and not ready after 30 s", () => {
  const behind = (seconds: number) => `behind the cluster by ${seconds} s at message 7 of 9`;
  expect(clusterHealth(figuresAt(6000, 0), NOW_MS).warnings).toEqual([behind(6)]);
  expect(clusterHealth(figuresAt(30_000, 0), NOW_MS).reasons).toEqual([]);
  expect(clusterHealth(figuresAt(31_000, 0), NOW_MS).reasons).toEqual([behind(31)]);
});

test("a log that does not answer is told with its time", () => {
  const { reasons } = clusterHealth(figuresAt(31_000, 31_000), NOW_MS);
  const since = new Date(NOW_MS - 31_000).toISOString();
  expect(reasons).toEqual([`ordered log unreachable since ${since}: at message 7 of 9`]);
});

test("a node that never caught up is not ready", () => {
  const figures = new StreamFigures();
  figures.answeredMs = NOW_MS;
  expect(clusterHealth(figures, NOW_MS).reasons).toEqual(["behind the cluster at message 0 of 0"]);
});
