// bench:path: where the time of a request goes. Two tables. Steps: an echo that does one thing more at a
// time (the head's lines, the body's scan, an id, a reply of a verdict's size, work that only takes
// time) beside the echo and the service, CPU per request by turns under wrk. Parts: the service's own
// profile under the same load, by part of the code.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { parseArgs } from "node:util";
import { byTurns, loadOnce, type Row, type Side, type Turns } from "./load/by-turns.ts";
import { report } from "./load/flags.ts";
import { secondsByPart } from "./load/profile.ts";
import { BODIES, ROUTE } from "./load/questions.ts";
import { rounded, tableOf, told } from "./load/spread.ts";
import { machine, type ServerProcess, startFloor, startServiceWith } from "./server-process.ts";

const HELP = `npm run bench:path -- [options]

  --rounds N       rounds of the steps (default 10)
  --seconds S      of a step in a round, and four times as long for a profile (default 1)
  --connections N  (default 64)
  --seed N         of the order (default 1)
  --out FILE       the result as a file as well, for \`npm run bench -- results\`
  --smoke          one short round, to see that it works

Two tables on stderr, one JSON object on the last line. A profile makes a request some 10 % dearer; its
shares are taken of the CPU time that the main thread used without one.
`;

/** Steps of the echo, each beside the plain one. */
const STEPS = {
  echo: "uws",
  "reply of a verdict's size": "uws+reply",
  "head lines": "uws+head",
  "body as a buffer": "uws+buffer",
  "scan of the body": "uws+scan",
  "request id": "uws+id",
  "all of these": "uws+reply+head+scan+id",
  "3 us of arithmetic": "uws+3000ns",
} as const;
const SMOKE_STEPS = new Set(["echo", "all of these"]);
const KINDS = ["plain", "cited", "denied"] as const;

const { values } = parseArgs({
  options: {
    rounds: { type: "string", default: "10" },
    seconds: { type: "string", default: "1" },
    connections: { type: "string", default: "64" },
    seed: { type: "string", default: "1" },
    out: { type: "string" },
    smoke: { type: "boolean", default: false },
    help: { type: "boolean", default: false },
  },
});
const seconds = values.smoke ? 1 : Number(values.seconds);
const connections = Number(values.connections);
/** Kinds of questions that are asked. */
const PLAYED: readonly (typeof KINDS)[number][] = values.smoke ? ["denied"] : KINDS;
const turns: Turns = {
  rounds: values.smoke ? 1 : Number(values.rounds),
  seconds,
  connections,
  seed: Number(values.seed),
  warmUpSeconds: values.smoke ? 0 : 1,
};

function startService(env: Readonly<Record<string, string>> = {}): Promise<ServerProcess> {
  const dataDir = mkdtempSync(path.join(tmpdir(), "trustrank-path-"));
  const cleanUp = () => rmSync(dataDir, { recursive: true, force: true });
  // The sample is followed by a trial run of kaizen, which a short round would measure.
  return startServiceWith(env, dataDir, cleanUp, ...(values.smoke ? ["--no-sample"] : []));
}

async function measureSteps(): Promise<Record<string, Row>> {
  const servers: ServerProcess[] = [];
  const sides: Side[] = [];
  const add = (name: string, server: ServerProcess, body: string) => {
    servers.push(server);
    sides.push({ name, server, route: ROUTE, body });
  };
  try {
    for (const [name, kind] of Object.entries(STEPS)) {
      if (values.smoke && !SMOKE_STEPS.has(name)) continue;
      add(name, await startFloor(kind), BODIES.plain);
    }
    for (const kind of PLAYED) add(`verify, ${kind}`, await startService(), BODIES[kind]);
    return await byTurns(sides, turns);
  } finally {
    await Promise.all(servers.map((server) => server.stop()));
  }
}

/** Microseconds of a request by part of the code. */
async function measureParts(kind: (typeof KINDS)[number], cpuUs: number) {
  const directory = mkdtempSync(path.join(tmpdir(), "trustrank-profile-"));
  // On a busy machine, samples each 200 us leave a process hardly any time for its work.
  const intervalUs = values.smoke ? 2000 : 200;
  const flags = ["--cpu-prof", `--cpu-prof-dir=${directory}`, `--cpu-prof-interval=${intervalUs}`];
  try {
    const server = await startService({ NODE_OPTIONS: flags.join(" ") });
    const side = { name: kind, server, route: ROUTE, body: BODIES[kind] };
    let from = 0;
    let to = 0;
    try {
      await loadOnce(side, { seconds: values.smoke ? 1 : 2, connections });
      from = Number(process.hrtime.bigint() / 1000n);
      await loadOnce(side, { seconds: seconds * (values.smoke ? 1 : 4), connections });
      to = Number(process.hrtime.bigint() / 1000n);
    } finally {
      await server.stop();
    }
    const parts = secondsByPart(directory, from, to);
    parts.delete("not running");
    const all = [...parts.values()].reduce((sum, each) => sum + each, 0);
    const sorted = [...parts].toSorted(([, one], [, other]) => other - one);
    return Object.fromEntries(sorted.map(([part, each]) => [part, rounded((each / all) * cpuUs)]));
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

function printSteps(steps: Readonly<Record<string, Row>>): void {
  const head = ["step", "CPU us", "user us", "system us", "of the echo"];
  const rows = Object.entries(steps).map(([name, { cpu_us, user_us, system_us, ratio }]) => [
    name,
    told(cpu_us),
    told(user_us),
    told(system_us),
    told(ratio),
  ]);
  process.stderr.write(`\n${tableOf(head, rows)}`);
}

function printParts(parts: Readonly<Record<string, Record<string, number>>>): void {
  const names = Object.keys(Object.values(parts)[0] ?? {});
  const rows = names.map((name) => [
    name,
    ...PLAYED.map((kind) => String(parts[kind]?.[name] ?? 0)),
  ]);
  process.stderr.write(`\n${tableOf(["part, CPU us of a request", ...PLAYED], rows)}`);
}

async function main(): Promise<void> {
  if (values.help) return void process.stdout.write(HELP);
  const steps = await measureSteps();
  printSteps(steps);
  const parts: Record<string, Record<string, number>> = {};
  for (const kind of PLAYED) {
    parts[kind] = await measureParts(kind, steps[`verify, ${kind}`]!.cpu_us.median);
  }
  printParts(parts);
  const result = { bench: "path", machine: machine(), rounds: turns.rounds, seconds, steps, parts };
  report(result, values.out);
}

await main();
