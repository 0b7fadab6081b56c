// Child servers for the benches: started, awaited, their CPU time read from the kernel, stopped.
import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { cpus, tmpdir } from "node:os";
import path from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
/** The command: its sources, or as the tests have built it, which starts in half the time. */
export const COMMAND =
  process.env["TRUSTRANK_TEST_COMMAND"] ?? path.join(ROOT, "src/cli/trustrank.ts");
/** As `npm start` has them; the floors have the same. */
/** As `npm start`, the image and the unit set it. */
const ARENAS = { MALLOC_ARENA_MAX: "2" };
const NODE_FLAGS = ["--disable-warning=ExperimentalWarning", "--use-largepages=silent"];
/** Clock ticks per second of /proc/<pid>/stat on every Linux we know. */
const TICKS_PER_SECOND = 100;
const START_TIMEOUT_MS = 180_000;

export const ADMIN_KEY = "bench-admin-key-0123456789abcdefghijklmnopqrstuv";

export interface ServerProcess {
  url: string;
  pid: number;
  /** Empty for a server without data. */
  dataDir: string;
  /** User plus system seconds the process has used; NaN where the kernel does not report them. */
  cpuSeconds(): number;
  /** Sends SIGTERM and resolves with the exit code. */
  stop(): Promise<number | null>;
}

function cpuSeconds(pid: number): number {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]!.split(" ");
    return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND;
  } catch {
    return Number.NaN;
  }
}

function wrap(
  child: ChildProcess,
  url: string,
  dataDir: string,
  cleanUp: () => void,
): ServerProcess {
  return {
    url,
    pid: child.pid!,
    dataDir,
    cpuSeconds: () => cpuSeconds(child.pid!),
    async stop() {
      // A floor ends by the signal itself and has no exit code.
      if (child.exitCode === null && child.signalCode === null) {
        const gone = once(child, "exit");
        child.kill("SIGTERM");
        await gone;
      }
      cleanUp();
      return child.exitCode;
    },
  };
}

/** Starts one of the floors of load/floors.ts: `uws`, `node`, `fastify`, or `uws+STEP+STEP`. */
export async function startFloor(kind: string): Promise<ServerProcess> {
  const script = path.join(ROOT, "bench/load/floors.ts");
  const child = spawn(process.execPath, [...NODE_FLAGS, script, kind], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const lines = createInterface({ input: child.stdout });
  const [line] = (await once(lines, "line")) as [string];
  const { port } = JSON.parse(line) as { port: number };
  return wrap(child, `http://127.0.0.1:${port}`, "", () => lines.close());
}

/** Starts the real service on a fresh data directory with the sample history. */
export function startService(...flags: string[]): Promise<ServerProcess> {
  const dataDir = mkdtempSync(path.join(tmpdir(), "trustrank-bench-"));
  const cleanUp = () => rmSync(dataDir, { recursive: true, force: true });
  return startServiceOver(dataDir, cleanUp, ...flags);
}

/** Starts the real service on a directory; `cleanUp` runs once it has stopped. */
export function startServiceOver(
  dataDir: string,
  cleanUp: () => void,
  ...flags: string[]
): Promise<ServerProcess> {
  return startServiceWith({}, dataDir, cleanUp, ...flags);
}

/** The same, with settings given as environment variables. */
export function startServiceWith(
  env: Readonly<Record<string, string>>,
  dataDir: string,
  cleanUp: () => void,
  ...flags: string[]
): Promise<ServerProcess> {
  return startServiceLogged("inherit", [], env, dataDir, cleanUp, ...flags);
}

/** The service of another tree of this repository. */
export function startServiceIn(
  tree: string,
  dataDir: string,
  cleanUp: () => void,
): Promise<ServerProcess> {
  const command = path.join(tree, "src/cli/trustrank.ts");
  return startCommand(command, "inherit", [], {}, dataDir, cleanUp);
}

/**
 * The same, with its log in an open file, and by another program: `runner` and its parameters are
 * put before the command.
 */
export function startServiceLogged(
  log: number | "inherit",
  runner: readonly string[],
  env: Readonly<Record<string, string>>,
  dataDir: string,
  cleanUp: () => void,
  ...flags: string[]
): Promise<ServerProcess> {
  return startCommand(COMMAND, log, runner, env, dataDir, cleanUp, ...flags);
}

async function startCommand(
  command: string,
  log: number | "inherit",
  runner: readonly string[],
  env: Readonly<Record<string, string>>,
  dataDir: string,
  cleanUp: () => void,
  ...flags: string[]
): Promise<ServerProcess> {
  const serve = ["serve", "--port", "0", "--data-dir", dataDir, ...flags];
  const [program, ...rest] = [...runner, process.execPath, ...NODE_FLAGS, command, ...serve];
  const child = spawn(program!, rest, {
    env: {
      ...ARENAS,
      ...process.env,
      TRUSTRANK_ADMIN_KEY: ADMIN_KEY,
      TRUSTRANK_DRAIN_MS: "0",
      ...env,
    },
    stdio: ["ignore", "ignore", log],
  });
  const url = await announcedUrl(child, dataDir);
  return wrap(child, url, dataDir, cleanUp);
}

/** The service writes `server.json` into its data directory once it listens. */
async function announcedUrl(child: ChildProcess, dataDir: string): Promise<string> {
  const until = Date.now() + START_TIMEOUT_MS;
  while (Date.now() < until && child.exitCode === null) {
    try {
      const { url } = JSON.parse(readFileSync(path.join(dataDir, "server.json"), "utf8")) as {
        url: string;
      };
      if ((await fetch(`${url}/readyz`)).ok) return url;
    } catch {
      // Not there yet.
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error(`the service did not start (exit code ${child.exitCode})`);
}

/** Description of the machine behind a figure. */
export function machine(): string {
  const memory = /MemTotal:\s+(\d+)/.exec(readFileSync("/proc/meminfo", "utf8"))?.[1] ?? "0";
  const gibibytes = Math.round(Number(memory) / 1_000_000);
  return `${cpus().length} x ${cpus()[0]?.model}, ${gibibytes} GB, node ${process.version}`;
}
