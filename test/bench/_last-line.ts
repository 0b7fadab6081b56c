// Runs a bench as a user does; its stdout has to be one line, a JSON object.
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect } from "vitest";

const run = promisify(execFile);

export async function lastLine(
  script: string,
  ...flags: string[]
): Promise<Record<string, unknown>> {
  const node = ["--disable-warning=ExperimentalWarning", script, ...flags];
  // A machine that is busy with other tests makes queues of its own.
  const env = { ...process.env, TRUSTRANK_QUEUE_MS_MAX: "0" };
  const { stdout } = await run(process.execPath, node, { maxBuffer: 1e7, env });
  const lines = stdout.trimEnd().split("\n");
  expect(lines).toHaveLength(1);
  return JSON.parse(lines[0]!) as Record<string, unknown>;
}
