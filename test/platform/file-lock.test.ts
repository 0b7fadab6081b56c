// Lock on a file: one holder, also within a process, until it lets go.
import { existsSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { isFileLocked, lockFile, findNetworkFileSystem } from "../../src/platform/file-lock.ts";
import { temporaryDirectory } from "../ledger/_fixtures.ts";
import { needsThat } from "../_needs.ts";

test("one holder at a time; reading the file changes nothing", () => {
  const path = join(temporaryDirectory(), "lock");
  expect(isFileLocked(path)).toBe(false);
  expect(existsSync(path)).toBe(false);
  const lock = lockFile(path)!;
  expect(lockFile(path)).toBeUndefined();
  readFileSync(path);
  expect(isFileLocked(path)).toBe(true);
  expect(lockFile(path)).toBeUndefined();
  lock.release();
  expect(isFileLocked(path)).toBe(false);
  const next = lockFile(path)!;
  // A lock whose file was removed guards nothing.
  rmSync(path);
  expect(isFileLocked(path)).toBe(false);
  next.release();
});

const LINUX = needsThat(process.platform === "linux", "only on Linux");
test("file systems of other machines are known", LINUX, () => {
  const typed = (type: number) => findNetworkFileSystem("/", () => type);
  expect([typed(0x6969), typed(0xff534d42), typed(-11317950)]).toEqual(["NFS", "SMB", "SMB"]);
  expect([typed(0xef53), typed(0x01021994), findNetworkFileSystem("/proc")]).toEqual([
    undefined,
    undefined,
    undefined,
  ]);
});
