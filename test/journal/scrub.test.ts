// Old segments verified after a start that did not read them: damage is found with its place and
// told, and neither stops the start nor goes unnoticed.
import * as fs from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createEngineMemory } from "../../src/engine/memory.ts";
import { loadBureauKey } from "../../src/journal/signing-key.ts";
import { resolveDataPaths } from "../../src/journal/data-directory.ts";
import { diskFileLayer } from "../../src/platform/files.ts";
import {
  COMMIT_FRAME_BYTES,
  FRAME_HEAD_BYTES,
  parseSegmentNames,
} from "../../src/journal/format.ts";
import { scrubSegments } from "../../src/journal/scrub.ts";
import { startLedger } from "../../src/ledger/client.ts";
import { NOW_MS, openCore, recordOf, runOf, temporaryDirectory } from "../ledger/_fixtures.ts";

const OUTCOMES = 120;

/** A journal of several small segments, with the key that the real thread will look for. */
function writeSegments(): { dataDir: string; journal: string; names: string[] } {
  const dataDir = temporaryDirectory();
  const { journal, bureauKey } = resolveDataPaths(dataDir);
  const { core } = openCore(journal, loadBureauKey(bureauKey), { segmentBytesMax: 5000 });
  for (let index = 1; index <= OUTCOMES; index++) core.commit([runOf([recordOf(index)])], NOW_MS);
  core.close();
  const names = parseSegmentNames(fs.readdirSync(journal)).map(({ name }) => name);
  expect(names.length).toBeGreaterThan(4);
  return { dataDir, journal, names };
}

function flip(path: string, at: number): void {
  const bytes = fs.readFileSync(path);
  bytes[at]! ^= 8;
  fs.writeFileSync(path, bytes);
}

test("a sound journal: every sealed segment up to the position, and no other", () => {
  const { journal, names } = writeSegments();
  const sealed = [...scrubSegments(diskFileLayer, journal, OUTCOMES)];
  expect(sealed.map(({ name }) => name)).toEqual(names.slice(0, -1));
  expect(sealed.every(({ damage }) => damage === undefined)).toBe(true);
  const [, second] = parseSegmentNames(names);
  const before = [...scrubSegments(diskFileLayer, journal, second!.firstLsn + 1)];
  expect(before.map(({ name }) => name)).toEqual(names.slice(0, 1));
  expect([...scrubSegments(diskFileLayer, journal, 0)]).toEqual([]);
});

test("damage anywhere in a segment is found in that segment alone", () => {
  const { journal, names } = writeSegments();
  const name = names[1]!;
  const path = join(journal, name);
  const intact = fs.readFileSync(path);
  const size = intact.byteLength;
  const lastCommit = size - COMMIT_FRAME_BYTES + FRAME_HEAD_BYTES;
  const cases: [number, RegExp][] = [
    [50, /header/],
    [1000, /a batch/],
    [lastCommit + 10, /a batch|signature/],
    [size - 1, /a batch/],
  ];
  for (const [at, reason] of cases) {
    flip(path, at);
    const found = [...scrubSegments(diskFileLayer, journal, OUTCOMES)];
    const damages = found.flatMap(({ damage }) => (damage === undefined ? [] : [damage]));
    expect(damages, `byte ${at}`).toHaveLength(1);
    expect(damages[0]).toMatchObject({ segment: name, reason: expect.stringMatching(reason) });
    fs.writeFileSync(path, intact);
  }
  fs.truncateSync(path, size - 200);
  const cut = [...scrubSegments(diskFileLayer, journal, OUTCOMES)][1];
  expect(cut?.damage?.segment).toBe(name);
});

test("a start from a snapshot goes on, and says what is damaged before it", async () => {
  const { dataDir, journal, names } = writeSegments();
  const notes: [string, string][] = [];
  const open = (outcomes: number) =>
    startLedger({
      dataDir,
      engineMemory: createEngineMemory(),
      onFatal: () => undefined,
      clock: () => NOW_MS,
      snapshotPace: { outcomes, ms: 1e12, outcomesMin: 1e9 },
      log: (event, detail) => notes.push([event, detail]),
    });
  const told = (event: string) => expect.poll(() => notes.map(([each]) => each)).toContain(event);
  const first = await open(10);
  await told("snapshot_written");
  await first.close();

  const second = await open(1e9);
  expect(second.replay.snapshotLsn).toBe(OUTCOMES);
  await told("journal_verified");
  await second.close();

  flip(join(journal, names[2]!), 1000);
  const third = await open(1e9);
  expect(third.replay.snapshotLsn).toBe(OUTCOMES);
  await told("journal_damaged");
  const [, detail] = notes.find(([event]) => event === "journal_damaged")!;
  expect(detail).toContain(names[2]);
  expect(third.isHealthy()).toBe(true);
  await third.close();
});
