// Real service for the crash harness: a process over a data directory, with a tracer or an
// environment of its own, started, queried, stopped, killed.
import type { Ended, Started } from "../cli/_process.ts";
import { startCommand } from "../cli/_process.ts";

export const ADMIN_KEY = "crash-harness-admin-key-0123456789abcdefghij";
const HEADERS = { authorization: `Bearer ${ADMIN_KEY}`, "content-type": "application/json" };
/** Snapshots come every so many outcomes here, so that kills fall into all their stages. */
const SNAPSHOT_OUTCOMES = "1500";
/** Ballast and watermark, for the small disk: data directories here are copied a lot. */
const RESERVE_MEGABYTES = "4";

export interface ServerOptions {
  environment?: Record<string, string>;
  /** A command that runs the server, as `strace ... node ...`. */
  tracer?: string[];
}

export interface CrashServer {
  readonly url: string;
  /** The server's own process id, not its tracer's. */
  readonly pid: number;
  readonly ended: Promise<Ended>;
  kill(signal?: NodeJS.Signals): Promise<Ended>;
  get(path: string): Promise<{ status: number; body: unknown }>;
  post(path: string, body: string, signature?: string): Promise<{ status: number; body: unknown }>;
  put(path: string, body: string): Promise<{ status: number; body: unknown }>;
}

/** Starts the process; `ready` of the result resolves once it listens. */
export function launchServer(dataDir: string, options: ServerOptions = {}): Started {
  const environment = {
    TRUSTRANK_ADMIN_KEY: ADMIN_KEY,
    TRUSTRANK_SNAPSHOT_OUTCOMES: SNAPSHOT_OUTCOMES,
    TRUSTRANK_DISK_RESERVE_MB: RESERVE_MEGABYTES,
    ...options.environment,
  };
  const flags = ["serve", "--port", "0", "--json", "--no-sample", "--data-dir", dataDir];
  return startCommand(flags, environment, options.tracer);
}

/** Starts the server and waits until it listens. Rejects with its output when it ends instead. */
export async function startServer(
  dataDir: string,
  options: ServerOptions = {},
): Promise<CrashServer> {
  return attachServer(launchServer(dataDir, options));
}

/** The server of a process that was launched, once it listens. */
export async function attachServer(started: Started): Promise<CrashServer> {
  const facts = JSON.parse(await started.firstLine) as { url: string; pid: number };
  const ask = async (path: string, init: { method?: string; body?: string; headers?: object }) => {
    const headers = { ...init.headers, ...HEADERS };
    const response = await fetch(facts.url + path, { ...init, headers });
    return { status: response.status, body: await response.json() };
  };
  return {
    url: facts.url,
    pid: facts.pid,
    ended: started.ended,
    kill(signal = "SIGKILL") {
      process.kill(facts.pid, signal);
      return started.ended;
    },
    get: (path) => ask(path, {}),
    post: (path, body, signature) => {
      const headers = signature === undefined ? {} : { "x-jws-signature": signature };
      return ask(path, { method: "POST", body, headers });
    },
    put: (path, body) => ask(path, { method: "PUT", body }),
  };
}
