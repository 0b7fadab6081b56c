// States of an archive beside the one in force: how long they stay, and what takes them away.
import { existsSync, utimesSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, expect, test } from "vitest";
import { diskFileLayer } from "../../../src/platform/files.ts";
import { GrowingContent } from "../../../src/ledger/archive/journal-tail.ts";
import { pruneArchive } from "../../../src/ledger/archive/prune.ts";
import {
  DAILY_STATES_MAX,
  readArchiveState,
  listArchiveStates,
} from "../../../src/ledger/archive/states.ts";
import { BackupObjects } from "../../../src/ledger/backup/objects.ts";
import { restoreBackup } from "../../../src/ledger/backup/restore.ts";
import { formatSnapshotName } from "../../../src/ledger/snapshot/format.ts";
import { NOW_MS, temporaryDirectory } from "../_fixtures.ts";
import { readFiles, writeFiles } from "../backup/_directories.ts";
import { Stage } from "./_archives.ts";

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;

let stage: Stage;

beforeEach(() => {
  stage = new Stage();
  stage.journal.grow(2);
  return () => stage.close();
});

const snapshot = (lsn: number) => `snapshots/${formatSnapshotName(lsn)}`;
const names = () => listArchiveStates(diskFileLayer, stage.target).map(({ name }) => name);

test("what nothing names any more stays for a quarter of an hour, for a copy under way", () => {
  const archive = stage.open();
  stage.ship(archive);
  const old = stage.manifest().files.find(({ path }) => path === "keys.json")!;
  const path = join(stage.target, "objects", old.sha256);
  writeFiles(stage.dataDir, { "keys.json": '{"keys":[]}' });
  stage.ship(archive);
  stage.nowMs += 15 * MINUTE_MS;
  stage.ship(archive);
  stage.nowMs += 14 * MINUTE_MS;
  stage.ship(archive);
  expect(existsSync(path)).toBe(true);
  stage.nowMs += MINUTE_MS;
  stage.ship(archive);
  expect(existsSync(path)).toBe(false);
  expect(stage.verified().damages).toEqual([]);
});

test("each day's last state is kept, a month of them, and restores what was then", async () => {
  const archive = stage.open();
  writeFiles(stage.dataDir, { [snapshot(10)]: "table" });
  for (let day = 0; day < DAILY_STATES_MAX + 3; day++) {
    writeFiles(stage.dataDir, { "keys.json": `{"day":${day}}` });
    stage.journal.grow(1);
    stage.ship(archive);
    stage.nowMs += DAY_MS;
  }
  const day = (index: number) => new Date(NOW_MS + index * DAY_MS).toISOString().slice(0, 10);
  expect(names()).toHaveLength(DAILY_STATES_MAX);
  expect(names()[0]).toBe(`daily-${day(2)}`);
  const manifest = readArchiveState(diskFileLayer, stage.target, `daily-${day(9)}`);
  const dataDir = join(temporaryDirectory(), "then");
  const restored = await restoreBackup({
    files: diskFileLayer,
    backup: stage.target,
    dataDir,
    manifest,
  });
  expect(restored.point.lsn).toBe(60);
  expect(restored.hasSnapshot).toBe(false);
  expect(readFiles(dataDir)["keys.json"]).toBe('{"day":9}');
  expect(() => readArchiveState(diskFileLayer, stage.target, "daily-2001-01-01")).toThrow(
    /archive list/,
  );
});

test("prune removes old states, and what only they have once nobody ships", () => {
  const archive = stage.open();
  for (let day = 0; day < 6; day++) {
    writeFiles(stage.dataDir, { "keys.json": `{"day":${day}}` });
    stage.ship(archive);
    stage.nowMs += DAY_MS;
  }
  const all = names();
  expect(all).toHaveLength(5);
  const beforeMs = NOW_MS + 3 * DAY_MS;
  expect(pruneArchive(diskFileLayer, stage.target, beforeMs, stage.nowMs)).toEqual({
    states: all.slice(0, 3),
    objects: undefined,
  });
  archive.close();
  for (const name of stage.objects()) {
    const seconds = stage.nowMs / 1000 - 7200;
    utimesSync(join(stage.target, "objects", name), seconds, seconds);
  }
  const { objects } = pruneArchive(diskFileLayer, stage.target, beforeMs, stage.nowMs);
  // Three days' keys.
  expect(objects).toBe(3);
  expect(names()).toEqual(all.slice(3));
  expect(stage.verified().damages).toEqual([]);
});

test("a snapshot is shipped by the hour", () => {
  writeFiles(stage.dataDir, { [snapshot(5)]: "first" });
  const archive = stage.open();
  const shipped = () => {
    stage.ship(archive);
    return stage.manifest().files.find(({ path }) => path.startsWith("snapshots/"))?.path;
  };
  expect(shipped()).toBe(snapshot(5));
  writeFiles(stage.dataDir, { [snapshot(10)]: "second" });
  stage.nowMs += 50 * MINUTE_MS;
  expect(shipped()).toBe(snapshot(5));
  stage.nowMs += 10 * MINUTE_MS;
  expect(shipped()).toBe(snapshot(10));
});

test("many small parts become one, and the content stays the same", () => {
  const root = temporaryDirectory();
  diskFileLayer.makeDirectory(join(root, "objects"));
  const objects = new BackupObjects(diskFileLayer, root);
  let content = GrowingContent.EMPTY;
  let text = "";
  const counts: number[] = [];
  for (let round = 0; round < 131; round++) {
    text += `${round} `;
    const more = Buffer.from(`${round} `);
    content = content.withAppended(more, objects, () => Buffer.from(text));
    counts.push(content.buildStoredContent().parts?.length ?? 1);
  }
  expect(objects.read(content.buildStoredContent(), "text").toString()).toBe(text);
  expect([Math.max(...counts), counts[128], counts.at(-1)]).toEqual([128, 1, 3]);
});
