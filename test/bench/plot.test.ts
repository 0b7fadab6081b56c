// bench -- plot: each suite's result becomes pictures with labelled axes, in both colour schemes; what is
// no result is refused, what has no picture passed over.
import { execFile } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { promisify } from "node:util";
import { parseHTML } from "linkedom";
import { afterEach, expect, test } from "vitest";
import { draw } from "../../bench/plot/drawing.ts";
import { drawingsOf } from "../../bench/plot/drawings.ts";
import { type Result, resultOf } from "../../bench/plot/results.ts";

const run = promisify(execFile);
const directories: string[] = [];
afterEach(() => {
  for (const directory of directories.splice(0)) rmSync(directory, { recursive: true });
});

const spread = (median: number) => ({ median, p10: median * 0.9, p90: median * 1.2 });
const rate = (offered: number) => ({
  offered_per_second: offered,
  answered_per_second: spread(offered),
  p50_ms: spread(0.4),
  p99_ms: spread(3),
  p99_9_ms: spread(offered / 1000),
});
const machine = "2 x <some & any>";
const tail: Result = {
  bench: "tail",
  machine,
  meanwhile: ["outcomes"],
  bar: { per_second: 10_000, bar_ms: 20 },
  rates: [1000, 10_000, 20_000].map(rate),
  beside: { alone: rate(10_000), outcomes: rate(10_000) },
};
const history = (outcomes: number) => ({
  outcomes,
  start_seconds: 1,
  replay_seconds: outcomes / 1e5,
  store_seconds: outcomes / 1e4,
  kaizen_seconds: outcomes > 1e5 ? null : 2,
  queries: { one: 0.1, other: null },
});
const table = (agents: number) => ({
  agents,
  lookup_ns: spread(300),
  fold_ns: spread(400),
  bytes_an_agent_with_pairs: 250,
});
const RESULTS: [Result, string[], string[]][] = [
  [
    tail,
    ["tail-latency", "tail-throughput", "tail-beside"],
    ["latency, ms", "answered, requests/s", "p99.9, ms"],
  ],
  [
    { bench: "http", machine, sides: { uws: { user_us: spread(5), system_us: spread(4) } } },
    ["http-cost"],
    ["CPU, us per answered request"],
  ],
  [
    {
      bench: "growth",
      machine,
      tables: [table(1000), table(10_000)],
      histories: [history(1e5), history(1e6)],
    },
    ["growth-table", "growth-history"],
    ["time of one, ns", "time, s"],
  ],
  [
    {
      bench: "cores",
      machine,
      rows: [1, 2].map((threads) => ({ threads, per_second: spread(9), cpu_us: spread(1) })),
    },
    ["cores"],
    ["answered, requests/s"],
  ],
  [
    {
      bench: "soak",
      machine,
      minutes: 3,
      requests: 4000,
      parts: Object.fromEntries(
        ["duckdb", "malloc", "heap main#0", "resident anonymous"].map((part, at) => [
          part,
          {
            bytes_per_request: 0,
            points: [0, 1, 2].map((minute) => [minute, 20 + 10 * at] as const),
          },
        ]),
      ),
    },
    ["soak-parts"],
    ["minutes", "MiB", "heap main"],
  ],
];

test.each(RESULTS)("pictures of $bench", (result, names, labels) => {
  const drawings = drawingsOf(result);
  expect(drawings.map(({ name }) => name)).toEqual(names);
  for (const [at, drawing] of drawings.entries()) {
    const svg = draw(drawing);
    expect(svg).not.toMatch(/NaN|undefined|Infinity/);
    expect(svg).toContain("prefers-color-scheme: dark");
    const { document } = parseHTML(svg);
    expect(document.querySelector("title")!.textContent).toBe(drawing.title);
    // Escaped, and read back as it was.
    expect(document.documentElement.textContent).toContain(machine);
    expect(document.documentElement.textContent).toContain(labels[at]);
    expect(document.querySelectorAll("path, rect, circle, line").length).toBeGreaterThan(5);
  }
});

test("files of results, alone or in a directory, become pictures", async () => {
  const directory = mkdtempSync(path.join(tmpdir(), "trustrank-plot-"));
  directories.push(directory);
  writeFileSync(path.join(directory, "tail.json"), `a table\n${JSON.stringify(tail)}\n`);
  writeFileSync(path.join(directory, "kernel.json"), '{"bench":"kernel"}\n');
  const to = path.join(directory, "plots");
  const { stdout, stderr } = await run(process.execPath, [
    "--disable-warning=ExperimentalWarning",
    "bench/plot.ts",
    directory,
    "--to",
    to,
  ]);
  const { plots } = JSON.parse(stdout) as { plots: string[] };
  const names = plots.map((file) => path.basename(file));
  expect(names.toSorted()).toEqual(readdirSync(to).toSorted());
  expect(stderr).toContain("kernel.json: nothing to draw");
  for (const file of plots) expect(readFileSync(file, "utf8")).toMatch(/^<svg .*<\/svg>\n$/s);
});

test("what does not end with a JSON object is refused by its name", () => {
  expect(() => resultOf("notes.json", "a table\nno object")).toThrow(
    "notes.json does not end with a JSON object",
  );
  expect(resultOf("x", '{"bench":"kernel"}')).toBeUndefined();
});
