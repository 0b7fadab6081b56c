// The benches of kaizen in smoke mode: they cannot rot, and their last line says what is asked.
import { execFile } from "node:child_process";
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";

const run = promisify(execFile);

async function lastLine(script: string, ...args: string[]): Promise<unknown> {
  const flags = ["--disable-warning=ExperimentalWarning", script, ...args];
  const { stdout } = await run(process.execPath, flags, { maxBuffer: 1e7 });
  return JSON.parse(stdout.trimEnd().split("\n").at(-1)!);
}

test("bench -- kaizen-fit times two fits that agree", async () => {
  const { fits } = (await lastLine("bench/kaizen-fit.ts", "--rows", "600")) as {
    fits: { rows: number; largest_coefficient: number; largest_gap: number }[];
  };
  expect(fits).toHaveLength(1);
  expect(fits[0]!.rows).toBe(600);
  expect(fits[0]!.largest_coefficient).toBeGreaterThan(0.1);
  expect(fits[0]!.largest_gap).toBeLessThan(1e-6);
});

test("bench -- kaizen measures in turns, over runs that test something", async () => {
  const flags = ["--rows", "4000", "--seconds", "1", "--rounds", "1", "--rate", "300"];
  const report = (await lastLine("bench/kaizen-million.ts", ...flags)) as {
    rows: number;
    sides: { gates: number }[];
    load: { quiet: object[]; during: object[]; errors: number };
  };
  expect(report.rows).toBe(4000);
  expect(report.sides.map(({ gates }) => gates)).toEqual([11, 11]);
  expect(report.load.quiet).toHaveLength(1);
  expect(report.load.during).toHaveLength(1);
  expect(report.load.errors).toBe(0);
});

test("eval:kaizen walks a stream day by day as the service would", async () => {
  const rows = Array.from({ length: 420 }, (_, i) => {
    const seconds = 1_600_000_000 + i * 3600;
    return `r${i % 37},s${i % 23},${i % 5 === 0 ? -1 : 2},${seconds}`;
  });
  const file = join(mkdtempSync(join(tmpdir(), "eval-kaizen-")), "stream.csv");
  writeFileSync(file, rows.join("\n"));
  const flags = ["--file", file, "--seeds", "earliest", "--lag-days", "1", "--quiet"];
  const report = (await lastLine("bench/eval-kaizen.ts", ...flags)) as {
    runs: number;
    handshake: {
      live_log_loss: number;
      no_refit_log_loss: number;
      successes: number;
      slices: { slice: string; rows: number; observed: number; off_by: number }[];
    };
    tests: { kind: string }[];
  };
  expect(report.runs).toBe(2);
  expect(report.handshake.successes).toBe(336);
  expect(report.handshake.live_log_loss).toBeGreaterThan(0);
  expect(report.handshake.no_refit_log_loss).toBeGreaterThan(0);
  const [all, ...others] = report.handshake.slices;
  expect(all).toMatchObject({ slice: "all", rows: 84, observed: expect.closeTo(0.2, 1) });
  expect(others.every(({ off_by }) => off_by >= 1)).toBe(true);
  expect(report.tests.every(({ kind }) => kind === "calibration")).toBe(true);
});
