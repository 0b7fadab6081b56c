// One owner per data directory, across processes and containers; and copies, which have their own.
import * as fs from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { loadBureauKey, verifyWithRawKey } from "../../src/journal/signing-key.ts";
import {
  claimDataDirectory,
  DataDirectoryInUse,
  DataDirectoryUnusable,
} from "../../src/journal/data-directory.ts";
import { fillUp, mountSmall, remountReadOnly, unmount } from "../ledger/_small-disk.ts";
import { temporaryDirectory } from "../ledger/_fixtures.ts";
import { CONTAINER, holder } from "./ownership/_holder.ts";
import { needs } from "../_needs.ts";

test("another process is refused, by name of the owner, until the owner is gone", async () => {
  const directory = temporaryDirectory();
  const { pid, said, kill } = await holder(directory);
  expect(said).toBe("held");
  await expect(claimDataDirectory(directory)).rejects.toThrow(DataDirectoryInUse);
  await expect(claimDataDirectory(directory)).rejects.toMatchObject({ pid });
  const who = `in use by pid ${pid} on host \`${hostname()}\`, started 20`;
  await expect(claimDataDirectory(directory)).rejects.toThrow(who);
  // By another path too: the lock is on the directory, not on its name.
  const alias = join(temporaryDirectory(), "alias");
  fs.symlinkSync(directory, alias);
  await expect(claimDataDirectory(alias)).rejects.toThrow(DataDirectoryInUse);
  await kill();
  const claim = await claimDataDirectory(directory);
  expect(claim.epoch).toBe(2);
  // The older locks of a process end with any descriptor of the file that it closes; this one not.
  fs.readFileSync(claim.paths.lock);
  const second = await holder(directory);
  expect(second.said).toContain(`in use by pid ${process.pid} on host`);
  await claim.release();
});

const CONTAINERS = needs("unshare", "make process and network namespaces");
test("an owner in another container is waited for, then named", CONTAINERS, async () => {
  const directory = temporaryDirectory();
  const first = await holder(directory, CONTAINER);
  expect(first.said).toBe("held");
  const waits: string[] = [];
  const onWait = (detail: string) => waits.push(detail);
  const refused = claimDataDirectory(directory, { waitMs: 150, onWait });
  await expect(refused).rejects.toThrow(/in use by pid 1 on host `box-a`, started 20/);
  expect(waits).toEqual([
    expect.stringMatching(/in use by pid 1 on host `box-a`.*: waiting up to 0\.15 s/),
  ]);
  const taken = claimDataDirectory(directory, { waitMs: 60_000, onWait });
  await first.kill();
  const claim = await taken;
  expect(claim.epoch).toBe(2);
  expect(waits).toHaveLength(2);
  // And the other way around: a container is refused while this process owns it.
  const { said } = await holder(directory, CONTAINER);
  expect(said).toContain(`in use by pid ${process.pid} on host`);
  await claim.release();
});

test("a wait that cannot help ends at once", async () => {
  const directory = temporaryDirectory();
  const first = await holder(directory);
  const isPointless = () => true;
  const refused = claimDataDirectory(directory, { waitMs: 1e9, isWaitOver: isPointless });
  await expect(refused).rejects.toThrow(DataDirectoryInUse);
  await first.kill();
});

test("a copy of a directory has an owner of its own, and is told to be a copy", async () => {
  const directory = temporaryDirectory();
  const live = await claimDataDirectory(directory);
  const copy = join(temporaryDirectory(), "copy");
  fs.cpSync(directory, copy, { recursive: true });
  const told: string[] = [];
  const onCopy = (detail: string) => told.push(detail);
  const claim = await claimDataDirectory(copy, { onCopy });
  expect(told).toEqual([expect.stringContaining(`that pid ${process.pid} on host`)]);
  await claim.release();
  // The live one still has its lock and its file.
  expect((await holder(directory)).said).toContain("in use by");
  expect(fs.existsSync(live.paths.owner)).toBe(true);
  await live.release();
  await (await claimDataDirectory(copy, { onCopy })).release();
  expect(told).toHaveLength(1);
});

test("parts of one process share the claim; the epoch rises with each owner", async () => {
  const directory = temporaryDirectory();
  const [first, second] = await Promise.all([
    claimDataDirectory(directory),
    claimDataDirectory(directory),
  ]);
  expect(second.epoch).toBe(first.epoch);
  await first.release();
  await first.release();
  const third = await claimDataDirectory(directory);
  expect(third.epoch).toBe(1);
  await second.release();
  await third.release();
  const later = await claimDataDirectory(directory);
  expect(later.epoch).toBe(2);
  expect(later.owner.id).not.toBe(third.owner.id);
  await later.release();
  expect(fs.existsSync(later.paths.owner)).toBe(false);
});

test("a directory is made with all that is missing above it, private", async () => {
  const root = join(temporaryDirectory(), "a", "b", "c");
  const claim = await claimDataDirectory(root);
  expect(fs.statSync(root).mode & 0o777).toBe(0o700);
  expect(fs.statSync(claim.paths.lock).mode & 0o777).toBe(0o600);
  await claim.release();
});

test("a directory that nobody can own says why", needs("mount a tmpfs"), async () => {
  const file = join(temporaryDirectory(), "file");
  fs.writeFileSync(file, "");
  await expect(claimDataDirectory(file)).rejects.toThrow(DataDirectoryUnusable);
  const disk = join(temporaryDirectory(), "disk");
  mountSmall(disk, 1);
  try {
    await (await claimDataDirectory(disk)).release();
    fillUp(join(disk, "filler"), 0);
    await expect(claimDataDirectory(disk)).rejects.toThrow(/: its disk is full, make room first/);
    fs.rmSync(join(disk, "filler"));
    await (await claimDataDirectory(disk)).release();
    remountReadOnly(disk);
    for (const directory of [disk, join(disk, "new", "one")]) {
      const refused = claimDataDirectory(directory);
      await expect(refused).rejects.toThrow(/: its file system is read-only$/);
    }
  } finally {
    unmount(disk);
  }
});

test("the bureau key is made once, private, and signs verifiably", () => {
  const path = join(temporaryDirectory(), "bureau.key");
  const key = loadBureauKey(path);
  expect(fs.statSync(path).mode & 0o777).toBe(0o600);
  const again = loadBureauKey(path);
  expect(again.publicKey).toEqual(key.publicKey);
  const message = Buffer.from("chain");
  expect(verifyWithRawKey(key.publicKey, message, again.sign(message))).toBe(true);
  expect(verifyWithRawKey(key.publicKey, Buffer.from("chaim"), key.sign(message))).toBe(false);
  expect(verifyWithRawKey(Buffer.alloc(3), message, key.sign(message))).toBe(false);
  fs.writeFileSync(path, "not a key");
  expect(() => loadBureauKey(path)).toThrow(/unsupported|DECODER|PEM/i);
});
