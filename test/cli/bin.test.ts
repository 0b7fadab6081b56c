// The command as a package installs it: `serve` gives itself the allocator's setting that `npm start` and the unit have.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { afterEach, expect, test } from "vitest";
import { temporaryDirectory } from "../ledger/_fixtures.ts";
import { ENTRY } from "./_process.ts";

const BIN = join(dirname(ENTRY), "bin.js");
let service: ChildProcess | undefined;
afterEach(() => void service?.kill("SIGKILL"));

/** Arenas of the running service, whether its process is still the one that was started, and its end. */
async function serve(environment: Record<string, string>) {
  const flags = ["--port", "0", "--json", "--no-sample", "--data-dir", temporaryDirectory()];
  const { PATH = "" } = process.env;
  const child = spawn(process.execPath, [BIN, "serve", ...flags], {
    env: { PATH, TRUSTRANK_QUEUE_MS_MAX: "0", TRUSTRANK_DRAIN_MS: "0", ...environment },
    stdio: ["ignore", "pipe", "pipe"],
  });
  service = child;
  let stderr = "";
  child.stderr.on("data", (piece) => (stderr += piece));
  const [line] = (await once(createInterface(child.stdout), "line")) as [string];
  const { pid } = JSON.parse(line) as { pid: number };
  const variables = readFileSync(`/proc/${pid}/environ`, "utf8").split("\0");
  child.kill("SIGTERM");
  const [code] = (await once(child, "exit")) as [number | null];
  const arenas = variables.filter((each) => each.startsWith("MALLOC_ARENA_MAX="));
  return { arenas, isSameProcess: pid === child.pid, code, stderr };
}

test("`serve` keeps two arenas, in the process that was started", async () => {
  const { stderr, ...rest } = await serve({});
  expect(rest, stderr).toEqual({ arenas: ["MALLOC_ARENA_MAX=2"], isSameProcess: true, code: 0 });
  expect(stderr).not.toContain("execve");
});

test("a setting of the operator's stands", async () => {
  const { arenas } = await serve({ MALLOC_ARENA_MAX: "4" });
  expect(arenas).toEqual(["MALLOC_ARENA_MAX=4"]);
});
