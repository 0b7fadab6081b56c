// Copies of one node's decision segments on another: the same bytes, whatever comes twice, whenever either ends; and
// as rows each decision once, under the name of the node that made it.
import * as fs from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { expect, test } from "vitest";
import {
  SegmentCopies,
  FIRST_SEGMENT_CURSOR,
  OutgoingSegments,
  type SegmentCursor,
  type SegmentPart,
} from "../../../src/store/decisions/node-copies.ts";
import { PendingCopies, DecisionSpool } from "../../../src/store/decisions/spool.ts";
import { createDecisionRing } from "../../../src/store/decisions/ring-layout.ts";
import { DecisionRingWriter } from "../../../src/store/decisions/ring.ts";
import {
  listSegmentCopies,
  listSegments,
  readSegmentBytes,
  type DecisionSegment,
} from "../../../src/store/decisions/segments.ts";
import { StoreDecisionLog } from "../../../src/store/decision-log.ts";
import { temporaryDirectory } from "../../ledger/_fixtures.ts";
import { entryOf, NOW_MS } from "../_decisions.ts";
import { askCore, openStoreCore } from "../_fixtures.ts";

const PART_BYTES = 40;
const blockOf = (n: number) => new Uint8Array(Float64Array.from([n, -n]).buffer);
const behind = ({ segment, from, bytes }: SegmentPart): SegmentCursor => {
  return { segment, byte: from + bytes.byteLength };
};

/** Everything that may be read by now. */
async function partsOf(outgoing: OutgoingSegments, spool: DecisionSpool, place: SegmentCursor) {
  const parts: SegmentPart[] = [];
  for (let at = place; ;) {
    const part = await outgoing.readPartAfter(at, spool.writtenUpTo);
    if (part === undefined) return parts;
    parts.push(part);
    at = behind(part);
  }
}

const contentOf = (directory: string, segments: DecisionSegment[]) =>
  segments.map((segment) => {
    const name = segment.name.slice(segment.name.indexOf("/") + 1);
    return [name, readSegmentBytes(directory, segment, 0).toString("hex")];
  });

test("parts in order give the same segments, also of those that were compressed meanwhile", async () => {
  const [here, there] = [join(temporaryDirectory(), "kept"), join(temporaryDirectory(), "kept")];
  const spool = new DecisionSpool(here, 1);
  const outgoing = new OutgoingSegments(here, PART_BYTES);
  const copies = new SegmentCopies(there);
  expect(await copies.open()).toBeUndefined();
  let place = FIRST_SEGMENT_CURSOR;
  const carry = async () => {
    for (const part of await partsOf(outgoing, spool, place)) {
      expect(part.bytes.byteLength).toBeLessThanOrEqual(PART_BYTES);
      expect(await copies.take({ node: "one", ...part })).toMatchObject({ missing: 0 });
      place = behind(part);
    }
  };
  await carry();
  spool.append([blockOf(1)], NOW_MS);
  await carry();
  spool.append([blockOf(2), blockOf(3)], NOW_MS);
  spool.close();
  // An hour later it takes no more.
  spool.append([blockOf(4)], NOW_MS);
  for (let next = spool.findOldestPending(); next !== undefined; next = spool.findOldestPending()) {
    spool.markIngested(next.segment.name, next.size, NOW_MS);
  }
  expect(spool.compressOne()).toBeGreaterThan(0);
  await carry();
  expect(contentOf(there, listSegmentCopies(there))).toEqual(contentOf(here, listSegments(here)));
  expect(listSegmentCopies(there).map(({ node }) => node)).toEqual(["one", "one"]);
  expect(listSegments(there)).toEqual([]);
});

test("what is written and not on disk yet is not read", async () => {
  const directory = join(temporaryDirectory(), "kept");
  const spool = new DecisionSpool(directory, 1);
  spool.append([blockOf(1)], NOW_MS);
  const { writtenUpTo } = spool;
  const [segment] = listSegments(directory) as [DecisionSegment];
  fs.appendFileSync(join(directory, segment.file), Buffer.alloc(64, 7));
  const outgoing = new OutgoingSegments(directory, 1024);
  const part = (await outgoing.readPartAfter(FIRST_SEGMENT_CURSOR, writtenUpTo))!;
  expect(part.bytes.byteLength).toBe(writtenUpTo.bytes);
  expect(await outgoing.readPartAfter(behind(part), writtenUpTo)).toBeUndefined();
});

/** What happens to the copies between parts. */
const event = fc.oneof(
  { weight: 6, arbitrary: fc.record({ kind: fc.constant("put"), blocks: fc.nat(3) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("seal") }) },
  { weight: 6, arbitrary: fc.record({ kind: fc.constant("carry"), count: fc.nat(6) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("keep") }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("repeat"), back: fc.nat(8) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("power cut"), torn: fc.nat(100) }) },
);

const CARRY = { kind: "carry", count: 1 } as const;
const CUT = { kind: "power cut", torn: 0 } as const;

test("copies are a beginning of the segments at all times, through repeats and power cuts", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(event, { maxLength: 40 }), async (events) => {
      const [here, there] = [join(temporaryDirectory(), "k"), join(temporaryDirectory(), "k")];
      const spool = new DecisionSpool(here, 1);
      const outgoing = new OutgoingSegments(here, PART_BYTES);
      /** What the stream holds: nothing of it is dropped. */
      const stream: SegmentPart[] = [];
      let copies = new SegmentCopies(there);
      let read = (await copies.open())?.seq ?? 0;
      let count = 0;
      const fill = async () => {
        const last = stream.at(-1);
        stream.push(
          ...(await partsOf(outgoing, spool, last ? behind(last) : FIRST_SEGMENT_CURSOR)),
        );
      };
      const carry = async (upto: number) => {
        for (; read < upto; read++) {
          const taken = await copies.take({ node: "one", ...stream[read]! });
          expect(taken?.missing).toBe(0);
        }
      };
      for (const each of events as { kind: string; [member: string]: number | string }[]) {
        if (each.kind === "put") {
          for (let n = 0; n <= Number(each["blocks"]); n++)
            spool.append([blockOf(++count)], NOW_MS);
        } else if (each.kind === "seal") spool.close();
        else if (each.kind === "keep") await copies.keepPlace("s", read);
        else if (each.kind === "repeat") read = Math.max(0, read - Number(each["back"]));
        else if (each.kind === "power cut") {
          const newest = listSegmentCopies(there).at(-1);
          // What was not known to be on disk may be anything.
          const path = newest && join(there, newest.file);
          if (path !== undefined) fs.appendFileSync(path, Buffer.alloc(Number(each["torn"])));
          copies = new SegmentCopies(there);
          read = (await copies.open())?.seq ?? 0;
        } else {
          await fill();
          await carry(Math.min(stream.length, read + Number(each["count"])));
        }
      }
      await fill();
      await carry(stream.length);
      expect(contentOf(there, listSegmentCopies(there))).toEqual(
        contentOf(here, listSegments(here)),
      );
    }),
    {
      numRuns: 60,
      // No place kept, the same parts again, then a place: what was there before must be in it.
      examples: [[[{ kind: "put", blocks: 0 }, CARRY, CUT, CARRY, { kind: "keep" }, CUT]]],
    },
  );
});

test("what is no part of a segment is not taken; a hole is told and what follows kept", async () => {
  const directory = join(temporaryDirectory(), "kept");
  const copies = new SegmentCopies(directory);
  await copies.open();
  const part = { node: "one", segment: "000000000000001-000000001", from: 0, bytes: blockOf(1) };
  for (const wrong of [
    { node: "../one" },
    { node: "" },
    { segment: "../../bureau" },
    { from: -8 },
    { from: Number.NaN },
    { bytes: new Uint8Array() },
  ]) {
    expect(await copies.take({ ...part, ...wrong })).toBeUndefined();
  }
  expect(fs.readdirSync(directory)).toEqual(["nodes"]);
  expect(await copies.take(part)).toEqual({ added: 16, missing: 0 });
  expect(await copies.take(part)).toEqual({ added: 0, missing: 0 });
  expect(await copies.take({ ...part, from: 24 })).toEqual({ added: 16, missing: 8 });
});

test("a place that is ahead of its copies counts for nothing: all is read again", async () => {
  const directory = join(temporaryDirectory(), "kept");
  const copies = new SegmentCopies(directory);
  await copies.open();
  const part = { node: "one", segment: "000000000000001-000000001", from: 0, bytes: blockOf(1) };
  await copies.take(part);
  await copies.keepPlace("s", 7);
  expect(await new SegmentCopies(directory).open()).toMatchObject({ stream: "s", seq: 7 });
  const [copy] = listSegmentCopies(directory) as [DecisionSegment];
  fs.truncateSync(join(directory, copy.file), 8);
  expect(await new SegmentCopies(directory).open()).toBeUndefined();
  fs.rmSync(join(directory, copy.file));
  expect(await new SegmentCopies(directory).open()).toBeUndefined();
});

/** A node's decisions on their way into copies. */
function nodeOf(life: number) {
  const directory = join(temporaryDirectory(), "kept");
  const ring = createDecisionRing();
  const writer = new DecisionRingWriter(ring, { waitMs: 0 });
  const spool = new DecisionSpool(directory, life);
  const outgoing = new OutgoingSegments(directory, 1000);
  return { ring, writer, spool, outgoing, directory };
}

function recordsOver(dataDir: string, startMs: number) {
  const { core, log } = openStoreCore(dataDir);
  const ring = createDecisionRing();
  const writer = new DecisionRingWriter(ring, { waitMs: 0 });
  const options = { core, rings: [ring], startMs, node: "two", decisionsKeptDays: 36_500 };
  return { core, log, writer, records: new StoreDecisionLog(options) };
}

const ROWS = `SELECT node, count(*), count(DISTINCT request_id) FROM decisions GROUP BY ALL ORDER BY ALL`;

test("each decision is a row once, under its node's name, also in a database made anew", async () => {
  const dataDir = temporaryDirectory();
  const one = nodeOf(1);
  let n = 0;
  const decide = async (count: number) => {
    const columns: Uint8Array[] = [];
    const { DecisionRingReader } = await import("../../../src/store/decisions/ring-reader.ts");
    for (let each = 0; each < count; each++) one.writer.record(entryOf(++n, false));
    const reader = new DecisionRingReader(one.ring);
    reader.release(reader.copyRecords(columns));
    one.spool.append(columns, NOW_MS);
  };
  const first = recordsOver(dataDir, 5);
  const copies = new SegmentCopies(first.core.keptDirectory);
  await copies.open();
  let place = FIRST_SEGMENT_CURSOR;
  const carry = async () => {
    for (const part of await partsOf(one.outgoing, one.spool, place)) {
      await copies.take({ node: "one", ...part });
      place = behind(part);
    }
  };
  const rowsOf = async ({ core, records }: ReturnType<typeof recordsOver>) => {
    await records.ingestAll(NOW_MS);
    return (await askCore(core, ROWS)).rows;
  };
  await decide(7);
  await carry();
  first.writer.record(entryOf(1, false));
  expect(await rowsOf(first)).toEqual([
    ["one", 7, 7],
    ["two", 1, 1],
  ]);
  await decide(5);
  one.spool.close();
  await decide(3);
  await carry();
  expect(await rowsOf(first)).toEqual([
    ["one", 15, 15],
    ["two", 1, 1],
  ]);
  // The one that a later one follows is all rows: it is compressed by the next look.
  await first.records.ingestAll(NOW_MS);
  await first.records.ingestPart(NOW_MS);
  const kept = () =>
    listSegmentCopies(first.core.keptDirectory).map(({ isCompressed }) => isCompressed);
  expect(kept()).toEqual([true, false]);
  await first.records.close(NOW_MS);
  await first.core.close();
  // What came meanwhile is found, and nothing twice.
  await decide(2);
  await carry();
  const second = recordsOver(dataDir, 6);
  expect(await rowsOf(second)).toEqual([
    ["one", 17, 17],
    ["two", 1, 1],
  ]);
  await second.records.close(NOW_MS);
  await second.core.close();
  fs.rmSync(join(dataDir, "store"), { recursive: true });
  const third = recordsOver(dataDir, 7);
  expect(await rowsOf(third)).toEqual([
    ["one", 17, 17],
    ["two", 1, 1],
  ]);
  await third.records.close(NOW_MS);
  await third.core.close();
  expect([...first.log, ...second.log, ...third.log]).toEqual([]);
});

test("a copy that was cut off since it was looked at is not taken for complete", async () => {
  const directory = join(temporaryDirectory(), "kept");
  const copies = new SegmentCopies(directory);
  await copies.open();
  const part = { node: "one", from: 0, bytes: blockOf(1) };
  await copies.take({ ...part, segment: "000000000000001-000000001" });
  await copies.take({ ...part, segment: "000000000000001-000000002" });
  const copied = new PendingCopies(directory);
  copied.scan({ bytesByName: new Map(), doneNames: new Set() }, 0);
  for (let next = copied.peekNext(); next !== undefined; next = copied.peekNext())
    copied.markIngested(next);
  copied.scan({ bytesByName: new Map(), doneNames: new Set() }, 1);
  const [first] = listSegmentCopies(directory) as [DecisionSegment];
  fs.truncateSync(join(directory, first.file), 8);
  expect(copied.compressOne()).toBe(0);
  expect(listSegmentCopies(directory)[0]?.isCompressed).toBe(false);
});
