// Servers of a bench: they end with it, also where it throws in a place that nobody waits for, and when it
// is told to end.
import { execFile } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, expect, test } from "vitest";

const directory = mkdtempSync(path.join(tmpdir(), "trustrank-children-"));
const script = path.join(directory, "bench.ts");
const CHILDREN = pathToFileURL("bench/load/children.ts").href;
afterAll(() => rmSync(directory, { recursive: true, force: true }));

/** A bench with a child that never ends by itself, which then does `end`. */
async function benchThat(end: string) {
  writeFileSync(
    script,
    `import { spawn } from "node:child_process";
     import { endingWithMe } from "${CHILDREN}";
     const child = spawn(process.execPath, ["-e", "setInterval(() => 0, 1000)"], { stdio: "ignore" });
     endingWithMe({ url: "", pid: child.pid!, dataDir: "", cpuSeconds: () => 0, stop: async () => 0 });
     child.once("spawn", () => {
       process.stdout.write(String(child.pid));
       ${end}
     });`,
  );
  const flags = ["--disable-warning=ExperimentalWarning", script];
  const bench = execFile(process.execPath, flags);
  const gone = once(bench, "exit");
  const [pid] = (await once(bench.stdout!, "data")) as [string];
  return { bench, gone, isRunning: () => isRunning(Number(pid)) };
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

test("a rejection that nobody waits for", async () => {
  const { gone, isRunning: isAlive } = await benchThat('void Promise.reject(new Error("lost"));');
  expect(await gone).toEqual([1, null]);
  await expect.poll(isAlive).toBe(false);
});

test("a signal", async () => {
  const { bench, gone, isRunning: isAlive } = await benchThat("");
  expect(isAlive()).toBe(true);
  bench.kill("SIGTERM");
  expect(await gone).toEqual([143, null]);
  await expect.poll(isAlive).toBe(false);
});
