// Owner file: which directory it belongs to, and whether its process still runs.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import {
  hasOwnerEnded,
  isFromOtherDirectory,
  buildThisProcessOwner,
} from "../../../src/journal/ownership/owner.ts";
import { temporaryDirectory } from "../../ledger/_fixtures.ts";
import { needsThat } from "../../_needs.ts";

const LINUX = needsThat(process.platform === "linux", "only on Linux");
test("a zombie has ended, a sleeper has not", LINUX, async () => {
  // exec takes the shell's place, and never asks how the shell's child ended.
  const script = "exec 3<&0; cat <&3 >/dev/null & echo $!; exec sleep 1000";
  const parent = spawn("sh", ["-c", script], { stdio: ["pipe", "pipe", "ignore"] });
  const [line] = (await once(parent.stdout, "data")) as [Buffer];
  const zombie = {
    ...buildThisProcessOwner(temporaryDirectory(), 1),
    pid: Number(line.toString()),
  };
  const stat = (pid: number) => readFileSync(`/proc/${pid}/stat`, "latin1");
  await expect.poll(() => stat(parent.pid!)).toContain("(sleep)");
  expect(hasOwnerEnded(zombie)).toBe(false);
  parent.stdin.end();
  await expect.poll(() => stat(zombie.pid)).toMatch(/\) Z /);
  expect(hasOwnerEnded(zombie)).toBe(true);
  expect(hasOwnerEnded({ ...zombie, pid: parent.pid! })).toBe(false);
  expect(hasOwnerEnded({ ...zombie, pid: 2 ** 22 + 1 })).toBe(true);
  // Nobody can know from another namespace, or of another machine.
  expect(hasOwnerEnded({ ...zombie, pidNamespace: "pid:[1]" })).toBe(false);
  expect(hasOwnerEnded({ ...zombie, boot: "another" })).toBe(false);
  parent.kill("SIGKILL");
});

test("a file belongs to the directory that it was written in, also after a boot", () => {
  const directory = temporaryDirectory();
  const owner = buildThisProcessOwner(directory, 1);
  const [device, inode] = owner.directory.split(":") as [string, string];
  expect(isFromOtherDirectory(owner, directory)).toBe(false);
  expect(isFromOtherDirectory(owner, temporaryDirectory())).toBe(true);
  expect(isFromOtherDirectory({ ...owner, directory: `${device}1:${inode}` }, directory)).toBe(
    true,
  );
  // Another boot may count the devices anew.
  const before = { ...owner, directory: `${device}1:${inode}`, boot: "before" };
  expect(isFromOtherDirectory(before, directory)).toBe(false);
  expect(isFromOtherDirectory({ ...before, directory: `${device}:${inode}1` }, directory)).toBe(
    true,
  );
});
