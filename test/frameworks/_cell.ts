// One cell of the matrix: an empty project, the framework and the packed client as npm installs them there, and the
// adapter's program in it, under one Node. The result is judged by what the program printed and by what the service
// has on record.
import { cp, readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { WAIT_MS_MAX } from "../_patience.ts";
import type { LiveService } from "../client/_live.ts";
import { type Packed, run } from "../client/_package.ts";
import type { AdapterCase } from "./_adapters.ts";

const PROGRAMS = path.join(import.meta.dirname, "programs");
/** Milliseconds for one installation, and for one program. */
const INSTALL_MS_MAX = 300_000;
const PROGRAM_MS_MAX = 120_000;

/** The installation that a column stands for. */
export interface Column {
  readonly name: string;
  /** Program of Node, and npm's script that it runs. */
  readonly node: string;
  readonly npm: string;
  /** What follows the framework's name: nothing is what npm picks by itself. `oldest`: the adapter's own list. */
  readonly version: "" | "@latest" | "oldest";
}

export interface Cell {
  readonly adapter: string;
  readonly column: string;
  /** Of the framework that was installed; undefined where npm refused to. */
  readonly version?: string;
  /** `obeys`: allowed ran and was graded, refused and parked did not run. `refuses`: says so, and runs nothing. */
  readonly result: "obeys" | "refuses" | "fails";
  /** The sentence of a refusal, or what was wrong. */
  readonly detail: string;
}

/** What the matrix runs against. */
export interface Bench {
  readonly packed: Packed;
  readonly service: LiveService;
  readonly modelUrl: string;
}

/** Installs and runs one cell in a project of its own. Never rejects. */
export async function runCell(adapter: AdapterCase, column: Column, bench: Bench): Promise<Cell> {
  const name = `${adapter.program}-${column.name}`.replaceAll(/\W+/g, "-").toLowerCase();
  const cell = { adapter: adapter.name, column: column.name };
  try {
    const project = await bench.packed.project(name);
    const conflict = await install(adapter, column, project, bench.packed);
    const version = await readVersion(project, adapter.framework);
    return { ...cell, version, ...(await examine(adapter, column.node, project, bench, conflict)) };
  } catch (error) {
    return { ...cell, result: "fails", detail: takeLastLines((error as Error).message) };
  }
}

/**
 * Runs the adapter's program in a project that has what it needs. `conflict` is what npm said against the
 * installed versions; then nothing may run.
 */
export async function examine(
  adapter: AdapterCase,
  node: string,
  project: string,
  bench: Bench,
  conflict?: string,
): Promise<Pick<Cell, "result" | "detail">> {
  const program = await runProgram(adapter, node, project, bench);
  const refusal = findRefusal(adapter, program.stderr, conflict);
  if (refusal !== undefined) return judgeRefusal(refusal, program);
  if (program.stdout === "") return { result: "fails", detail: takeLastLines(program.stderr) };
  return judge(program.stdout, path.basename(project), bench.service);
}

/** Installs as a user does; npm's sentence where the client's peer range refused that, which is then overridden. */
async function install(
  { framework, others, oldest = [] }: AdapterCase,
  { node, npm, version }: Column,
  project: string,
  packed: Packed,
): Promise<string | undefined> {
  const packages = version === "oldest" ? oldest : [framework + version, ...others];
  const add = (flags: readonly string[]) => {
    const common = [npm, "install", "--ignore-scripts", "--no-audit", "--no-fund"];
    // Under `npm run --silent` the reason of npm's refusal is still needed.
    common.push("--loglevel=error", ...flags);
    const settings = { cwd: project, timeout: INSTALL_MS_MAX, maxBuffer: 1e7 };
    return run(node, [...common, ...packages], settings).then(() =>
      run(node, [...common, packed.tarball], settings),
    );
  };
  try {
    await add([]);
    return undefined;
  } catch (error) {
    const { stderr = "" } = error as { stderr?: string };
    const conflict = stderr.split("\n").find((line) => line.includes("peerOptional"));
    if (conflict === undefined) throw error;
    await add(["--legacy-peer-deps"]);
    return conflict.replace("npm error", "npm:").trim();
  }
}

async function readVersion(project: string, name: string): Promise<string> {
  const file = path.join(project, "node_modules", name, "package.json");
  return (JSON.parse(await readFile(file, "utf8")) as { version: string }).version;
}

interface Ended {
  readonly stdout: string;
  readonly stderr: string;
}

async function runProgram(
  { program }: AdapterCase,
  node: string,
  project: string,
  { service, modelUrl }: Bench,
): Promise<Ended> {
  await cp(PROGRAMS, project, { recursive: true });
  const env = {
    PATH: process.env["PATH"],
    BASE_URL: service.baseUrl,
    API_KEY: service.apiKey,
    MODEL_URL: modelUrl,
    SUBJECT: subjectOf(path.basename(project)),
    MASTRA_TELEMETRY_DISABLED: "1",
  };
  const settings = { cwd: project, env, timeout: PROGRAM_MS_MAX, maxBuffer: 1e7 };
  const ended = await run(node, [`${program}.mjs`], settings).catch((error: Ended) => error);
  await writeFile(path.join(project, "stderr.txt"), ended.stderr);
  const last = ended.stdout.trimEnd().split("\n").at(-1) ?? "";
  return { stdout: last.startsWith("{") ? last : "", stderr: ended.stderr };
}

/** One agent for each cell: its record says what this cell has reported. */
function subjectOf(name: string): string {
  return `agent://shop/${name}`;
}

/** The sentence by which the adapter refused to load, npm refused to install, or Node found no such module. */
function findRefusal(
  { framework }: AdapterCase,
  stderr: string,
  conflict: string | undefined,
): string | undefined {
  const own = new RegExp(`TypeError: (\`\\w+\` needs ${framework} \\^.*)`).exec(stderr)?.[1];
  const missing = new RegExp(`Cannot find module '.*/node_modules/(${framework}/.*)'`).exec(stderr);
  return own ?? conflict ?? (missing === null ? undefined : `${framework} has no ${missing[1]}`);
}

/** npm only advises: what is installed all the same must run nothing that was not allowed. */
function judgeRefusal(detail: string, { stdout }: Ended): Pick<Cell, "result" | "detail"> {
  const played = stdout === "" ? {} : (JSON.parse(stdout) as Record<string, Played>);
  const ran = [played["refuse"], played["escalate"]].flatMap((each) => each?.ran ?? []);
  return ran.length === 0
    ? { result: "refuses", detail }
    : { result: "fails", detail: `ran ${ran.join(", ")} in spite of: ${detail}` };
}

interface Played {
  readonly ran: readonly string[];
  readonly sent: number;
  readonly dropped: readonly string[];
}

async function judge(
  printed: string,
  name: string,
  service: LiveService,
): Promise<Pick<Cell, "result" | "detail">> {
  const { connect, refuse, escalate } = JSON.parse(printed) as Record<string, Played>;
  const recorded = await listRecorded(service, subjectOf(name), connect?.sent ?? 0);
  const wrong = [
    connect?.ran.length === 1 ? "" : `allowed: ran ${connect?.ran.length} times`,
    refuse?.ran.length === 0 ? "" : "the refused tool ran",
    escalate?.ran.length === 0 ? "" : "the parked tool ran",
    recorded.join() === "1 40 counterparty" ? "" : `on record: ${recorded.join() || "nothing"}`,
  ].filter((each) => each !== "");
  if (wrong.length > 0) return { result: "fails", detail: `${wrong.join("; ")} (${printed})` };
  return { result: "obeys", detail: "1 success at stakes 40, grade counterparty" };
}

/** Outcomes on record, once as many are as were sent: the lists follow the journal by some moments. */
async function listRecorded(service: LiveService, agent: string, sent: number): Promise<string[]> {
  const route = `/v1/outcomes?subject=${encodeURIComponent(agent)}`;
  const untilMs = Date.now() + WAIT_MS_MAX;
  for (;;) {
    const { outcomes } = await service.call("GET", route);
    const recorded = (outcomes as Record<string, unknown>[]).map(({ outcome, stakes, grade }) =>
      [outcome, stakes, grade].join(" "),
    );
    if (recorded.length >= sent || Date.now() > untilMs) return recorded;
    await delay(100);
  }
}

function takeLastLines(text: string): string {
  return text.trim().split("\n").slice(-12).join("\n");
}
