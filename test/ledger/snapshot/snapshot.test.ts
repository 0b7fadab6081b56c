// Snapshots through the real threads and files: a start from one gives the same bytes as a replay
// of everything, and whatever is wrong with one costs a longer replay and nothing else.
import * as fs from "node:fs";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { openTableImage } from "../../../src/engine/image.ts";
import { createEngineMemory } from "../../../src/engine/memory.ts";
import { diskFileLayer } from "../../../src/platform/files.ts";
import { parseSegmentNames } from "../../../src/journal/format.ts";
import { type JournalPoint, recoverJournal } from "../../../src/journal/recovery.ts";
import { type OpenLedger, startLedger } from "../../../src/ledger/client.ts";
import { selectSnapshotNames } from "../../../src/ledger/snapshot/format.ts";
import { newKey, NOW_MS, openCore, recordOf, runOf, temporaryDirectory } from "../_fixtures.ts";

const PACE = { outcomes: 400, ms: 1e12, outcomesMin: 1e9 };
const AGENTS = 900;

interface Opened {
  ledger: OpenLedger;
  memory: WebAssembly.Memory;
  notes: [string, string][];
}

const open: OpenLedger[] = [];
afterEach(() => Promise.all(open.splice(0).map((ledger) => ledger.close())));

async function openLedger(dataDir: string, pace = PACE, seed?: bigint): Promise<Opened> {
  const memory = createEngineMemory();
  const notes: [string, string][] = [];
  const ledger = await startLedger({
    dataDir,
    engineMemory: memory,
    ...(seed === undefined ? {} : { engineSettings: { seed } }),
    onFatal: () => undefined,
    clock: () => NOW_MS,
    snapshotPace: pace,
    log: (event, detail) => notes.push([event, detail]),
  });
  open.push(ledger);
  return { ledger, memory, notes };
}

/** Everything but scratch, as one buffer. */
function tableOf({ memory }: Opened): Buffer {
  return Buffer.concat(openTableImage(memory).viewParts());
}

const reported = (index: number) =>
  recordOf(index, {
    idempotencyKey: `key-${index}`,
    subject: `agent://shop/seller-${index % AGENTS}`,
    settledAtMs: NOW_MS - 1000 * (5000 - index),
  });

async function report({ ledger }: Opened, from: number, count: number): Promise<void> {
  const records = Array.from({ length: count }, (_, n) => reported(from + n));
  // In small commits, so that there are moments between them.
  for (let at = 0; at < count; at += 20) await ledger.appendBatch(records.slice(at, at + 20));
}

function snapshotFiles(dataDir: string): string[] {
  const directory = join(dataDir, "snapshots");
  return selectSnapshotNames(fs.readdirSync(directory)).map((name) => join(directory, name));
}

/** A history of 2,000 outcomes with snapshots in it and records behind the last one. */
async function writeHistory(): Promise<string> {
  const dataDir = temporaryDirectory();
  const opened = await openLedger(dataDir);
  for (let part = 0; part < 4; part++) {
    await report(opened, 1 + part * 450, 450);
    if (part === 0) await opened.ledger.appendPolicy(Buffer.from("before a snapshot"));
    const written = () => opened.notes.filter(([event]) => event === "snapshot_written").length;
    await expect.poll(written).toBeGreaterThan(part);
  }
  await report(opened, 1801, 199);
  await opened.ledger.appendPolicy(Buffer.from("after all"));
  await opened.ledger.close();
  return dataDir;
}

async function replayOfEverything(dataDir: string): Promise<Buffer> {
  const copy = temporaryDirectory();
  fs.cpSync(dataDir, copy, { recursive: true });
  fs.rmSync(join(copy, "snapshots"), { recursive: true });
  const opened = await openLedger(copy, { ...PACE, outcomes: 1e12 });
  expect(opened.ledger.replay.snapshotLsn).toBeUndefined();
  expect(opened.ledger.replay.outcomes).toBe(1999);
  return tableOf(opened);
}

const quiet = { ...PACE, outcomes: 1e12 };

test("a start from a snapshot gives the bytes of a full replay, and the same guard", async () => {
  const dataDir = await writeHistory();
  expect(snapshotFiles(dataDir)).toHaveLength(2);
  const expected = await replayOfEverything(dataDir);

  const opened = await openLedger(dataDir, quiet);
  expect(opened.notes).toEqual([]);
  expect(opened.ledger.replay.snapshotLsn).toBeGreaterThan(1000);
  expect(opened.ledger.replay.outcomes).toBe(1999);
  expect(tableOf(opened).equals(expected)).toBe(true);
  const policies = opened.ledger.policies.map((payload) => Buffer.from(payload).toString());
  expect(policies).toEqual(["before a snapshot", "after all"]);
  // Recorded before the snapshot: known from its guard alone.
  const [again] = await opened.ledger.appendBatch([reported(7)]);
  expect(again).toMatchObject({ duplicate: true, position: 7 });
});

test("damaged, foreign and future snapshots are ignored with a line, never trusted", async () => {
  const dataDir = await writeHistory();
  const expected = await replayOfEverything(dataDir);
  const [newest, older] = snapshotFiles(dataDir) as [string, string];
  const intact = fs.readFileSync(newest);
  const cases: [string, () => void, RegExp][] = [
    ["a bit of the header", () => flip(newest, 70), /header does not verify/],
    ["a bit of the table", () => flip(newest, 200_000), /hash is wrong/],
    ["the last byte", () => flip(newest, intact.byteLength - 1), /hash is wrong/],
    ["a cut", () => fs.truncateSync(newest, intact.byteLength - 1), /size is not/],
    ["nothing in it", () => fs.truncateSync(newest, 0), /header does not verify/],
  ];
  for (const [name, spoil, why] of cases) {
    spoil();
    const opened = await openLedger(dataDir, quiet);
    await expect.poll(() => opened.notes).toHaveLength(1);
    expect(opened.notes[0]?.[0]).toBe("snapshot_ignored");
    expect(opened.notes[0]?.[1], name).toMatch(why);
    expect(opened.ledger.replay.snapshotLsn).toBeGreaterThan(0);
    expect(tableOf(opened).equals(expected), name).toBe(true);
    await opened.ledger.close();
    fs.writeFileSync(newest, intact);
  }
  flip(newest, 1000);
  flip(older, 1000);
  const opened = await openLedger(dataDir, quiet);
  await expect.poll(() => opened.notes).toHaveLength(2);
  expect(opened.ledger.replay.snapshotLsn).toBeUndefined();
  expect(tableOf(opened).equals(expected)).toBe(true);
});

test("a snapshot of another seed, another journal or the future is not ours", async () => {
  const dataDir = await writeHistory();
  const other = await openLedger(dataDir, quiet, 99n);
  await expect.poll(() => other.notes.map(([, detail]) => detail).join()).toMatch(/another seed/);
  expect(other.ledger.replay.snapshotLsn).toBeUndefined();
  await other.ledger.close();

  // The same key, so the same seed, but a journal that went another way.
  const withSnapshotsOf = async (count: number) => {
    const beside = temporaryDirectory();
    fs.cpSync(join(dataDir, "bureau.key"), join(beside, "bureau.key"));
    const writer = await openLedger(beside, quiet);
    await report(writer, 5000, count);
    await writer.ledger.close();
    fs.cpSync(join(dataDir, "snapshots"), join(beside, "snapshots"), { recursive: true });
    return openLedger(beside, quiet);
  };
  const opened = await withSnapshotsOf(1999);
  await expect.poll(() => opened.notes).toHaveLength(2);
  expect(opened.notes[0]?.[1]).toMatch(/no commit like it/);
  expect(opened.ledger.replay).toMatchObject({ snapshotLsn: undefined, outcomes: 1999 });
  // One that did not go so far has lost its end: a start refuses, it does not go on in silence.
  await expect(withSnapshotsOf(100)).rejects.toThrow(
    /positions 101 to 18\d\d are missing at its end, says the newest snapshot/,
  );
});

/** Positions visited behind the point, or why none. */
function recover(directory: string, from: JournalPoint): number[] | string {
  const visited: number[] = [];
  try {
    recoverJournal(diskFileLayer, directory, (_, __, lsn) => visited.push(lsn), { from });
  } catch (error) {
    return String(error);
  }
  return visited;
}

test("segments before the point are passed by their two ends", () => {
  const directory = temporaryDirectory();
  const { core } = openCore(directory, newKey(), { segmentBytesMax: 6000 });
  let point: JournalPoint = { lsn: 0, chain: Buffer.alloc(0) };
  for (let index = 1; index <= 300; index++) {
    core.commit([runOf([recordOf(index)])], NOW_MS);
    if (index === 200) point = core.buildSnapshotContents();
  }
  core.close();
  const behind = Array.from({ length: 100 }, (_, n) => 201 + n);
  const segments = parseSegmentNames(fs.readdirSync(directory)).map(({ name }) =>
    join(directory, name),
  );
  const [first = "", second = ""] = segments;
  expect(recover(directory, point)).toEqual(behind);
  expect(recover(directory, { lsn: 200, chain: Buffer.alloc(32) })).toMatch(/no commit like it/);
  expect(recover(directory, { lsn: 301, chain: point.chain })).toMatch(/ahead of the journal/);

  const intact = fs.readFileSync(second);
  // Rot inside is doctor's to find: the table holds what these records said.
  flip(second, 1000);
  expect(recover(directory, point)).toEqual(behind);
  for (const at of [40, intact.byteLength - 1, intact.byteLength - 60]) {
    fs.writeFileSync(second, intact);
    flip(second, at);
    expect(recover(directory, point), `byte ${at}`).toMatch(/journal damaged/);
  }
  fs.truncateSync(second, intact.byteLength - 1);
  expect(recover(directory, point)).toMatch(/journal damaged/);
  fs.writeFileSync(second, intact);
  fs.rmSync(first);
  expect(recover(directory, point)).toMatch(/are missing before it/);
});

function flip(path: string, at: number): void {
  const bytes = fs.readFileSync(path);
  bytes[at] = (bytes[at] ?? 0) ^ 16;
  fs.writeFileSync(path, bytes);
}
