// The service as a reader of the guide has it: `trustrank serve` on an empty directory, with the
// sample history loaded, and the environment that the examples are run in.
import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { startCommand } from "../cli/_process.ts";

export const ROOT = fileURLToPath(new URL("../..", import.meta.url));

/** What an example shows is not how fast it is: its timers run slow, so that 100 ms are long. */
const SLOW_TIMERS = `const { setTimeout: timer } = globalThis;
globalThis.setTimeout = (run, ms, ...rest) => timer(run, ms * 200, ...rest);`;

const ADMIN_KEY = "an-admin-secret-of-the-operator-0123456789";

export interface SampleService {
  readonly baseUrl: string;
  readonly apiKey: string;
  /** Calls a route with the admin's key; the parsed answer. Rejects on a status of 400 or above. */
  post<Answer>(route: string, body: unknown): Promise<Answer>;
  /** Runs a program with the variables that the examples read; what it printed. */
  run(program: string, args: readonly string[]): Promise<string>;
  /** Runs a TypeScript file in this tree, as `npm run example` does. */
  runFile(file: string): Promise<string>;
  stop(): Promise<void>;
}

/** Starts it on a free loopback port. */
export async function startSampleService(
  environment: Record<string, string> = {},
): Promise<SampleService> {
  const dataDir = await mkdtemp(path.join(tmpdir(), "trustrank-examples-"));
  const started = startCommand(["serve", "--port", "0", "--data-dir", dataDir, "--json"], {
    TRUSTRANK_ADMIN_KEY: ADMIN_KEY,
    TRUSTRANK_KAIZEN: "off",
    ...environment,
  });
  const { url: baseUrl } = JSON.parse(await started.firstLine) as { url: string };
  const env = {
    // The `node` of this process first: the commands of the package ask for that name.
    PATH: `${path.dirname(process.execPath)}:${process.env["PATH"]}`,
    TRUSTRANK_URL: baseUrl,
    TRUSTRANK_KEY: ADMIN_KEY,
  };
  const run = async (program: string, args: readonly string[]) => {
    const { stdout } = await promisify(execFile)(program, args, { cwd: ROOT, env });
    return stdout.trimEnd();
  };
  return {
    baseUrl,
    apiKey: ADMIN_KEY,
    async post<Answer>(route: string, body: unknown) {
      const response = await fetch(baseUrl + route, {
        method: "POST",
        headers: { Authorization: `Bearer ${ADMIN_KEY}`, "Content-Type": "application/json" },
        body: JSON.stringify(body),
      });
      const text = await response.text();
      if (!response.ok) throw new Error(`${route}: ${response.status} ${text}`);
      return JSON.parse(text) as Answer;
    },
    run,
    runFile(file) {
      const flags = ["--disable-warning=ExperimentalWarning"];
      const slow = `data:text/javascript,${encodeURIComponent(SLOW_TIMERS)}`;
      return run(process.execPath, [
        ...flags,
        "--experimental-strip-types",
        "--import",
        slow,
        file,
      ]);
    },
    async stop() {
      started.process.kill("SIGTERM");
      await started.ended;
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}
