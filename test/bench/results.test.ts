// RESULTS.md: the places of figures, and the tables that are put there from what suites have printed.
import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { execFile } from "node:child_process";
import { tmpdir } from "node:os";
import path from "node:path";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { hasPlace, withFigures } from "../../bench/results/marks.ts";
import { figuresOf } from "../../bench/results/tables.ts";

const PAGE = "before\n<!-- figures: http -->\nold\n<!-- end: http -->\nafter\n";
const same = (value: number) => ({ median: value, p10: value, p90: value });

it("replaces what stands between a suite's marks, and nothing else", () => {
  const once = withFigures(PAGE, "http", "| new |");
  expect(once).toBe("before\n<!-- figures: http -->\n\n| new |\n\n<!-- end: http -->\nafter\n");
  expect(withFigures(once, "http", "| new |")).toBe(once);
  expect(hasPlace(PAGE, "path")).toBe(false);
  expect(() => withFigures(PAGE, "path", "")).toThrow(/no place for `path`/);
});

it("has a place in RESULTS.md for each suite that it tables", () => {
  const page = readFileSync("bench/RESULTS.md", "utf8");
  const suites = ["http", "path", "pool", "tail", "cores", "growth"];
  expect(suites.filter((suite) => !hasPlace(page, suite))).toEqual([]);
});

it("tells the machine, the day and the rounds, and every side with its spread", () => {
  const row = {
    per_second: { median: 93_370, p10: 90_000, p90: 94_000 },
    throughput_ratio: same(0.637),
    cpu_us: same(10.6),
    cpu_ratio: same(1.61),
    user_us: same(4.8),
    system_us: same(5.9),
    p99_ms: same(1.6),
  };
  const report = {
    bench: "http",
    machine: "2 x CPU",
    rounds: 12,
    seconds: 2,
    sides: { allowed: row },
  };
  const figures = figuresOf(report, "2026-11-22")!;
  expect(figures).toContain("2 x CPU; 2026-11-22; 12 rounds of 2 s a side by turns");
  expect(figures).toContain(
    "| allowed | 93,370 (90,000 to 94,000) | 0.637 | 10.6 (10.6 to 10.6) |",
  );
  expect(figuresOf({ bench: "soak" }, "2026-11-22")).toBeUndefined();
});

it("bench -- results writes the page from what suites have left", async () => {
  const directory = mkdtempSync(path.join(tmpdir(), "trustrank-results-"));
  const page = path.join(directory, "page.md");
  writeFileSync(page, PAGE.replaceAll("http", "pool"));
  const rows = {
    "in place": { cpu_us: same(12), ratio: same(1), per_second: same(80_000), p99_ms: same(2) },
  };
  writeFileSync(path.join(directory, "pool.json"), JSON.stringify({ bench: "pool", rows }));
  const flags = ["bench/results.ts", "--from", directory, "--page", page, "--no-plots"];
  const { stdout } = await promisify(execFile)(process.execPath, flags);
  expect(JSON.parse(stdout)).toEqual({ bench: "results", written: ["pool"] });
  expect(readFileSync(page, "utf8")).toContain("| in place | 12 (12 to 12) | 1 (1 to 1) |");
});
