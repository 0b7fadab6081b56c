// bench -- cores: what it reads off the service's counters, what it calls the limit, and that a reading
// which no state explains is called torn.
import { expect, test } from "vitest";
import { byThread, type Evenness, evennessOf, limitOf } from "../../bench/cores/evenness.ts";
import { StateWatch, tornReads } from "../../bench/cores/torn-reads.ts";
import { lastLine } from "./_last-line.ts";

test("counters come in the order of threads", () => {
  const metrics = [
    'trustrank_http_thread_requests_total{thread="10"} 7',
    'trustrank_http_thread_requests_total{thread="2"} 5',
    'trustrank_http_thread_busy_seconds_total{thread="2"} 0.25',
    'trustrank_http_thread_requests_total{thread="0"} 3',
  ].join("\n");
  expect(byThread(metrics, "http_thread_requests_total")).toEqual([3, 5, 7]);
  expect(byThread(metrics, "http_thread_busy_seconds_total")).toEqual([0.25]);
});

test("evenness is between two marks", () => {
  const before = { atMs: 1000, requests: [10, 10], busySec: [1, 1], idleSec: 5 };
  const after = { atMs: 3000, requests: [160, 60], busySec: [2.9, 1.5], idleSec: 6 };
  expect(evennessOf(before, after, 4)).toEqual({
    requests: [150, 50],
    most_to_mean: 1.5,
    least_to_mean: 0.5,
    busy: [0.95, 0.25],
    machine_idle: 0.125,
  });
});

test.each<[number[], number, string]>([
  [[0.95, 0.93], 0.5, "HTTP threads"],
  [[0.95, 0.93], 0.01, "HTTP threads"],
  [[0.6, 0.6], 0.01, "cores"],
  [[0.95, 0.3], 0.4, "skew of connections"],
  [[0.5, 0.5], 0.4, "callers"],
])("threads %j busy, machine %s idle: %s", (busy, machine_idle, limit) => {
  const evenness: Evenness = {
    requests: [1, 1],
    most_to_mean: 1,
    least_to_mean: 1,
    busy,
    machine_idle,
  };
  expect(limitOf(evenness)).toBe(limit);
});

test("a reading is torn when no state explains it, and backwards when only an earlier one does", () => {
  const watch = new StateWatch(["a", "b", "a", "c"]);
  for (const state of ["a", "b", "a"]) watch.see(state);
  expect(watch).toMatchObject({ readings: 3, torn: 0, backwards: 0, statesSeen: 2 });
  watch.see("c");
  // The state came twice, and both times before.
  watch.see("a");
  expect(watch).toMatchObject({ torn: 0, backwards: 1 });
  watch.see("half of a, half of b");
  expect(watch).toMatchObject({ readings: 6, torn: 1, backwards: 1, statesSeen: 3 });
});

test("no reading beside a writer that folds and grows the table is torn", async () => {
  const found = await tornReads(2, 0, 60_000);
  expect(found).toMatchObject({ passes: 1, folds: 60_000, torn: 0, backwards: 0 });
  expect(found.readings).toBeGreaterThan(1000);
  expect(found.states_seen).toBeGreaterThan(1);
});

test("bench -- cores: every thread's answers are counted", async () => {
  const report = await lastLine("bench/cores.ts", "--smoke", "--generator", "autocannon");
  const rows = report["rows"] as { threads: number; by_thread: number[]; errors: number }[];
  expect(rows.map(({ threads }) => threads)).toEqual([1, 2]);
  for (const { threads, by_thread, errors } of rows) {
    expect(by_thread).toHaveLength(threads);
    expect(Math.min(...by_thread)).toBeGreaterThan(0);
    expect(errors).toBe(0);
  }
  expect(report["torn_reads"]).toMatchObject({ torn: 0, backwards: 0 });
});
