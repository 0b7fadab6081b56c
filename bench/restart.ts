// Kill -9 and an immediate start, round by round, on one data directory and one port, as
// `npm run trustrank -- serve` starts it; then starts that wait already when the owner is killed; then two
// services in two containers (namespaces of processes, network and host name) on one directory. Fails
// when a start fails, an acknowledged outcome is lost, or both containers serve. `--rounds`,
// `--hand-overs`, `--wait` (seconds that the second container waits), `--smoke`.
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { parsed } from "./load/parsed.ts";
import { probePort } from "../src/http/server/port-probe.ts";
import { ADMIN_KEY, COMMAND, machine } from "./server-process.ts";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const NODE = [process.execPath, "--disable-warning=ExperimentalWarning", COMMAND];
const NPM = ["npm", "run", "--silent", "trustrank", "--"];
const OUTCOMES_PER_ROUND = 20;
const ENVIRONMENT = { ...process.env, TRUSTRANK_ADMIN_KEY: ADMIN_KEY };

interface Ready {
  readonly url: string;
  readonly pid: number;
  readonly replayed: number;
}

/** A command in a process group of its own, which can be killed whole. */
function launch(command: readonly string[]) {
  const [program, ...rest] = command;
  const child = spawn(program!, rest, {
    cwd: ROOT,
    env: ENVIRONMENT,
    detached: true,
    stdio: ["ignore", "pipe", "pipe"],
  });
  const startedAt = performance.now();
  let stderr = "";
  const waiting = new Promise<void>((resolve) => {
    child.stderr.on("data", (piece: Buffer) => {
      stderr += piece.toString();
      if (stderr.includes("data_directory_waiting")) resolve();
    });
  });
  const ended = once(child, "close").then(([code]) => ({ code: code as number | null, stderr }));
  const lines = createInterface({ input: child.stdout });
  const ready = new Promise<Ready & { seconds: number; waited: boolean }>((resolve, reject) => {
    lines.once("line", (line) => {
      const seconds = (performance.now() - startedAt) / 1000;
      const waited = stderr.includes("data_directory_waiting");
      resolve({ ...(JSON.parse(line) as Ready), seconds, waited });
    });
    void ended.then(({ code }) => reject(new Error(`ended with ${code}: ${stderr}`)));
  });
  ready.catch(() => undefined);
  const kill = () => process.kill(-child.pid!, "SIGKILL");
  return { ready, waiting, ended, kill, seconds: () => (performance.now() - startedAt) / 1000 };
}

/** Lines of a service's log, as event and detail, but for that of a start. */
function saidIn(log: string): string[] {
  const lines = log.trim().split("\n");
  const entries = lines.map((line) => JSON.parse(line) as { message: string; detail?: string });
  return entries
    .filter(({ message }) => message !== "service_starting")
    .map(({ message, detail }) => `${message}: ${detail ?? ""}`);
}

async function report(url: string, from: number): Promise<number> {
  const headers = { authorization: `Bearer ${ADMIN_KEY}`, "content-type": "application/json" };
  const sent = Array.from({ length: OUTCOMES_PER_ROUND }, async (_, index) => {
    const parties = { subject: "agent://bench/seller", reporter: `agent://bench/r${from + index}` };
    const body = JSON.stringify({ ...parties, outcome: 1, stakes: 1, grade: "escrow" });
    const answer = await fetch(`${url}/v1/outcomes`, { method: "POST", headers, body });
    return answer.ok ? 1 : 0;
  });
  return (await Promise.all(sent)).reduce((sum: number, one) => sum + one, 0);
}

async function killRounds(dataDir: string, rounds: number, runner: readonly string[]) {
  const serve = [...runner, "serve", "--json", "--no-sample", "--data-dir", dataDir];
  const seconds: number[] = [];
  const failures: string[] = [];
  const port = String(await probePort("127.0.0.1", 0));
  let acknowledged = 0;
  let waited = 0;
  for (let round = 0; round <= rounds; round++) {
    const service = launch([...serve, "--port", port]);
    try {
      const ready = await service.ready;
      seconds.push(ready.seconds);
      if (ready.waited) waited++;
      if (ready.replayed < acknowledged) {
        failures.push(`round ${round}: ${ready.replayed} of ${acknowledged} outcomes are there`);
      }
      acknowledged += await report(ready.url, acknowledged);
      service.kill();
    } catch (error) {
      failures.push(`round ${round}: ${(error as Error).message}`);
      await service.ended;
    }
    process.stderr.write(`round ${round}: ${seconds.at(-1)?.toFixed(2)} s\n`);
    // The next start does not wait for the end of this one.
    if (round === rounds) await service.ended;
  }
  seconds.sort((one, other) => one - other);
  return {
    kills: rounds,
    failures,
    acknowledged,
    starts_that_waited: waited,
    ready_seconds_median: fixed(seconds[Math.floor(seconds.length / 2)]!),
    ready_seconds_max: fixed(seconds.at(-1)!),
  };
}

/** Kills an owner under a start that waits for it, on the same port; each takes over in turn. */
async function handOvers(dataDir: string, rounds: number) {
  const port = String(await probePort("127.0.0.1", 0));
  const serve = ["serve", "--json", "--no-sample", "--data-dir", dataDir, "--port", port];
  let owner = launch([...NODE, ...serve]);
  await owner.ready;
  const failures: string[] = [];
  for (let round = 0; round < rounds; round++) {
    const next = launch([...NODE, ...serve]);
    await Promise.race([next.waiting, next.ended]);
    owner.kill();
    await next.ready.catch((error: Error) => failures.push(`hand-over ${round}: ${error.message}`));
    if (failures.length > 0) break;
    owner = next;
  }
  owner.kill();
  await owner.ended;
  return failures;
}

/** Runs a command as pid 1 of a host of its own; all of it ends with the runner. */
function container(host: string): string[] {
  const namespaces = ["--pid", "--net", "--uts", "--fork", "--kill-child=KILL", "--mount-proc"];
  const script = `echo ${host} > /proc/sys/kernel/hostname; exec "$@"`;
  return ["unshare", ...namespaces, "sh", "-c", script, "sh", ...NODE];
}

/** Undefined where this user may not make namespaces. */
async function containers(dataDir: string, waitSeconds: number) {
  try {
    const [program, ...rest] = container("box-a").slice(0, -NODE.length);
    execFileSync(program!, [...rest, "true"], { stdio: "ignore" });
  } catch {
    return undefined;
  }
  const listen = ["--json", "--no-sample", "--host", "0.0.0.0", "--port", "8080"];
  const serve = ["serve", ...listen, "--data-dir", dataDir];
  const first = launch([...container("box-a"), ...serve]);
  await first.ready;
  const wait = ["--owner-wait", String(waitSeconds)];
  const second = launch([...container("box-b"), ...serve, ...wait]);
  const refused = await second.ended;
  const refusedAfter = second.seconds();
  const outside = launch([...NODE, "keys", "list", "--data-dir", dataDir]);
  const told = (await outside.ended).stderr.trim();
  first.kill();
  const third = launch([...container("box-b"), ...serve]);
  const { seconds } = await third.ready;
  third.kill();
  await third.ended;
  return {
    second: { code: refused.code, said: saidIn(refused.stderr) },
    second_refused_after_seconds: fixed(refusedAfter),
    command_outside_said: told,
    second_ready_seconds_after_kill: fixed(seconds),
  };
}

function fixed(value: number): number {
  return Number(value.toFixed(2));
}

const { values } = parsed(import.meta.filename, {
  options: {
    rounds: { type: "string", default: "50" },
    "hand-overs": { type: "string", default: "20" },
    wait: { type: "string", default: "10" },
    smoke: { type: "boolean", default: false },
  },
});
const folder = mkdtempSync(path.join(tmpdir(), "trustrank-restart-"));
try {
  const rounds = values.smoke ? 1 : Number(values.rounds);
  const handed = values.smoke ? 1 : Number(values["hand-overs"]);
  const killed = await killRounds(path.join(folder, "killed"), rounds, values.smoke ? NODE : NPM);
  const waited = await handOvers(path.join(folder, "handed"), handed);
  killed.failures.push(...waited);
  const shared = await containers(path.join(folder, "shared"), values.smoke ? 0.2 : +values.wait);
  const figures = { ...killed, hand_overs: handed, containers: shared ?? null, machine: machine() };
  process.stdout.write(`${JSON.stringify(figures)}\n`);
  const isRefused = shared === undefined || shared.second.code === 1;
  process.exitCode = killed.failures.length === 0 && isRefused ? 0 : 1;
} finally {
  rmSync(folder, { recursive: true, force: true });
}
