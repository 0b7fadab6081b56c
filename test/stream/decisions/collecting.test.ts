// Collecting other nodes' decisions: from where the copies stand, in order, each part told that nobody can read any more.
import { afterEach, expect, test } from "vitest";
import {
  DecisionCollector,
  type DecisionCopies,
} from "../../../src/stream/decisions/collecting.ts";
import type { NodeSegmentPart } from "../../../src/stream/decisions/parts.ts";
import { MemoryParts } from "./_memory-parts.ts";

const running: DecisionCollector[] = [];
afterEach(() => Promise.all(running.splice(0).map((each) => each.close())));

class MemoryCopies implements DecisionCopies {
  place: { stream: string; seq: number } | undefined;
  readonly taken: number[] = [];
  missing = 0;
  isFull = false;

  open() {
    return Promise.resolve(this.place);
  }

  take(part: NodeSegmentPart) {
    if (this.isFull) return Promise.reject(new Error("ENOSPC"));
    if (part.segment === "") return Promise.resolve(undefined);
    this.taken.push(part.seq);
    return Promise.resolve({ added: part.bytes.byteLength, missing: this.missing });
  }

  keepPlace(stream: string, seq: number) {
    this.place = { stream, seq };
    return Promise.resolve();
  }
}

function collectingOf(parts: MemoryParts, copies: DecisionCopies) {
  const told: string[] = [];
  let bytes = 0;
  const collecting = new DecisionCollector({
    node: "two",
    parts,
    copies,
    collected: (count) => void (bytes += count),
    log: (event, detail) => told.push(`${event}: ${detail}`),
  });
  running.push(collecting);
  return { collecting, told, collected: () => bytes };
}

const part = (from: number, segment = "a") => ({ segment, from, bytes: new Uint8Array(4) });

async function filled(): Promise<MemoryParts> {
  const parts = new MemoryParts();
  await parts.publish("one", part(0));
  await parts.publish("two", part(0));
  await parts.publish("three", part(0));
  return parts;
}

test("parts of others are taken in order, its own passed over; the end keeps the place", async () => {
  const parts = await filled();
  const copies = new MemoryCopies();
  const { collecting, collected } = collectingOf(parts, copies);
  await expect.poll(() => copies.taken).toEqual([1, 3]);
  await parts.publish("one", part(4));
  await expect.poll(() => copies.taken).toEqual([1, 3, 4]);
  expect(collected()).toBe(12);
  await collecting.close();
  expect(copies.place).toEqual({ stream: "first", seq: 4 });
});

test("it begins behind the place that was kept, and anew where the stream is another", async () => {
  const parts = await filled();
  const copies = new MemoryCopies();
  copies.place = { stream: "first", seq: 1 };
  const first = collectingOf(parts, copies);
  await expect.poll(() => copies.taken).toEqual([3]);
  await first.collecting.close();
  parts.id = "second";
  collectingOf(parts, copies);
  await expect.poll(() => copies.taken).toEqual([3, 1, 3]);
});

test("what the stream has dropped unread is told, and so is a hole; what is no part is passed over", async () => {
  const parts = await filled();
  await parts.publish("one", part(0, ""));
  await parts.publish("one", part(8));
  parts.firstSeq = 3;
  const copies = new MemoryCopies();
  copies.place = { stream: "first", seq: 1 };
  copies.missing = 2;
  const { told } = collectingOf(parts, copies);
  await expect.poll(() => copies.taken).toEqual([3, 5]);
  expect(told).toEqual([
    "decisions_missing: the stream had dropped 1 parts before this node read them",
    "decisions_missing: 2 bytes of segment a of node three were never read",
    "decisions_missing: 2 bytes of segment a of node one were never read",
  ]);
});

test("a disk that is full is told once and tried again; nothing is passed over", async () => {
  const parts = await filled();
  const copies = new MemoryCopies();
  copies.isFull = true;
  const { told } = collectingOf(parts, copies);
  await expect.poll(() => told).toEqual(["decisions_not_collected: ENOSPC"]);
  copies.isFull = false;
  await expect.poll(() => copies.taken, { timeout: 10_000 }).toEqual([1, 3]);
  expect(told).toHaveLength(1);
});
