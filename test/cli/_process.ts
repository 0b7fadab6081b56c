// Runs the real command line as its users do: a process of its own, judged by its output and its
// exit code.
import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { fileURLToPath } from "node:url";

/** Under Vitest the built command (see _build-command.ts), else the sources. */
export const ENTRY =
  process.env["TRUSTRANK_TEST_COMMAND"] ??
  fileURLToPath(new URL("../../src/cli/trustrank.ts", import.meta.url));

export interface Ended {
  readonly code: number | null;
  readonly signal: string | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface Started {
  readonly process: ChildProcess;
  /** The first line on stdout; rejects when the process ends without one. */
  readonly firstLine: Promise<string>;
  readonly ended: Promise<Ended>;
}

/**
 * What a command is always given: where programs are, and where Node keeps compiled code. Services do not shed load
 * unless a test asks for it: on a machine as busy as one that runs tests they would, and rightly. Nor do they have a
 * drain window, which would delay the end of every test.
 */
function ownEnvironment([command]: readonly string[]): Record<string, string> {
  const { PATH = "", NODE_COMPILE_CACHE = "" } = process.env;
  const serving =
    command === "serve" ? { TRUSTRANK_QUEUE_MS_MAX: "0", TRUSTRANK_DRAIN_MS: "0" } : {};
  return { PATH, NODE_COMPILE_CACHE, ...serving };
}

/** Starts a command with exactly `environment` besides its own, under a `tracer` if given. */
export function startCommand(
  parameters: readonly string[],
  environment: Record<string, string> = {},
  tracer: readonly string[] = [],
): Started {
  const node = [process.execPath, "--disable-warning=ExperimentalWarning", ENTRY];
  const [program, ...rest] = [...tracer, ...node, ...parameters];
  const child = spawn(program!, rest, {
    env: { ...ownEnvironment(parameters), ...environment },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let stdout = "";
  let stderr = "";
  child.stderr.on("data", (piece) => (stderr += piece));
  const ended = new Promise<Ended>((resolve) => {
    child.on("close", (code, signal) => resolve({ code, signal, stdout, stderr }));
  });
  const firstLine = new Promise<string>((resolve, reject) => {
    child.stdout.on("data", (piece) => {
      stdout += piece;
      if (stdout.includes("\n")) resolve(stdout.split("\n", 1)[0]!);
    });
    child.on("close", () => reject(new Error(`ended without a line: ${stderr}`)));
  });
  // Commands that print nothing are judged by `ended` alone.
  firstLine.catch(() => undefined);
  const started = { process: child, firstLine, ended };
  running.add(started);
  void ended.then(() => running.delete(started));
  return started;
}

const running = new Set<Started>();

/** Ends what a failed test has left running. */
export async function endAll(): Promise<void> {
  const left = [...running];
  for (const started of left) started.process.kill("SIGKILL");
  await Promise.all(left.map((started) => started.ended));
}

/** Runs a command to its end. */
export function runCommand(
  parameters: readonly string[],
  environment: Record<string, string> = {},
): Promise<Ended> {
  return startCommand(parameters, environment).ended;
}
