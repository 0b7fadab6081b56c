// Services of the attacks: started on a fresh directory with their log in a file, so that it can be
// read for failures, and shared by the attacks that leave a service as it was: one by HTTP server.
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { type ServerProcess, startServiceLogged } from "../../bench/server-process.ts";

export const ADAPTERS = ["uws", "node"] as const;
export type AdapterName = (typeof ADAPTERS)[number];

/** Failures of the service's own, as its log tells them. */
const FAILURES = /"message":"(?:request failed|adapter failure|uncaught[^"]*)".*/g;
/** Far beyond what SIGTERM is promised to take. */
const END_MS_MAX = 60_000;
const SHOWN_MAX = 5;
const SHOWN_LENGTH = 600;

/** A service whose log can be read. */
export interface LoggedService extends ServerProcess {
  /** Its failures so far that no reply is to be blamed for, some of them, shortened. */
  failures(): string[];
}

/** Starts the real service with its defaults, but for settings and flags of `serve`. */
export async function startLogged(
  { env, runner = [] }: { env: Readonly<Record<string, string>>; runner?: readonly string[] },
  ...flags: string[]
): Promise<LoggedService> {
  const folder = mkdtempSync(path.join(tmpdir(), "trustrank-attack-"));
  const logFile = path.join(folder, "log");
  const log = openSync(logFile, "a");
  const cleanUp = () => rmSync(folder, { recursive: true, force: true });
  try {
    const dataDir = path.join(folder, "data");
    const service = await startServiceLogged(log, runner, env, dataDir, cleanUp, ...flags);
    const failures = () => {
      const found = readFileSync(logFile, "utf8").match(FAILURES) ?? [];
      return found.slice(0, SHOWN_MAX).map((line) => line.slice(0, SHOWN_LENGTH));
    };
    return { ...service, stop: () => stopOrKill(service), failures };
  } catch (error) {
    throw new Error(readFileSync(logFile, "utf8").slice(-SHOWN_LENGTH), { cause: error });
  } finally {
    closeSync(log);
  }
}

/** A service that does not end by itself must not hold up the suite. */
async function stopOrKill(service: ServerProcess): Promise<number | null> {
  const timer = setTimeout(() => process.kill(service.pid, "SIGKILL"), END_MS_MAX);
  try {
    return await service.stop();
  } finally {
    clearTimeout(timer);
  }
}

export class SharedServices {
  readonly #running = new Map<AdapterName, LoggedService>();

  /** The service on this HTTP server; another one when an attack has ended it. */
  async get(adapter: AdapterName): Promise<LoggedService> {
    const known = this.#running.get(adapter);
    if (known !== undefined && (await isAlive(known))) return known;
    await known?.stop();
    const service = await startLogged({ env: { TRUSTRANK_HTTP_ADAPTER: adapter } });
    this.#running.set(adapter, service);
    return service;
  }

  async close(): Promise<void> {
    const services = [...this.#running.values()];
    this.#running.clear();
    await Promise.all(services.map((service) => service.stop()));
  }
}

/** Whether a service still answers. */
export async function isAlive({ url }: ServerProcess): Promise<boolean> {
  try {
    return (await fetch(`${url}/healthz`)).ok;
  } catch {
    return false;
  }
}
