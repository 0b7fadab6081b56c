// Places of the vault's sources in the journal: the same whether they were recorded, replayed or
// taken from a snapshot, and the recorded source is found there.
import * as fs from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { diskFileLayer } from "../../src/platform/files.ts";
import { JournalDamaged } from "../../src/journal/faults.ts";
import {
  FRAME_HEAD_BYTES,
  FRAME_KINDS,
  readPayloadLength,
  formatSegmentName,
} from "../../src/journal/format.ts";
import { type FramePlace, visitFramesAt } from "../../src/journal/places.ts";
import { FrameBatch } from "../../src/ledger/frame-batch.ts";
import { decodePlaces, encodePlaces } from "../../src/ledger/snapshot/format.ts";
import { newKey, NOW_MS, openCore, recordOf, temporaryDirectory } from "../ledger/_fixtures.ts";

const key = newKey();
const textOf = (index: number) => `\u0002{"source":${index},"text":"${"x".repeat(index * 40)}"}`;

/** Outcomes with sources among them, over several segments; what was registered, in order. */
function writeHistory(directory: string): { written: string[]; places: readonly FramePlace[] } {
  const { core } = openCore(directory, key, { segmentBytesMax: 5000 });
  const written: string[] = [];
  for (let index = 1; index <= 60; index++) {
    const batch = new FrameBatch();
    // An id that repeats: what is not written must not move what comes after it.
    batch.addOutcome(recordOf(index, { idempotencyKey: "same" }));
    batch.addOutcome(recordOf(index));
    for (let count = index % 3; count > 0; count--) {
      written.push(textOf(written.length));
      batch.addEvent(FRAME_KINDS.evidence, Buffer.from(written.at(-1)!));
      batch.addEvent(FRAME_KINDS.audit, Buffer.from("{}"));
    }
    core.commit([batch.drain()], NOW_MS);
  }
  core.close();
  return { written, places: core.sources };
}

function textsAt(directory: string, places: readonly FramePlace[]): string[] {
  const texts: string[] = [];
  visitFramesAt(diskFileLayer, directory, places, (bytes, at) => {
    const start = at + FRAME_HEAD_BYTES;
    texts.push(bytes.toString("utf8", start, start + readPayloadLength(bytes, at)));
  });
  return texts;
}

test("what stands at the places is what was recorded, live, replayed and from a snapshot", () => {
  const directory = temporaryDirectory();
  const { written, places } = writeHistory(directory);
  expect(new Set(places.map(({ segment }) => segment)).size).toBeGreaterThan(3);
  expect(textsAt(directory, places)).toEqual(written);
  const { core } = openCore(directory, key);
  expect(core.sources).toEqual(places);
  core.close();
  expect(decodePlaces(encodePlaces(places))).toEqual(places);
});

test("a source that does not verify, or is cut off, is damage with its place", () => {
  const directory = temporaryDirectory();
  const { places } = writeHistory(directory);
  const place = places.at(-1)!;
  const path = join(directory, formatSegmentName(place.segment));
  const intact = fs.readFileSync(path);
  const where = { segment: formatSegmentName(place.segment), offset: place.offset };
  const damage = { damage: expect.objectContaining(where) };
  const spoiled = Buffer.from(intact);
  spoiled[place.offset + FRAME_HEAD_BYTES + 3]! ^= 1;
  for (const bytes of [spoiled, intact.subarray(0, place.offset + 40), intact.subarray(0, 130)]) {
    fs.writeFileSync(path, bytes);
    expect(() => textsAt(directory, [place])).toThrow(JournalDamaged);
    expect(() => textsAt(directory, [place])).toThrow(expect.objectContaining(damage));
  }
});
