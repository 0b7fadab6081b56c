// A disk that runs out of room: refused before it is full, finished when it is, healed when room
// comes back. On a real small file system where root may mount one, and on simulated files.
import * as fs from "node:fs";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { createEngineMemory } from "../../../src/engine/memory.ts";
import { BALLAST_FILE, DiskReserve } from "../../../src/ledger/disk/reserve.ts";
import { diskFileLayer } from "../../../src/platform/files.ts";
import { type OpenLedger, startLedger } from "../../../src/ledger/client.ts";
import { VERDICT_RECORDED, VERDICT_DISK_FULL } from "../../../src/ledger/replay-guard.ts";
import {
  newKey,
  NOW_MS,
  openCore,
  recordOf,
  runOf,
  seededRandom,
  temporaryDirectory,
} from "../_fixtures.ts";
import { SimulatedFiles } from "../../journal/_simulated-files.ts";
import { fillUp, mountSmall, unmount } from "../_small-disk.ts";
import { needs } from "../../_needs.ts";

const MEBIBYTE = 1024 * 1024;
const RESERVE = 4 * MEBIBYTE;
const key = newKey();

const open: OpenLedger[] = [];
const mounts: string[] = [];
afterEach(async () => {
  await Promise.all(open.splice(0).map((ledger) => ledger.close()));
  for (const mount of mounts.splice(0)) unmount(mount);
});

async function openLedger(dataDir: string): Promise<OpenLedger> {
  const ledger = await startLedger({
    dataDir,
    engineMemory: createEngineMemory(),
    onFatal: () => undefined,
    clock: () => NOW_MS,
    reserveBytes: RESERVE,
  });
  open.push(ledger);
  return ledger;
}

const keyEvent = (number: number) => Buffer.from(JSON.stringify({ event: "note", number }));

test(
  "a real disk: refused before it is full, finished on it, healed after it",
  needs("mount a tmpfs"),
  async () => {
    const mount = join(temporaryDirectory(), "small");
    mountSmall(mount, 24);
    mounts.push(mount);
    const dataDir = join(mount, "data");
    const ballast = join(dataDir, "journal", BALLAST_FILE);
    const filler = join(mount, "filler");

    const ledger = await openLedger(dataDir);
    const poll = (look: () => unknown) => expect.poll(look, { interval: 20 });
    await poll(() => ledger.disk.ballastBytes).toBe(RESERVE);
    // Blocks, not a promise of blocks.
    expect(fs.statSync(ballast).blocks * 512).toBeGreaterThanOrEqual(RESERVE);
    expect((await ledger.append(recordOf(1))).position).toBe(1);

    // Nearly full: outcomes are refused while there is room still, revocations are not.
    fillUp(filler, RESERVE - MEBIBYTE);
    await expect(ledger.append(recordOf(2))).rejects.toMatchObject({ code: "journal_unavailable" });
    await poll(() => ledger.disk).toMatchObject({ isLow: true, ballastBytes: RESERVE });
    expect(ledger.isHealthy()).toBe(false);
    expect(await ledger.appendKeyEvent(keyEvent(1))).toBe(2);

    // Full to the last byte: the ballast makes room for what must be written.
    fillUp(filler, 0);
    expect(await ledger.appendKeyEvent(keyEvent(2))).toBe(3);
    await poll(() => fs.existsSync(ballast)).toBe(false);
    await expect(ledger.append(recordOf(3))).rejects.toMatchObject({ code: "journal_unavailable" });
    expect(ledger.isHealthy()).toBe(false);

    fs.rmSync(filler);
    await poll(() => ledger.isHealthy()).toBe(true);
    await poll(() => ledger.disk.ballastBytes).toBe(RESERVE);
    expect((await ledger.append(recordOf(4))).position).toBe(4);
    await ledger.close();

    const again = await openLedger(dataDir);
    expect(again.replay.outcomes).toBe(2);
    expect(again.keyEvents).toHaveLength(2);
    expect(again.disk.isLow).toBe(false);
  },
);

test("a batch that meets the end of the disk is finished with the ballast's room", () => {
  const files = new SimulatedFiles(seededRandom(3));
  const { core } = openCore("/j", key, { files, reserveBytes: 100_000 });
  while (core.probeDisk());
  expect(core.space).toMatchObject({ ballastBytes: 100_000, isLow: false });
  const commit = (index: number) => core.commit([runOf([recordOf(index)])], NOW_MS)[0]?.verdict;
  expect(commit(1)).toBe(VERDICT_RECORDED);
  // Somebody takes the rest of the disk between the look and the write.
  files.capacity = files.usedBytes() + 10;
  const lookOnce = [Infinity];
  files.freeBytes = () => lookOnce.pop() ?? Math.max(0, files.capacity - files.usedBytes());
  expect(commit(2)).toBe(VERDICT_RECORDED);
  expect(core.space).toMatchObject({ ballastBytes: 0, isLow: true });
  expect(core.isHealthy).toBe(false);
  expect(commit(3)).toBe(VERDICT_DISK_FULL);
  expect(core.probeDisk()).toBe(false);
  expect(core.isHealthy).toBe(false);
  // Room for the ballast alone is not room for outcomes.
  files.capacity += 90_000;
  core.probeDisk();
  expect(core.isHealthy).toBe(false);
  files.capacity += 1_000_000;
  while (core.probeDisk());
  expect(core.space).toMatchObject({ ballastBytes: 100_000, isLow: false });
  expect(commit(4)).toBe(VERDICT_RECORDED);
  files.crash();
  expect(openCore("/j", key, { files }).folded).toHaveLength(3);
});

test("a ballast of another size is replaced, one that is not wanted removed", () => {
  const directory = temporaryDirectory();
  const grow = (bytes: number) => {
    const reserve = new DiskReserve(diskFileLayer, directory, bytes);
    while (reserve.growBallast());
    return fs.existsSync(join(directory, BALLAST_FILE))
      ? fs.statSync(join(directory, BALLAST_FILE)).size
      : undefined;
  };
  expect(grow(3 * MEBIBYTE + 5)).toBe(3 * MEBIBYTE + 5);
  expect(grow(4 * MEBIBYTE)).toBe(4 * MEBIBYTE);
  expect(grow(MEBIBYTE)).toBe(MEBIBYTE);
  expect(grow(0)).toBeUndefined();
});

test("a quota that free space does not show: the ballast gives way and waits", () => {
  const files = new SimulatedFiles(seededRandom(5));
  const { core } = openCore("/j", key, { files, reserveBytes: 50_000 });
  files.freeBytes = () => 1e9;
  files.capacity = files.usedBytes() + 30_000;
  expect(core.probeDisk()).toBe(false);
  expect(core.space.ballastBytes).toBe(0);
  const commit = (index: number) => core.commit([runOf([recordOf(index)])], NOW_MS)[0]?.verdict;
  expect(commit(1)).toBe(VERDICT_RECORDED);
  files.capacity = Infinity;
  for (let calls = 0; calls < 100; calls++) core.probeDisk();
  expect(core.space.ballastBytes).toBe(0);
  for (let calls = 0; calls < 100; calls++) core.probeDisk();
  expect(core.space.ballastBytes).toBe(50_000);
});

test("a process that ends on a full disk leaves the ballast's room to the others", () => {
  const files = new SimulatedFiles(seededRandom(4));
  const { core } = openCore("/j", key, { files, reserveBytes: 50_000 });
  while (core.probeDisk());
  files.capacity = files.usedBytes() + 20_000;
  core.probeDisk();
  expect(core.space).toMatchObject({ ballastBytes: 50_000, isLow: true });
  core.close();
  expect(files.freeBytes("/j")).toBe(70_000);
});
