// bench -- cache in smoke mode: it cannot rot, its last line stays one JSON object, and the cache it
// measures never answers wrongly.
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, it } from "vitest";

it("bench -- cache", async () => {
  const flags = ["--disable-warning=ExperimentalWarning", "bench/cache.ts", "--smoke"];
  const { stdout } = await promisify(execFile)(process.execPath, flags);
  const report = JSON.parse(stdout) as Record<string, number> & {
    workloads: {
      hit_rate: number;
      steady_rate: number;
      expected_rate?: number;
      wrong_answers: number;
      requests: number;
      paid_reads: number;
    }[];
    levels: { has_refresh: boolean; waiting_share: number; wrong_answers: number }[];
  };
  expect(stdout.trimEnd().split("\n")).toHaveLength(1);
  const agreeing = report.workloads.filter(({ expected_rate }) => expected_rate !== undefined);
  expect(agreeing.length).toBeGreaterThan(1);
  for (const { steady_rate, expected_rate = 0 } of agreeing) {
    expect(Math.abs(steady_rate - expected_rate)).toBeLessThan(0.02);
  }
  for (const { hit_rate, wrong_answers, requests, paid_reads } of report.workloads) {
    expect(wrong_answers).toBe(0);
    expect(hit_rate).toBeGreaterThan(0);
    expect(paid_reads).toBeLessThan(requests);
  }
  const waiting = (isRefreshed: boolean) =>
    report.levels
      .filter(({ has_refresh }) => has_refresh === isRefreshed)
      .reduce((sum, { waiting_share }) => sum + waiting_share, 0);
  expect(report.levels.map(({ wrong_answers }) => wrong_answers)).toEqual([0, 0, 0, 0]);
  expect(waiting(true)).toBeLessThan(waiting(false));
  expect(report["ns_per_cached_check"]).toBeGreaterThan(0);
});
