// The spool between rings and rows: what was put is there after a crash, once, and a torn end or a
// disk that refuses costs nothing that was there before.
import * as fs from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import {
  createDecisionRing,
  INPUT_COUNT,
  NUMBER_COUNT,
  OFFSET_LENGTHS,
  OFFSET_NUMBERS,
  OFFSET_WEIGHT,
} from "../../../src/store/decisions/ring-layout.ts";
import {
  type DecisionColumns,
  DecisionRingReader,
  createDecisionColumns,
  decodeRecordsInto,
} from "../../../src/store/decisions/ring-reader.ts";
import { DecisionRingWriter } from "../../../src/store/decisions/ring.ts";
import {
  decodeBlocks,
  listSegments,
  readSegmentBlocks,
} from "../../../src/store/decisions/segments.ts";
import { DecisionSpool } from "../../../src/store/decisions/spool.ts";
import { temporaryDirectory } from "../../ledger/_fixtures.ts";
import { entryOf, NOW_MS } from "../_decisions.ts";
import { askCore, openRecords } from "../_fixtures.ts";

const bytesOf = (...values: number[]) => new Uint8Array(Float64Array.from(values).buffer);

/** Everything that waits in the spool, oldest first; it is taken then. */
function drain(directory: string, spool: DecisionSpool): number[] {
  const values: number[] = [];
  for (let part = spool.findOldestPending(); part !== undefined; part = spool.findOldestPending()) {
    const { records } = readSegmentBlocks(directory, part.segment, part.from);
    for (const each of records) values.push(...new Float64Array(Uint8Array.from(each).buffer));
    spool.markIngested(part.segment.name, part.size, NOW_MS);
  }
  return values;
}

test("what was put comes out in order, over lives, and is kept compressed once taken", () => {
  const directory = join(temporaryDirectory(), "kept");
  const first = new DecisionSpool(directory, 1000);
  first.append([bytesOf(1), bytesOf(2, 3)], NOW_MS);
  first.append([bytesOf(4)], NOW_MS + 1);
  expect(fs.readdirSync(directory)).toHaveLength(1);
  expect(first.pendingSinceMs).toBe(NOW_MS);
  // No farewell: the next life begins after a crash.
  const second = new DecisionSpool(directory, 2000);
  second.append([bytesOf(5)], NOW_MS + 2);
  expect(fs.readdirSync(directory)).toHaveLength(2);
  expect(drain(directory, second)).toEqual([1, 2, 3, 4, 5]);
  expect(second.pendingBytes).toBe(0);
  // More goes on in the same segment, from where it was taken.
  second.append([bytesOf(6)], NOW_MS + 3);
  expect(drain(directory, second)).toEqual([6]);
  second.close();
  expect(second.compressOne()).toBeGreaterThan(0);
  expect(second.compressOne()).toBeGreaterThan(0);
  expect(second.compressOne()).toBe(0);
  const kept = listSegments(directory);
  expect(kept.map(({ isCompressed }) => isCompressed)).toEqual([true, true]);
  const again = kept.flatMap((segment) => readSegmentBlocks(directory, segment, 0).records);
  expect(Buffer.concat(again)).toEqual(Buffer.from(bytesOf(1, 2, 3, 4, 5, 6)));
});

test("a segment of a crash is taken from where its rows end", () => {
  const directory = join(temporaryDirectory(), "kept");
  const first = new DecisionSpool(directory, 1);
  first.append([bytesOf(1)], NOW_MS);
  const part = first.findOldestPending()!;
  first.append([bytesOf(2)], NOW_MS);
  const second = new DecisionSpool(directory, 2);
  second.restoreProgress(new Map([[part.segment.name, part.size]]));
  expect(drain(directory, second)).toEqual([2]);
});

test("a torn end is left out, at whatever byte it tore; a block that rotted is passed over", () => {
  const directory = join(temporaryDirectory(), "kept");
  const spool = new DecisionSpool(directory, 1);
  spool.append([bytesOf(1, 2)], NOW_MS);
  const whole = spool.pendingBytes;
  spool.append([bytesOf(3, 4)], NOW_MS);
  spool.close();
  const [name] = fs.readdirSync(directory);
  const path = join(directory, name as string);
  const bytes = fs.readFileSync(path);
  for (let length = 0; length <= bytes.byteLength; length++) {
    fs.writeFileSync(path, bytes.subarray(0, length));
    const expected = length === bytes.byteLength ? [1, 2, 3, 4] : length < whole ? [] : [1, 2];
    expect(drain(directory, new DecisionSpool(directory, 2))).toEqual(expected);
  }
  const flipped = Buffer.from(bytes);
  flipped[whole + 20]! ^= 1;
  expect(decodeBlocks(flipped)).toMatchObject({ end: whole, damagedCount: 0 });
  const rotten = Buffer.from(bytes);
  rotten[20]! ^= 1;
  const { records, end, damagedCount } = decodeBlocks(rotten);
  expect({ end, damagedCount }).toEqual({ end: bytes.byteLength, damagedCount: 1 });
  expect(Buffer.concat(records)).toEqual(Buffer.from(bytesOf(3, 4)));
});

/** Bytes before the inputs of a record. */
const INPUTS_AT = OFFSET_NUMBERS + 8 * NUMBER_COUNT;
/** How many inputs earlier versions had, by the magic of their files. */
const INPUTS_BEFORE = { TRSP: 29, TRSQ: 29, TRSR: 31, TRSS: 34 } as const;

/** A record as an earlier version wrote it, without a weight, each input the number of its place. */
function recordBefore(record: Buffer, inputCount: number): Buffer {
  const old = Buffer.alloc(record.byteLength - 8 * (INPUT_COUNT - inputCount) - 8);
  record.copy(old, 0, 0, OFFSET_WEIGHT);
  old.writeUInt32LE(old.byteLength, 0);
  for (let i = 0; i < inputCount; i++) old.writeDoubleLE(i, OFFSET_WEIGHT + 8 * i);
  record.copy(old, OFFSET_WEIGHT + 8 * inputCount, INPUTS_AT + 8 * INPUT_COUNT);
  return old;
}

/** Rows of three records that wait in a file of an earlier version, named by its magic. */
function readBefore(
  magic: keyof typeof INPUTS_BEFORE,
  change: (record: Buffer) => void = () => undefined,
): DecisionColumns {
  const directory = join(temporaryDirectory(), "kept");
  const ring = createDecisionRing();
  const writer = new DecisionRingWriter(ring, { waitMs: 0 });
  for (let n = 0; n < 3; n++) writer.record({ ...entryOf(n, true), policyVersion: "" });
  const parts: Uint8Array[] = [];
  new DecisionRingReader(ring).copyRecords(parts);
  const records = Buffer.concat(parts);
  const old: Buffer[] = [];
  for (let at = 0; at < records.byteLength; at += records.readUInt32LE(at)) {
    const record = records.subarray(at, at + records.readUInt32LE(at));
    old.push(recordBefore(record, INPUTS_BEFORE[magic]));
  }
  old.forEach(change);
  const spool = new DecisionSpool(directory, 1);
  spool.append(old, NOW_MS);
  spool.close();
  const path = join(directory, fs.readdirSync(directory)[0] as string);
  const file = fs.readFileSync(path);
  file.write(magic, 0, "latin1");
  fs.writeFileSync(path, file);
  const columns = createDecisionColumns();
  const [segment] = listSegments(directory);
  for (const each of readSegmentBlocks(directory, segment!, 0).records)
    decodeRecordsInto(columns, each);
  expect(columns.count).toBe(3);
  expect(columns.texts[0]).toEqual(["request-0", "request-1", "request-2"]);
  expect(columns.texts[9]).toEqual(Array(3).fill("THIN_FILE,BASE_RATE"));
  expect(columns.numbers[NUMBER_COUNT - 1]).toEqual([Number.NaN, Number.NaN, Number.NaN]);
  return columns;
}

test("records of ten texts, as an earlier version left them, have an empty eleventh", () => {
  // Bytes of an earlier lap of the ring stand where the eleventh length is now.
  const columns = readBefore("TRSP", (record) => record.writeUInt16LE(999, OFFSET_LENGTHS + 20));
  expect(columns.texts[10]).toEqual(["", "", ""]);
});

/** The last input: days of silence, where nobody recorded them. */
const NEVER_HEARD_OF = -1;

function inputsOf({ numbers }: DecisionColumns): (number | undefined)[] {
  return numbers.slice(NUMBER_COUNT).map(([first]) => first);
}

test("inputs of an earlier version stand at their places of today, and the new ones are 0", () => {
  const inputs = inputsOf(readBefore("TRSQ"));
  const scalars = [0, 1, 2, 3, 4, 5, 6, 7, 19, 20, 21, 22, 23, 28];
  const features = [8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18];
  expect(inputs.slice(0, 25)).toEqual([...scalars, ...features]);
  expect(inputs.slice(25)).toEqual([...Array(INPUT_COUNT - 26).fill(0), NEVER_HEARD_OF]);
});

test("the 31 inputs of the version before stay where they are, and the record was not heard of", () => {
  const inputs = inputsOf(readBefore("TRSR"));
  expect(inputs.slice(0, 31)).toEqual(Array.from({ length: 31 }, (_, i) => i));
  expect(inputs.slice(31)).toEqual([...Array(INPUT_COUNT - 32).fill(0), NEVER_HEARD_OF]);
});

test("the version before had all inputs, and no weight", () => {
  expect(inputsOf(readBefore("TRSS"))).toEqual(Array.from({ length: INPUT_COUNT }, (_, i) => i));
});

test("what the disk refuses is given again, and then there once", () => {
  const directory = join(temporaryDirectory(), "kept");
  let isBroken = false;
  const spool = new DecisionSpool(directory, 1, () => {
    if (isBroken) throw new Error("EIO");
  });
  spool.append([bytesOf(1)], NOW_MS);
  isBroken = true;
  expect(() => spool.append([bytesOf(2)], NOW_MS)).toThrow("EIO");
  isBroken = false;
  spool.append([bytesOf(2)], NOW_MS);
  expect(drain(directory, new DecisionSpool(directory, 2))).toEqual([1, 2]);
});

test("a denial is due at the next look, what lets through within a second", () => {
  const dataDir = temporaryDirectory();
  const ring = createDecisionRing();
  const writer = new DecisionRingWriter(ring, { waitMs: 0 });
  const { records } = openRecords(dataDir, ring, 1);
  expect(records.ringDrain.isDue(NOW_MS)).toBe(false);
  writer.record(entryOf(1, true));
  records.ringDrain.drain(NOW_MS);
  writer.record(entryOf(2, true));
  expect(records.ringDrain.isDue(NOW_MS + 50)).toBe(false);
  expect(records.ringDrain.isDue(NOW_MS + 1000)).toBe(true);
  writer.record(entryOf(3, false));
  expect(records.ringDrain.isDue(NOW_MS + 50)).toBe(true);
});

test("what is to be looked at by a person is urgent, and told once", () => {
  const ring = createDecisionRing();
  const writer = new DecisionRingWriter(ring, { waitMs: 0 });
  const reader = new DecisionRingReader(ring);
  for (let n = 0; n < 7000; n++) writer.record(entryOf(n, true));
  expect(reader.hasDenialOrFlagged()).toBe(false);
  writer.record({ ...entryOf(7001, true), isFlagged: true });
  expect(reader.hasDenialOrFlagged()).toBe(true);
  reader.release(reader.copyRecords([]));
  expect(reader.hasDenialOrFlagged()).toBe(false);
  // Past the ring's end, and over again.
  for (let n = 0; n < 7000; n++) writer.record(entryOf(n, true));
  expect(reader.hasDenialOrFlagged()).toBe(false);
  writer.record(entryOf(7002, false));
  expect(reader.hasDenialOrFlagged()).toBe(true);
});

test("more denials than the ring holds are all kept, while the database stands still", async () => {
  const dataDir = temporaryDirectory();
  const ring = createDecisionRing();
  const writer = new DecisionRingWriter(ring, { waitMs: 0 });
  const { core, records } = openRecords(dataDir, ring, 1);
  let release = () => undefined as void;
  let blocked: Promise<void> | undefined;
  await new Promise<void>((started) => {
    blocked = core.write(
      () =>
        new Promise((resolve) => {
          release = () => resolve();
          started();
        }),
    );
  });
  // The thread that decides never yields; the store only looks every 50 ms.
  const count = 40_000;
  let nowMs = NOW_MS;
  for (let n = 0; n < count; n++) {
    writer.record(entryOf(n, false));
    if (n % 5000 === 4999) {
      nowMs += 50;
      expect(records.ringDrain.isDue(nowMs)).toBe(true);
      records.ringDrain.drain(nowMs);
    }
  }
  await writer.flush();
  release();
  await blocked;
  await records.ingestAll(nowMs);
  const { rows } = await askCore(
    core,
    "SELECT count(*), count(DISTINCT request_id) FROM decisions WHERE effective = 'deny'",
  );
  expect(rows).toEqual([[count, count]]);
  await records.close(nowMs);
  await core.close();
});

test("after a crash before or behind the commit every decision is there once", async () => {
  const dataDir = temporaryDirectory();
  const ring = createDecisionRing();
  const writer = new DecisionRingWriter(ring, { waitMs: 0 });
  const first = openRecords(dataDir, ring, 1);
  await first.records.ingestAll(NOW_MS);
  for (let n = 0; n < 10; n++) writer.record(entryOf(n, false));
  first.records.ringDrain.drain(NOW_MS);
  const kept = join(dataDir, "store-kept");
  const copy = fs.mkdtempSync("/tmp/trustrank-spool-");
  fs.cpSync(kept, copy, { recursive: true });
  // Rows are committed, the segment is not yet compressed: as a crash between the two leaves it.
  await first.records.ingestAll(NOW_MS);
  await first.core.close();
  fs.cpSync(copy, kept, { recursive: true });
  fs.rmSync(copy, { recursive: true });

  for (const life of [2, 3]) {
    const next = openRecords(dataDir, createDecisionRing(), life);
    await next.records.ingestAll(NOW_MS);
    const { rows } = await askCore(next.core, "SELECT count(*) FROM decisions");
    expect(rows).toEqual([[10]]);
    expect(fs.readdirSync(kept)).toEqual([expect.stringMatching(/\.spool\.gz$/)]);
    await next.core.close();
  }
});
