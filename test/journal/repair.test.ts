// Repair keeps everything that still proves itself, says what is lost, and leaves the old bytes.
import * as fs from "node:fs";
import { join } from "node:path";
import { beforeEach, expect, test } from "vitest";
import type { BureauKey } from "../../src/journal/signing-key.ts";
import { JournalDamaged } from "../../src/journal/faults.ts";
import { diskFileLayer } from "../../src/platform/files.ts";
import { SEGMENT_HEADER_BYTES, parseSegmentNames } from "../../src/journal/format.ts";
import { JournalReader } from "../../src/journal/reader.ts";
import { repairJournal, JournalRepairRefused } from "../../src/journal/repair.ts";
import { verifyJournal } from "../../src/journal/verify.ts";
import {
  newKey,
  NOW_MS,
  openCore,
  recordOf,
  runOf,
  seededRandom,
  temporaryDirectory,
  writeJournal,
} from "../ledger/_fixtures.ts";

const RECORDS = 60;
let directory: string;
let key: BureauKey;

beforeEach(() => {
  directory = temporaryDirectory();
  key = newKey();
  writeJournal(directory, key, RECORDS / 3, 3, 2500);
});

const names = () => parseSegmentNames(fs.readdirSync(directory)).map(({ name }) => name);
const pathOf = (name: string | undefined) => join(directory, name ?? "");
const repair = () =>
  repairJournal({ files: diskFileLayer, directory, key, epoch: 2, nowMs: NOW_MS });

function flip(path: string, at: number): void {
  const bytes = fs.readFileSync(path);
  bytes[at] = (bytes[at] as number) ^ 0x10;
  fs.writeFileSync(path, bytes);
}

/** Positions the mended journal still holds, as a start and as the store would read them. */
function positions(): number[] {
  const read: number[] = [];
  const reader = new JournalReader(diskFileLayer, directory);
  const report = verifyJournal(diskFileLayer, directory);
  expect(report.damage).toBeUndefined();
  reader.readRecords(0, report.lsn, Infinity, (_bytes, _at, lsn) => read.push(lsn));
  reader.close();
  const { core, folded } = openCore(directory, key);
  expect(folded).toHaveLength(read.length);
  expect(core.commit([runOf([recordOf(999)])], NOW_MS)[0]?.lsn).toBe(report.lsn + 1);
  core.close();
  return read;
}

const allBut = (...lost: number[]) =>
  Array.from({ length: RECORDS }, (_, index) => index + 1).filter((lsn) => !lost.includes(lsn));

test("a whole journal is left alone", () => {
  const before = fs.readdirSync(directory);
  expect(repair()).toEqual({ damages: [], lost: [], bytesLost: 0, quarantined: [] });
  expect(fs.readdirSync(directory)).toEqual(before);
});

test("one rotten record costs one record", () => {
  const name = names()[1];
  const original = fs.readFileSync(pathOf(name));
  const first = parseSegmentNames([name ?? ""])[0]?.firstLsn ?? 0;
  flip(pathOf(name), SEGMENT_HEADER_BYTES + 40);
  expect(() => openCore(directory, key)).toThrow(JournalDamaged);
  const damaged = fs.readFileSync(pathOf(name));
  const report = repair();
  expect(report.damages).toMatchObject([{ segment: name, offset: SEGMENT_HEADER_BYTES }]);
  expect(report.lost).toEqual([{ firstLost: first, lastLost: first }]);
  expect(report.bytesLost).toBeGreaterThan(100);
  expect(report.quarantined).toEqual([`quarantine-1-${name}`]);
  expect(fs.readFileSync(pathOf(report.quarantined[0]))).toEqual(damaged);
  expect(original).not.toEqual(damaged);
  expect(positions()).toEqual(allBut(first));
  expect(verifyJournal(diskFileLayer, directory).gaps).toMatchObject([
    { firstLost: first, lastLost: first },
  ]);
});

test("a rotten commit costs nothing: its records stand for themselves", () => {
  const { path, ends } = oneSegment();
  flip(path, (ends[0] as number) - 10);
  expect(repair()).toMatchObject({ lost: [], damages: [{ offset: SEGMENT_HEADER_BYTES }] });
  expect(positions()).toHaveLength(9);
});

test("a rotten header costs nothing", () => {
  const name = names()[2];
  flip(pathOf(name), 30);
  expect(repair()).toMatchObject({ lost: [], damages: [{ segment: name, offset: 0 }] });
  expect(positions()).toEqual(allBut());
});

test("a missing segment costs its positions", () => {
  const [, second, third] = parseSegmentNames(names());
  fs.rmSync(pathOf(second?.name));
  const lost = { firstLost: second?.firstLsn ?? 0, lastLost: (third?.firstLsn ?? 0) - 1 };
  expect(repair().lost).toEqual([lost]);
  const gone = Array.from(
    { length: lost.lastLost - lost.firstLost + 1 },
    (_, index) => lost.firstLost + index,
  );
  expect(positions()).toEqual(allBut(...gone));
});

test("a missing newest segment is told, its extent is not known", () => {
  const last = parseSegmentNames(names()).at(-1);
  fs.rmSync(pathOf(last?.name));
  expect(repair().lost).toEqual([{ firstLost: last?.firstLsn, lastLost: Infinity }]);
  expect(positions()).toEqual(allBut().filter((lsn) => lsn < (last?.firstLsn ?? 0)));
});

test("segments that changed places get their names back", () => {
  const [, second, third] = names();
  fs.renameSync(pathOf(second), pathOf("x"));
  fs.renameSync(pathOf(third), pathOf(second));
  fs.renameSync(pathOf("x"), pathOf(third));
  expect(repair()).toMatchObject({ lost: [], damages: [] });
  expect(positions()).toEqual(allBut());
});

test("a middle segment cut short costs what was cut", () => {
  const [first, second] = parseSegmentNames(names());
  const path = pathOf(first?.name);
  fs.truncateSync(path, fs.statSync(path).size - 150);
  const [lost] = repair().lost;
  expect(lost?.lastLost).toBe((second?.firstLsn ?? 0) - 1);
  expect(positions()).toEqual(allBut(lost?.lastLost ?? 0));
});

test("another journal's segment is not explained away", () => {
  const other = temporaryDirectory();
  const { core } = openCore(other, key, { segmentBytesMax: 2500 });
  for (let index = 1; index < RECORDS; index += 3) {
    const records = [index, index + 1, index + 2].map((each) => recordOf(each, { outcome: 0 }));
    core.commit([runOf(records)], NOW_MS);
  }
  core.close();
  const name = names()[1] ?? "";
  fs.copyFileSync(join(other, name), pathOf(name));
  expect(repair).toThrow(JournalRepairRefused);
});

test("random damage: repair ends, and what is not reported lost is there", () => {
  for (let seed = 1; seed <= 60; seed++) {
    const random = seededRandom(seed);
    fs.rmSync(directory, { recursive: true });
    fs.mkdirSync(directory);
    writeJournal(directory, key, RECORDS / 3, 3, 2500);
    const { records } = verifyJournal(diskFileLayer, directory);
    // The newest segment's end may be cut as a torn write: damage the others.
    const damageable = names().slice(0, -1);
    for (let count = 1 + Math.floor(random() * 4); count > 0; count--) {
      const path = pathOf(damageable[Math.floor(random() * damageable.length)]);
      flip(
        path,
        SEGMENT_HEADER_BYTES +
          Math.floor(random() * (fs.statSync(path).size - SEGMENT_HEADER_BYTES)),
      );
    }
    const report = repair();
    const lost = report.lost.reduce((sum, range) => sum + range.lastLost - range.firstLost + 1, 0);
    expect(positions(), `seed ${seed}`).toHaveLength(records - lost);
    expect(lost, `seed ${seed}`).toBeLessThanOrEqual(12);
  }
});

/** A journal of one segment with three commits of three records. */
function oneSegment(): { path: string; ends: number[] } {
  fs.rmSync(directory, { recursive: true });
  fs.mkdirSync(directory);
  const { core } = openCore(directory, key);
  const ends: number[] = [];
  for (let index = 1; index < 10; index += 3) {
    core.commit([runOf([index, index + 1, index + 2].map((each) => recordOf(each)))], NOW_MS);
    ends.push(fs.statSync(pathOf(names()[0])).size);
  }
  core.close();
  return { path: pathOf(names()[0]), ends };
}
