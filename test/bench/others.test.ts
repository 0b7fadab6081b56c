// CPU of other processes: what the bench and its children use is its own, also once they have ended.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { expect, test } from "vitest";
import { shareOfOthers, treeCpuSeconds, watchOthers } from "../../bench/load/others.ts";

test("own is the whole tree, ended children included", async () => {
  const before = treeCpuSeconds(process.pid);
  // A shell that has a child of its own do the work, and awaits it.
  const work =
    "const until = process.cpuUsage().user + 3e5; while (process.cpuUsage().user < until);";
  const shell = spawn("sh", ["-c", `"$0" -e "$1"; true`, process.execPath, work]);
  await once(shell, "exit");
  await expect.poll(() => treeCpuSeconds(process.pid) - before).toBeGreaterThan(0.25);
});

test("others have what is neither idle nor own", () => {
  const before = { atMs: 0, busySec: 10, ownSec: 2 };
  expect(shareOfOthers(before, { atMs: 10_000, busySec: 25, ownSec: 12 }, 2)).toBe(0.25);
  // Ticks are counted one by one, in 10 ms.
  expect(shareOfOthers(before, { atMs: 10_000, busySec: 12, ownSec: 4.01 }, 2)).toBe(0);
});

test("a process that has ended has used nothing more", () => {
  expect(treeCpuSeconds(2 ** 22)).toBe(0);
  expect(watchOthers()()).toBeGreaterThanOrEqual(0);
});
