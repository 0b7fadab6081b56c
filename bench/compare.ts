// bench:compare: an earlier revision and this tree by turns, in one run, with a verdict. `http` starts
// the services of both and loads them by wrk; any other suite is run by its own script in each tree,
// one after the other, and every number that both print is compared.
import { execFile, execFileSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { parseArgs, promisify } from "node:util";
import { fileURLToPath } from "node:url";
import { loadOnce } from "./load/by-turns.ts";
import { untilIdle } from "./load/cpu.ts";
import type { Generator } from "./load/generators.ts";
import { BODIES, ROUTE } from "./load/questions.ts";
import { seeded, shuffled, tableOf } from "./load/spread.ts";
import { compare, type Comparison, ROUNDS_MIN } from "./load/verdict.ts";
import { machine, type ServerProcess, startServiceIn } from "./server-process.ts";

const HELP = `npm run bench:compare -- REVISION [options] [-- parameters of the suite]

  --suite NAME     http (default: verify of three kinds, a list of agents), or the name of a script of bench/ that both trees have: kernel, ledger, ...
  --rounds N       rounds of both sides (default 12; at least ${ROUNDS_MIN})
  --limit RATIO    the most that this tree may cost of the revision (default 1.02)
  --seconds S      http: of a side in a round (default 2)
  --generator G    http: wrk (default) or autocannon
  --connections N  http: (default 64)
  --settle S       http: seconds for the work that follows a start, such as daily scores of the sample
                   (default 75; longer, at most three times this, while the services are busy)

The revision is checked out and built in build/compare. Ratios are of this tree to the revision, median with
the interval of 95 %. Ends with 1 when a cost is above the limit beyond doubt.
`;

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const TREES = path.join(ROOT, "build/compare");
const VERIFY_KINDS = ["plain", "cited", "denied"] as const;
const QUESTIONS = [
  ...VERIFY_KINDS.map((name) => ({ name, route: ROUTE, body: BODIES[name] })),
  { name: "list of 50 agents", route: "/v1/agents?limit=50", body: undefined },
];
/** Beyond this lists wait for the store and are refused. */
const LIST_CONNECTIONS_MAX = 4;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    suite: { type: "string", default: "http" },
    rounds: { type: "string", default: "12" },
    limit: { type: "string", default: "1.02" },
    seconds: { type: "string", default: "2" },
    generator: { type: "string", default: "wrk" },
    connections: { type: "string", default: "64" },
    settle: { type: "string", default: "75" },
    help: { type: "boolean", default: false },
  },
});
const roundCount = Number(values.rounds);

/** Figures of each side by name, a value for each round. */
type Figures = Map<string, [before: number[], after: number[]]>;

function add(figures: Figures, name: string, side: number, value: number): void {
  const both = figures.get(name) ?? [[], []];
  both[side]!.push(value);
  figures.set(name, both);
}

/** The tree of a revision, built. Its dependencies are this tree's where the lock file is the same. */
function treeOf(revision: string): string {
  const git = (...parameters: string[]) =>
    execFileSync("git", parameters, { cwd: ROOT, encoding: "utf8" }).trim();
  const commit = git("rev-parse", "--verify", `${revision}^{commit}`);
  const tree = path.join(TREES, commit.slice(0, 12));
  if (existsSync(path.join(tree, "build/trustrank.wasm"))) return tree;
  rmSync(tree, { recursive: true, force: true });
  git("worktree", "prune");
  git("worktree", "add", "--detach", tree, commit);
  const isSame = (...paths: string[]) => git("diff", "--name-only", commit, "--", ...paths) === "";
  const run = (...parameters: string[]) =>
    execFileSync("npm", parameters, { cwd: tree, stdio: ["ignore", 2, 2] });
  // Otherwise they are found in this tree's folder, which is above.
  if (!isSame("package-lock.json")) run("ci", "--ignore-scripts", "--no-audit", "--no-fund");
  if (!isSame("assembly", "asconfig.json", "package-lock.json")) run("run", "--silent", "build");
  else copyModules(tree);
  return tree;
}

/** The WASM modules of this tree: its sources of them are the revision's. */
function copyModules(tree: string): void {
  const build = path.join(ROOT, "build");
  mkdirSync(path.join(tree, "build"), { recursive: true });
  for (const name of readdirSync(build)) {
    if (name.endsWith(".wasm")) cpSync(path.join(build, name), path.join(tree, "build", name));
  }
}

async function compareHttp(trees: readonly string[]): Promise<Figures> {
  const figures: Figures = new Map();
  const random = seeded(1);
  const turn = {
    generator: values.generator as Generator,
    connections: Number(values.connections),
    seconds: Number(values.seconds),
  };
  const services: ServerProcess[][] = [];
  try {
    for (const tree of trees) {
      const started = [];
      for (const _ of QUESTIONS) started.push(await startIn(tree));
      services.push(started);
    }
    const pids = services.flat().map(({ pid }) => pid);
    await untilIdle(pids, Number(values.settle));
    const turns = QUESTIONS.flatMap((question, at) =>
      [0, 1].map((side) => ({ question, at, side })),
    );
    for (let round = -1; round < roundCount; round++) {
      process.stderr.write(round < 0 ? "warming up\n" : `round ${round + 1} of ${roundCount}\n`);
      for (const { question, at, side } of shuffled(turns, random)) {
        const server = services[side]![at]!;
        const isList = question.body === undefined;
        const connections = Math.min(turn.connections, isList ? LIST_CONNECTIONS_MAX : Infinity);
        const asked = { ...question, server };
        const spent = await loadOnce(asked, { ...turn, connections });
        const { userUs, systemUs, perSecond } = spent;
        if (round < 0) continue;
        add(figures, `${question.name}, CPU us`, side, userUs + systemUs);
        add(figures, `${question.name}, us a request`, side, 1e6 / perSecond);
      }
    }
  } finally {
    await Promise.all(services.flat().map((service) => service.stop()));
  }
  return figures;
}

async function startIn(tree: string): Promise<ServerProcess> {
  const dataDir = mkdtempSync(path.join(tmpdir(), "trustrank-compare-"));
  return startServiceIn(tree, dataDir, () => rmSync(dataDir, { recursive: true, force: true }));
}

async function compareScripts(trees: readonly string[], parameters: string[]): Promise<Figures> {
  const figures: Figures = new Map();
  for (let round = 0; round < roundCount; round++) {
    process.stderr.write(`round ${round + 1} of ${roundCount}\n`);
    for (const side of round % 2 === 0 ? [0, 1] : [1, 0]) {
      const script = path.join(trees[side]!, "bench", `${values.suite}.ts`);
      const flags = ["--disable-warning=ExperimentalWarning", script, ...parameters];
      const options = { cwd: trees[side]!, maxBuffer: 1e8 };
      const { stdout } = await promisify(execFile)(process.execPath, flags, options);
      const report: unknown = JSON.parse(stdout.trimEnd().split("\n").at(-1)!);
      for (const [name, value] of numbersIn(report, "")) add(figures, name, side, value);
    }
  }
  return figures;
}

/** All numbers of a report, by the path of their names. */
function* numbersIn(value: unknown, name: string): IterableIterator<[string, number]> {
  if (typeof value === "number") yield [name, value];
  else if (typeof value === "object" && value !== null) {
    for (const [key, member] of Object.entries(value)) {
      yield* numbersIn(member, name === "" ? key : `${name}.${key}`);
    }
  }
}

function print(comparisons: ReadonlyMap<string, Comparison>): void {
  const rows = [...comparisons].map(([name, { ratio, low, high, verdict }]) => [
    name,
    String(ratio),
    `${low} to ${high}`,
    verdict,
  ]);
  process.stderr.write(tableOf(["of the revision", "ratio", "95 %", "verdict"], rows));
}

async function main(): Promise<number> {
  const [revision, ...parameters] = positionals;
  if (values.help || revision === undefined) {
    process.stdout.write(HELP);
    return values.help ? 0 : 2;
  }
  const trees = [treeOf(revision), ROOT];
  const isHttp = values.suite === "http";
  const figures = await (isHttp ? compareHttp(trees) : compareScripts(trees, parameters));
  const both = [...figures].filter(([, sides]) =>
    sides.every((side) => side.length === roundCount),
  );
  const comparisons = new Map(
    both.map(([name, [before, after]]): [string, Comparison] => [name, compare(before, after)]),
  );
  print(comparisons);
  const limit = Number(values.limit);
  // Only of HTTP is it known that less is better of every figure.
  const above = [...comparisons]
    .filter(([, { low }]) => isHttp && low > limit)
    .map(([name]) => name);
  const words =
    above.length === 0 ? `nothing is above ${limit}` : `above ${limit}: ${above.join("; ")}`;
  process.stderr.write(`${words}\n`);
  const { suite } = values;
  const report = {
    bench: "compare",
    machine: machine(),
    revision,
    suite,
    rounds: roundCount,
    limit,
  };
  const figuresOut = Object.fromEntries(comparisons);
  process.stdout.write(`${JSON.stringify({ ...report, above, figures: figuresOut })}\n`);
  return above.length === 0 ? 0 : 1;
}

process.exitCode = await main();
