// Log of a real service on stderr: one JSON object a line from its start to its end, on one thread and
// on several, at each level, and for people where they ask for it.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { endAll, type Ended, runCommand, startCommand } from "../_process.ts";

const folder = mkdtempSync(join(tmpdir(), "trustrank-log-"));
const OWN_KEY = "operator-own-admin-key-of-40-characters";

afterAll(async () => {
  await endAll();
  rmSync(folder, { recursive: true, force: true });
});

/** Starts, asks `paths` with the operator's key, stops. */
async function served(
  flags: readonly string[],
  paths: readonly string[],
  environment: Record<string, string> = {},
): Promise<Ended> {
  const dataDir = mkdtempSync(join(folder, "data-"));
  const at = ["--port", "0", "--no-sample", "--json", "--data-dir", dataDir];
  const started = startCommand(["serve", ...at, ...flags], {
    TRUSTRANK_ADMIN_KEY: OWN_KEY,
    ...environment,
  });
  const { url } = JSON.parse(await started.firstLine) as { url: string };
  for (const path of paths) {
    const headers = { authorization: `Bearer ${OWN_KEY}`, connection: "close" };
    await (await fetch(url + path, { headers })).text();
  }
  started.process.kill("SIGTERM");
  return started.ended;
}

function linesOf(stderr: string): Record<string, unknown>[] {
  return stderr
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));
}

it("is one JSON object a line from the start to the end", async () => {
  const { code, stderr } = await served(["--metrics-listen", "0.0.0.0:0"], ["/nothing"]);
  const all = linesOf(stderr);
  // A busy machine, or its own settings such as extra certificates that are missing, may add others.
  const warned = new Set(["metrics_listener_open"]);
  const lines = all.filter(({ level, message }) => level !== "warn" || warned.has(String(message)));
  expect(code).toBe(0);
  expect(lines.map(({ message }) => message)).toEqual([
    "service_starting",
    "metrics_listener_open",
    "service_listening",
    "service_ending",
  ]);
  expect(lines[2]).toMatchObject({ level: "info", http_threads: 1, pid: expect.any(Number) });
  expect(lines[3]).toMatchObject({ detail: "SIGTERM: draining" });
  for (const { time } of all) expect(new Date(String(time)).toISOString()).toBe(time);
  expect(stderr).not.toContain(OWN_KEY);
});

it("tells at the level debug of each refused request, on every thread", async () => {
  const paths = Array.from({ length: 12 }, () => "/v1/trust/verify");
  const flags = ["--http-threads", "3", "--log-level", "debug"];
  const { code, stderr } = await served(flags, [...paths, "/nothing"]);
  expect(code).toBe(0);
  const refused = linesOf(stderr).filter(({ message }) => message === "request_refused");
  expect(refused).toHaveLength(paths.length + 1);
  for (const line of refused) {
    expect(line).toMatchObject({ level: "debug", request_id: expect.stringMatching(/^0\w{7}-/) });
  }
  const codes = new Set(refused.map((line) => line["code"]));
  expect(codes).toEqual(new Set(["method_not_allowed", "not_found"]));
});

it("leaves out what is below its level", async () => {
  const { stderr } = await served([], ["/nothing"], { TRUSTRANK_LOG_LEVEL: "warn" });
  // A busy machine may be worth a warning.
  expect(stderr).not.toMatch(/"level":"(?:info|debug)"/);
});

it("is text for people where they want it", async () => {
  const { stderr } = await served(["--log-format", "human"], []);
  const lines = stderr.trimEnd().split("\n");
  for (const line of lines) expect(line).toMatch(/^\d\d:\d\d:\d\d\.\d{3} (?:INFO |WARN ) [a-z_]+ /);
  // On a busy machine there may be a warning beside them.
  const told = lines.filter((line) => / INFO {2}service_[a-z]+ /.test(line));
  expect(told).toHaveLength(3);
});

it("has the form of the log when the settings are wrong, the log's own too", async () => {
  const said = async (flags: readonly string[]) => {
    const { code, stderr } = await runCommand(["serve", "--data-dir", folder, ...flags]);
    return [code, ...stderr.trimEnd().split("\n")];
  };
  const failed = (detail: string) => [
    2,
    expect.stringContaining(`"service_failed","detail":"${detail}`),
  ];
  expect(await said(["--log-level", "loud"])).toEqual(failed("--log-level: `loud` is not one of"));
  expect(await said(["--log-format", "xml"])).toEqual(failed("--log-format: `xml` is not one of"));
  const file = join(folder, "wrong.yaml");
  writeFileSync(file, "port: many\nlog_level: quiet\n");
  const [code, line] = await said(["--config", file]);
  expect(code).toBe(2);
  expect(JSON.parse(String(line)).detail).toMatch(/\/port: .*\n.*\/log_level: /);
  const human = await said(["--port", "many", "--log-format", "human"]);
  expect(human).toEqual([2, expect.stringMatching(/^trustrank: --port: /)]);
});

it("turns warnings, foreign lines and uncaught errors into events", async () => {
  // Runs inside the service: what a package or a worker thread might do.
  const preload = join(folder, "preload.mjs");
  writeFileSync(
    preload,
    `import { isMainThread, Worker } from "node:worker_threads";
     const misbehave = async () => {
       process.emitWarning("beware", "CustomWarning");
       await new Promise(setImmediate);
       process.stderr.write("half a "); process.stderr.write("line\\nand another\\n");
       new Worker("console.error('from a thread')", { eval: true, execArgv: [] })
         .on("exit", () => setTimeout(() => { throw new Error("nobody caught me"); }, 50));
     };
     if (isMainThread) {
       // It listens by then.
       const write = process.stdout.write.bind(process.stdout);
       process.stdout.write = (...given) => {
         process.stdout.write = write;
         setTimeout(misbehave, 100);
         return write(...given);
       };
     }`,
  );
  const at = ["--port", "0", "--no-sample", "--json", "--data-dir", join(folder, "foreign")];
  const { code, stderr } = await runCommand(["serve", ...at], {
    NODE_OPTIONS: `--import ${preload}`,
  });
  expect(code).toBe(1);
  const lines = linesOf(stderr).filter(({ message }) => !String(message).startsWith("service_"));
  // Behind these, calls that the end interrupted.
  expect(lines.slice(0, 5)).toMatchObject([
    { message: "process_warning", detail: "CustomWarning: beware" },
    { message: "stderr_line", detail: "half a line" },
    { message: "stderr_line", detail: "and another" },
    { message: "stderr_line", detail: "from a thread" },
    { message: "uncaught_exception", error: expect.stringContaining("nobody caught me\n    at ") },
  ]);
});
