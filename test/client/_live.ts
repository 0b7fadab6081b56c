// Service as its users run it: the `trustrank serve` command in a process of its own, with its
// threads, its journal and its keys, on a directory that is removed afterwards.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { startCommand } from "../cli/_process.ts";

export interface LiveService {
  readonly baseUrl: string;
  /** Of an administrator. */
  readonly apiKey: string;
  readonly dataDir: string;
  /** Calls a route with that key; the parsed answer. */
  // What a route answers is what the tests are about: they look into it freely.
  // oxlint-disable-next-line typescript/no-explicit-any
  call(method: string, route: string, body?: unknown): Promise<any>;
  stop(): Promise<void>;
}

const ADMIN_KEY = "an-admin-secret-of-the-operator-0123456789";

/** Starts it on a free loopback port, empty but for the reserved test agents. */
export async function startLiveService(
  environment: Record<string, string> = {},
): Promise<LiveService> {
  const dataDir = await mkdtemp(path.join(tmpdir(), "trustrank-live-"));
  const started = startCommand(
    ["serve", "--port", "0", "--data-dir", dataDir, "--no-sample", "--json"],
    { TRUSTRANK_ADMIN_KEY: ADMIN_KEY, TRUSTRANK_KAIZEN: "off", ...environment },
  );
  const { url: baseUrl } = JSON.parse(await started.firstLine) as { url: string };
  return {
    baseUrl,
    apiKey: ADMIN_KEY,
    dataDir,
    async call(method, route, body) {
      const response = await fetch(baseUrl + route, {
        method,
        headers: { Authorization: `Bearer ${ADMIN_KEY}`, "Content-Type": "application/json" },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      return response.json();
    },
    async stop() {
      started.process.kill("SIGTERM");
      await started.ended;
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}
