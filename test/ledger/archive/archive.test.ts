// The archive: what a shipment adds, that what was there stays in force until the next is whole, and what
// it does with a journal or a directory that is not the one it knows.
import { cpSync, existsSync, renameSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, expect, test } from "vitest";
import { JournalDamaged } from "../../../src/journal/faults.ts";
import { diskFileLayer } from "../../../src/platform/files.ts";
import { parseSegmentNames } from "../../../src/journal/format.ts";
import { listStoredParts } from "../../../src/ledger/backup/manifest.ts";
import { restoreBackup } from "../../../src/ledger/backup/restore.ts";
import { readArchiveState } from "../../../src/ledger/archive/states.ts";
import { temporaryDirectory } from "../_fixtures.ts";
import {
  atEachStep,
  back,
  inodesOf,
  readFiles,
  stoppedAt,
  watched,
  writeFiles,
} from "../backup/_directories.ts";
import { SERVICE_ID, Stage } from "./_archives.ts";

const MINUTE_MS = 60_000;

let stage: Stage;

beforeEach(() => {
  stage = new Stage();
  stage.journal.grow(7);
  return () => stage.close();
});

const sound = () => ({ position: stage.journal.position, damages: [] });

test("a shipment adds what is new as an object, and a sealed segment once", () => {
  const archive = stage.open();
  expect(stage.ship(archive)).toEqual({ position: 35, parted: undefined });
  const before = inodesOf(join(stage.target, "objects"));
  stage.journal.grow(1);
  stage.ship(archive);
  const fresh = [...inodesOf(join(stage.target, "objects")).keys()].filter((n) => !before.has(n));
  expect(fresh).toHaveLength(1);
  const open = stage.manifest().segments.at(-1)!;
  expect(open.parts!.map(({ sha256 }) => sha256)).toContain(fresh[0]);
  expect(stage.verified()).toEqual(sound());
  stage.journal.grow(8);
  stage.ship(archive);
  const after = inodesOf(join(stage.target, "objects"));
  const { segments } = stage.manifest();
  expect(segments.length).toBeGreaterThan(2);
  for (const { is_sealed: isSealed, parts } of segments)
    if (isSealed) expect(parts).toBe(undefined);
  expect(after.get(segments[0]!.sha256)).toBe(before.get(segments[0]!.sha256));
  expect(stage.verified()).toEqual(sound());
});

test("nothing new writes nothing", () => {
  const archive = stage.open();
  stage.ship(archive);
  const before = inodesOf(stage.target);
  stage.ship(archive);
  expect(inodesOf(stage.target)).toEqual(before);
});

test("it is never ahead of what is durable", () => {
  const young = new Stage();
  young.journal.grow(4);
  let durable = 0;
  const archive = young.open({ durable: () => durable });
  for (const position of [0, 10, 15, 20]) {
    durable = position;
    expect(young.ship(archive).position).toBe(position);
    expect(young.verified()).toEqual({ position, damages: [] });
  }
  young.close();
});

test("a journal that ends before what is durable is damage, and ships no less than before", () => {
  let durable = 35;
  const archive = stage.open({ durable: () => durable });
  stage.ship(archive);
  durable = 36;
  expect(() => stage.ship(archive)).toThrow(JournalDamaged);
  expect(stage.verified()).toEqual(sound());
});

test("what it restores is the journal, to the end and to a point in time", async () => {
  const archive = stage.open();
  for (let round = 0; round < 6; round++) {
    stage.journal.grow(1);
    stage.ship(archive);
  }
  const journalOf = (root: string) => readFiles(join(root, "journal"));
  const into = join(temporaryDirectory(), "whole");
  const { point } = await restoreBackup({
    files: diskFileLayer,
    backup: stage.target,
    dataDir: into,
  });
  expect(point.lsn).toBe(stage.journal.position);
  expect(journalOf(into)).toEqual(journalOf(stage.dataDir));
  const cut = join(temporaryDirectory(), "cut");
  const until = { position: 52 };
  const part = await restoreBackup({
    files: diskFileLayer,
    backup: stage.target,
    dataDir: cut,
    until,
  });
  expect(part.point.lsn).toBe(50);
  const newest = parseSegmentNames(diskFileLayer.list(join(cut, "journal"))).at(-1)!.name;
  expect(journalOf(stage.dataDir)[newest]).toMatch(/^TRJOURNL/);
  expect(journalOf(stage.dataDir)[newest]!.startsWith(journalOf(cut)[newest]!)).toBe(true);
});

test("stopped at any step, what was shipped is in force, and the same process goes on", async () => {
  stage.ship(stage.open());
  const former = stage.journal.position;
  stage.close();
  const copy = join(temporaryDirectory(), "copy");
  cpSync(stage.target, copy, { recursive: true });
  writeFiles(stage.dataDir, { "keys.json": '{"keys":[]}', "store-kept/1-1.spool": "one" });
  const positions: number[] = [];
  const steps = await atEachStep((_, step) => {
    rmSync(stage.target, { recursive: true });
    cpSync(copy, stage.target, { recursive: true });
    let layer = stoppedAt(step);
    // Its later shipments meet the real files.
    const files = new Proxy(diskFileLayer, { get: (_target, name) => Reflect.get(layer, name) });
    const archive = stage.open({ files, durable: () => former });
    try {
      stage.ship(archive);
    } finally {
      expect([step, stage.verified()]).toEqual([step, { position: former, damages: [] }]);
      layer = diskFileLayer;
      stage.ship(archive);
      expect([step, stage.verified().damages]).toEqual([step, []]);
      positions.push(stage.manifest().files.length);
      const named = [...stage.manifest().segments, ...stage.manifest().files].flatMap(
        listStoredParts,
      );
      const kept = new Set(named.map(({ sha256 }) => sha256));
      expect(stage.objects().filter((name) => name === "unfinished.tmp")).toEqual([]);
      for (const name of kept) expect(stage.objects()).toContain(name);
      archive.close();
    }
  });
  expect(steps).toBeGreaterThan(12);
  expect(new Set(positions)).toEqual(new Set([4]));
});

test("a full disk: nothing unnamed stays there, and with room it goes on", () => {
  let isFull = false;
  const files = watched((operation) => {
    if (operation === "write" && isFull) {
      throw Object.assign(new Error("ENOSPC: no space left"), { code: "ENOSPC" });
    }
  });
  const archive = stage.open({ files });
  stage.ship(archive);
  stage.journal.grow(9);
  stage.ship(archive);
  const former = sound();
  isFull = true;
  stage.journal.grow(2);
  expect(() => stage.ship(archive)).toThrow(/ENOSPC/);
  expect(stage.verified()).toEqual(former);
  const { segments, files: others } = stage.manifest();
  const named = [...segments, ...others].flatMap(listStoredParts).map(({ sha256 }) => sha256);
  expect(stage.objects()).toEqual([...new Set(named)].toSorted());
  isFull = false;
  stage.ship(archive);
  expect(stage.verified()).toEqual(sound());
});

test("a first shipment that failed does not read and write its sealed segments again", () => {
  stage.journal.grow(20);
  let isBroken = true;
  const written: unknown[] = [];
  const files = watched((operation, path) => {
    if (operation === "rename" && isBroken && String(path).endsWith("manifest.json.tmp")) {
      throw Object.assign(new Error("EIO: i/o error"), { code: "EIO" });
    }
    if (operation === "open" && String(path).includes("objects")) written.push(path);
  });
  const archive = stage.open({ files });
  expect(() => stage.ship(archive)).toThrow(/EIO/);
  const sealed = stage.objects();
  const first = written.splice(0).length;
  isBroken = false;
  stage.ship(archive);
  const { segments } = stage.manifest();
  expect(segments.length).toBeGreaterThan(4);
  expect(sealed).toHaveLength(segments.length - 1);
  expect(first - written.length).toBe(sealed.length);
  expect(stage.verified()).toEqual(sound());
});

test("a start goes on from what is there, and reads no object of it", () => {
  stage.ship(stage.open());
  stage.close();
  const before = inodesOf(join(stage.target, "objects"));
  const again = stage.open();
  stage.ship(again);
  expect(inodesOf(join(stage.target, "objects"))).toEqual(before);
});

test("a part that tore on the archive's disk is named, and the next start ships it anew", async () => {
  const archive = stage.open();
  stage.ship(archive);
  stage.journal.grow(1);
  stage.ship(archive);
  const torn = stage.manifest().segments.at(-1)!.parts!.at(-1)!;
  truncateSync(join(stage.target, "objects", torn.sha256), torn.bytes - 1);
  expect(stage.verified().damages).toEqual([expect.stringContaining(torn.sha256)]);
  const dataDir = join(temporaryDirectory(), "new");
  const restore = restoreBackup({ files: diskFileLayer, backup: stage.target, dataDir });
  await expect(restore).rejects.toThrow(torn.sha256);
  archive.close();
  stage.ship(stage.open());
  expect(stage.verified()).toEqual(sound());
});

test("an archive that goes further than the journal is kept as a state, whole", async () => {
  const journal = join(stage.dataDir, "journal");
  cpSync(journal, join(stage.dataDir, "older"), { recursive: true });
  stage.journal.grow(9);
  const archive = stage.open();
  stage.ship(archive);
  archive.close();
  const further = stage.journal.position;
  // Somebody puts an older copy in place.
  rmSync(journal, { recursive: true });
  renameSync(join(stage.dataDir, "older"), journal);
  const again = stage.open({ durable: () => 35 });
  const { position, parted } = stage.ship(again);
  expect(position).toBe(35);
  expect(parted).toMatch(/^parted-/);
  expect(stage.ship(again).parted).toBe(parted);
  // It still has all: another sweep takes nothing of it away.
  stage.nowMs += 40 * MINUTE_MS;
  stage.ship(again);
  stage.nowMs += 40 * MINUTE_MS;
  stage.ship(again);
  const manifest = readArchiveState(diskFileLayer, stage.target, parted!);
  const dataDir = join(temporaryDirectory(), "new");
  const restored = await restoreBackup({
    files: diskFileLayer,
    backup: stage.target,
    dataDir,
    manifest,
  });
  expect(restored.point.lsn).toBe(further);
});

test("another service's archive is refused, as are a backup's and other directories", () => {
  const archive = stage.open();
  stage.ship(archive);
  archive.close();
  expect(() => stage.ship(stage.open({}, "urn:two"))).toThrow(/archive of service `urn:one`/);
  expect(() => back(stage.dataDir, stage.target)).toThrow(/is the archive of a service/);
  const backup = join(temporaryDirectory(), "backup");
  back(stage.dataDir, backup);
  const onBackup = { target: backup };
  expect(() => stage.ship(stage.open(onBackup, "urn:two"))).toThrow(/archive of another service/);
  expect(stage.ship(stage.open(onBackup)).position).toBe(35);
  const within = { target: join(stage.dataDir, "archive") };
  expect(() => stage.ship(stage.open(within))).toThrow(/within the data directory/);
  expect(existsSync(within.target)).toBe(false);
});

test("one process ships at a time, with locks and where there are none", () => {
  const first = stage.open();
  stage.ship(first);
  expect(() => stage.ship(stage.open())).toThrow(/another process writes/);
  const claim = { service_id: SERVICE_ID, writer: "other", pid: 7, host: "there" };
  writeFileSync(join(stage.target, "archive.json"), JSON.stringify(claim));
  stage.journal.grow(1);
  expect(() => stage.ship(first)).toThrow(/pid 7 on host there/);
  // It does not take the archive back: two would take turns for ever.
  expect(() => stage.ship(first)).toThrow(/pid 7 on host there/);
  expect(stage.verified().position).toBe(35);
});

test("a disk that is no longer there is not replaced by what is below it", () => {
  const archive = stage.open();
  stage.ship(archive);
  const away = `${stage.target}-away`;
  renameSync(stage.target, away);
  diskFileLayer.makeDirectory(stage.target);
  stage.journal.grow(1);
  expect(() => stage.ship(archive)).toThrow(/is its disk mounted/);
  expect(diskFileLayer.list(stage.target)).toEqual([]);
  rmSync(stage.target, { recursive: true });
  renameSync(away, stage.target);
  stage.ship(archive);
  expect(stage.verified()).toEqual(sound());
});

test("a decision segment that grows is shipped in parts", () => {
  const path = join(stage.dataDir, "store-kept/1-1.spool");
  writeFiles(stage.dataDir, { "store-kept/1-1.spool": "one" });
  const archive = stage.open();
  stage.ship(archive);
  writeFileSync(path, "one two");
  stage.ship(archive);
  const file = stage.manifest().files.find((each) => each.path === "store-kept/1-1.spool")!;
  expect(file.parts!.map(({ bytes }) => bytes)).toEqual([3, 4]);
  expect(stage.verified()).toEqual(sound());
});
