// bench -- results: the figures of RESULTS.md from the machine at hand. Runs the suites whose tables the page
// has, one after another, draws the pictures, and puts the tables between the page's marks.
import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { hasPlace, withFigures } from "./results/marks.ts";
import { figuresOf, type Report } from "./results/tables.ts";

const HELP = `npm run bench -- results [options] [SUITE...]

  SUITE            of http, path, pool, tail, cores, growth (default: all)
  --from DIR       takes what \`npm run bench -- SUITE --out-dir DIR\` has left there, and runs nothing
  --page FILE      (default bench/RESULTS.md)
  --no-plots       leaves the pictures as they are

Some 20 minutes on two cores that do nothing else.
`;

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const SUITES = ["http", "path", "pool", "tail", "cores", "growth"];

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    from: { type: "string" },
    page: { type: "string", default: path.join(ROOT, "bench/RESULTS.md") },
    "no-plots": { type: "boolean", default: false },
    help: { type: "boolean", default: false },
  },
});

/** Runs a suite by its front. @throws Error when it fails. */
function run(suite: string, directory: string): void {
  const front = path.join(ROOT, "bench/bench.ts");
  const flags = ["--disable-warning=ExperimentalWarning", front, suite, "--out-dir", directory];
  const { status } = spawnSync(process.execPath, flags, {
    cwd: ROOT,
    stdio: ["ignore", "ignore", 2],
  });
  if (status !== 0) throw new Error(`${suite} failed`);
}

function main(): void {
  if (values.help) return void process.stdout.write(HELP);
  const suites = positionals.length === 0 ? SUITES : positionals;
  const directory = path.resolve(values.from ?? path.join(ROOT, "build/bench"));
  mkdirSync(directory, { recursive: true });
  if (values.from === undefined) for (const suite of suites) run(suite, directory);
  let page = readFileSync(values.page, "utf8");
  const written: string[] = [];
  for (const suite of suites) {
    const file = path.join(directory, `${suite}.json`);
    if (!existsSync(file) || !hasPlace(page, suite)) continue;
    const report = JSON.parse(readFileSync(file, "utf8")) as Report;
    const date = statSync(file).mtime.toISOString().slice(0, 10);
    const figures = figuresOf(report, date);
    if (figures === undefined) continue;
    page = withFigures(page, suite, figures);
    written.push(suite);
  }
  writeFileSync(values.page, page);
  if (!values["no-plots"]) {
    const plot = path.join(ROOT, "bench/plot.ts");
    const flags = ["--disable-warning=ExperimentalWarning", plot, directory];
    execFileSync(process.execPath, flags, { cwd: ROOT, stdio: ["ignore", "ignore", 2] });
  }
  process.stdout.write(`${JSON.stringify({ bench: "results", written })}\n`);
}

main();
