// A process for other people's work: limited in memory, and behind the service that it serves, also where Linux shares
// the processors out by session, of which it is one of its own.
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { getPriority } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, test } from "vitest";
import { startLimitedProcess } from "../../src/platform/limited-process.ts";
import { temporaryDirectory } from "../ledger/_fixtures.ts";

const MEBIBYTE = 1024 * 1024;
const AUTOGROUP = "/proc/self/autogroup";

/** A process that says once who it is, and stays. */
async function started() {
  const entry = join(temporaryDirectory(), "entry.mjs");
  writeFileSync(entry, "process.send({ pid: process.pid }); process.on('message', () => {});");
  const said = Promise.withResolvers<number>();
  const child = startLimitedProcess({
    entry: pathToFileURL(entry),
    memoryBytes: 1024 * MEBIBYTE,
    heapMegabytes: 64,
    threads: 1,
    onMessage: (message) => said.resolve((message as { pid: number }).pid),
  });
  return { child, pid: await said.promise };
}

test("it is behind other work, by its threads and by its session", async () => {
  const { child, pid } = await started();
  expect(getPriority(pid)).toBe(Math.min(19, getPriority() + 10));
  if (existsSync(AUTOGROUP)) {
    const niceOf = (of: number | "self") => readFileSync(`/proc/${of}/autogroup`, "utf8");
    const isOn = niceOf("self") !== "";
    if (isOn) expect(niceOf(pid)).toMatch(/ nice 10\n$/);
    expect(niceOf("self")).not.toMatch(/ nice 10\n$/);
  }
  child.kill();
  expect(await child.whenEnded).toBe("signal SIGKILL");
});

test("a limit that cannot be set ends it before it runs", async () => {
  const child = startLimitedProcess({
    entry: new URL("file:///nowhere"),
    memoryBytes: Number.NaN,
    heapMegabytes: 64,
    threads: 1,
    onMessage: () => undefined,
  });
  expect(await child.whenEnded).toMatch(/exit code|not started/);
});
