// Backups: what goes in, that nothing is copied twice, and that the former one stays in force until
// the new one is whole, whatever happens.
import { cpSync, existsSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, expect, test } from "vitest";
import { JournalDamaged } from "../../../src/journal/faults.ts";
import { diskFileLayer } from "../../../src/platform/files.ts";
import { formatSegmentName, parseSegmentNames } from "../../../src/journal/format.ts";
import { requireManifest } from "../../../src/ledger/backup/manifest.ts";
import { verifyBackup } from "../../../src/ledger/backup/verify.ts";
import { setHighWater } from "../../../src/ledger/snapshot/high-water.ts";
import { lockFile } from "../../../src/platform/file-lock.ts";
import { temporaryDirectory } from "../_fixtures.ts";
import {
  atEachStep,
  back,
  GrowingJournal,
  inodesOf,
  stoppedAt,
  watched,
  writeFiles,
} from "./_directories.ts";

let dataDir: string;
let target: string;
let journal: GrowingJournal;

beforeEach(() => {
  dataDir = temporaryDirectory();
  target = join(temporaryDirectory(), "backup");
  journal = new GrowingJournal(dataDir);
  journal.grow(14);
  writeFiles(dataDir, { "keys.json": "{}", "kaizen/state.json": '{"promotions":[]}' });
  return () => journal.core.close();
});

const segments = () => parseSegmentNames(diskFileLayer.list(join(dataDir, "journal")));
const verified = () => {
  const { manifest, damages } = verifyBackup(diskFileLayer, target);
  return { position: manifest.position, damages };
};

test("a backup is private, and holds all that cannot be made again", () => {
  const names = {
    "service-id": "id",
    "kaizen/configs/c-1.json": "{}",
    "store-kept/1-1.spool": "s",
    "journal/quarantine-1-seg-1.log": "q",
    "later/unknown.bin": "kept, since nobody knows",
  };
  const derived = {
    lock: "",
    epoch: "3",
    "owner.json": "{}",
    "server.json": "{}",
    "high-water": "",
    "store/outcomes.duckdb": "d",
    "store-export/x.parquet": "x",
    "store-queries/outcomes.duckdb": "q",
    "kaizen/state.json.tmp": "half",
    "journal/ballast": "0",
    "snapshots/snap-1.bin": "not one",
  };
  writeFiles(dataDir, { ...names, ...derived });
  rmSync(join(dataDir, "high-water"));
  const { manifest } = back(dataDir, target);
  const always = ["bureau.key", "kaizen/state.json", "keys.json"];
  expect(manifest.files.map(({ path }) => path)).toEqual(
    [...always, ...Object.keys(names)].toSorted(),
  );
  expect(manifest.position).toBe(journal.position);
  expect(manifest.segments.map(({ first }) => formatSegmentName(first))).toEqual(
    segments().map(({ name }) => name),
  );
  expect(manifest.segments.length).toBeGreaterThan(2);
  expect(statSync(target).mode & 0o777).toBe(0o700);
  expect(verified()).toEqual({ position: journal.position, damages: [] });
});

test("what a backup has is not copied again, and what it needs no more is removed", () => {
  back(dataDir, target);
  const before = inodesOf(join(target, "objects"));
  const first = requireManifest(diskFileLayer, target);
  journal.grow(6);
  writeFiles(dataDir, { "keys.json": '{"keys":[]}' });
  const { bytesWritten, formerPosition } = back(dataDir, target);
  const second = requireManifest(diskFileLayer, target);
  const after = inodesOf(join(target, "objects"));
  expect(formerPosition).toBe(first.position);
  for (const { sha256, is_sealed: isSealed } of first.segments) {
    expect(after.get(sha256)).toBe(isSealed ? before.get(sha256) : undefined);
  }
  const stored = [...second.segments, ...second.files];
  expect(after.size).toBe(new Set(stored.map(({ sha256 }) => sha256)).size);
  const fresh = stored.filter(({ sha256 }) => !before.has(sha256));
  expect(bytesWritten).toBe(fresh.reduce((sum, { bytes }) => sum + bytes, 0));
  expect(back(dataDir, target).bytesWritten).toBe(0);
  expect(verified()).toEqual({ position: journal.position, damages: [] });
});

test("outcomes come in while it runs: it ends at a commit, with files of the same moment", () => {
  let turns = 0;
  const busy = watched((operation, path) => {
    if (operation !== "open" || !String(path).includes("objects") || turns > 9) return;
    turns++;
    journal.grow(1);
    // Like a promotion: a record, then the file.
    writeFiles(dataDir, { "kaizen/state.json": `{"position":${journal.position}}` });
  });
  const { manifest } = back(dataDir, target, busy);
  expect(turns).toBe(10);
  expect(verified()).toEqual({ position: manifest.position, damages: [] });
  const state = manifest.files.find(({ path }) => path === "kaizen/state.json")!;
  const text = readFileSync(join(target, "objects", state.sha256), "utf8");
  expect(JSON.parse(text)).toEqual({ position: journal.position });
  expect(manifest.position).toBe(journal.position);
});

test("stopped at any step, the former backup is in force, and the next run goes on", async () => {
  back(dataDir, target);
  const former = journal.position;
  const copy = join(temporaryDirectory(), "copy");
  cpSync(target, copy, { recursive: true });
  journal.grow(4);
  const positions: number[] = [];
  const steps = await atEachStep((files, step) => {
    rmSync(target, { recursive: true });
    cpSync(copy, target, { recursive: true });
    try {
      back(dataDir, target, files);
    } finally {
      const { position, damages } = verified();
      expect([step, damages]).toEqual([step, []]);
      positions.push(position);
    }
  });
  expect(steps).toBeGreaterThan(12);
  // The manifest puts the new one in force; the few steps after it only clear up.
  const isNew = positions.findIndex((position) => position === journal.position);
  expect(isNew).toBeGreaterThan(8);
  expect(new Set(positions.slice(0, isNew))).toEqual(new Set([former]));
  expect(new Set(positions.slice(isNew))).toEqual(new Set([journal.position]));
  expect(verified().position).toBe(journal.position);
  expect(diskFileLayer.list(target).toSorted()).toEqual(["lock", "manifest.json", "objects"]);
});

test("a first backup that is stopped is none, and the next run makes it", async () => {
  await atEachStep(
    (files) => back(dataDir, target, files),
    (step) => stoppedAt(step * 5),
  );
  expect(verified()).toEqual({ position: journal.position, damages: [] });
});

test("a full disk is named, and leaves the former backup and no rest", () => {
  back(dataDir, target);
  const former = journal.position;
  journal.grow(4);
  const full = watched((operation) => {
    if (operation === "write") throw Object.assign(new Error("no space"), { code: "ENOSPC" });
  });
  expect(() => back(dataDir, target, full)).toThrow(
    new RegExp(`no room in .*ENOSPC.*up to position ${former}, is unchanged`),
  );
  expect(verified()).toEqual({ position: former, damages: [] });
  expect(diskFileLayer.list(join(target, "objects"))).not.toContain("unfinished.tmp");
});

test("a journal that does not verify is not backed up", () => {
  back(dataDir, target);
  const former = journal.position;
  journal.grow(12);
  const path = join(dataDir, "journal", segments().at(-2)!.name);
  const bytes = readFileSync(path);
  bytes[400]! ^= 1;
  writeFileSync(path, bytes);
  expect(() => back(dataDir, target)).toThrow(JournalDamaged);
  expect(verified()).toEqual({ position: former, damages: [] });
});

test("a journal that has lost its end is not backed up", () => {
  setHighWater(diskFileLayer, dataDir, journal.position + 1);
  expect(() => back(dataDir, target)).toThrow(JournalDamaged);
});

test("rot in the open segment is damage, not its end", () => {
  const path = join(dataDir, "journal", segments().at(-1)!.name);
  const bytes = readFileSync(path);
  bytes[300]! ^= 1;
  writeFileSync(path, bytes);
  expect(() => back(dataDir, target)).toThrow(JournalDamaged);
});

test("another service's journal, or one that was cut, does not replace a backup", () => {
  back(dataDir, target);
  const other = new GrowingJournal(temporaryDirectory());
  other.grow(20);
  expect(() => back(other.dataDir, target)).toThrow(/not the one in the backup/);
  other.core.close();
  const open = join(dataDir, "journal", segments().at(-1)!.name);
  const bytes = readFileSync(open);
  writeFileSync(open, bytes.subarray(0, 128));
  expect(() => back(dataDir, target)).toThrow(/not the one in the backup/);
  writeFileSync(open, bytes);
  expect(back(dataDir, target).bytesWritten).toBe(0);
});

test("it takes no directory that holds something else, nor one within the data", () => {
  expect(() => back(dataDir, join(dataDir, "backup"))).toThrow(/within the data directory/);
  expect(existsSync(join(dataDir, "backup"))).toBe(false);
  expect(() => back(dataDir, dataDir)).toThrow(/within the data directory/);
  const full = temporaryDirectory();
  writeFiles(full, { "letter.txt": "" });
  expect(() => back(dataDir, full)).toThrow(/holds other files/);
  expect(() => back(join(dataDir, "nothing"), target)).toThrow(/holds no journal/);
});

test("one process writes into a backup at a time", () => {
  back(dataDir, target);
  const lock = lockFile(join(target, "lock"));
  expect(() => back(dataDir, target)).toThrow(/another process writes into the backup/);
  lock?.release();
  expect(back(dataDir, target).bytesWritten).toBe(0);
});

test("verify names each damaged file, and what is removed is copied again", () => {
  const { manifest } = back(dataDir, target);
  const keys = manifest.files.find(({ path }) => path === "keys.json")!;
  const segment = manifest.segments[1]!;
  const [keysPath, segmentPath] = [keys, segment].map(({ sha256 }) =>
    join(target, "objects", sha256),
  ) as [string, string];
  const bytes = readFileSync(segmentPath);
  bytes[bytes.byteLength - 1]! ^= 1;
  writeFileSync(segmentPath, bytes);
  rmSync(keysPath);
  const { damages } = verifyBackup(diskFileLayer, target);
  expect(damages).toHaveLength(2);
  expect(damages[0]).toContain("keys.json");
  expect(damages[1]).toContain(formatSegmentName(segment.first));
  rmSync(segmentPath);
  back(dataDir, target);
  expect(verified().damages).toEqual([]);
});

test("a manifest that was changed is refused by all", () => {
  back(dataDir, target);
  const path = join(target, "manifest.json");
  const text = readFileSync(path, "utf8");
  writeFileSync(path, text.replace(`"position": ${journal.position}`, '"position": 5'));
  expect(() => verifyBackup(diskFileLayer, target)).toThrow(/does not have its own hash/);
  expect(() => back(dataDir, target)).toThrow(/does not have its own hash/);
});
