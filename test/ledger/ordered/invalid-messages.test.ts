// Messages of the log that no node has sent: stepped over by all nodes alike, and on record.
import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { setImmediate as turn } from "node:timers/promises";
import fc from "fast-check";
import { expect, test } from "vitest";
import { FRAME_KINDS } from "../../../src/journal/format.ts";
import { FrameBatch } from "../../../src/ledger/frame-batch.ts";
import { blankInvalidMessage } from "../../../src/ledger/ordered/invalid-messages.ts";
import { newKey, temporaryDirectory } from "../_fixtures.ts";
import { foreign, messagesOf, openFeed, openOrdered } from "./_feed.ts";

/** Frames of one record of a kind that journals make themselves. */
function framesOf(kind: number): Uint8Array {
  const batch = new FrameBatch();
  batch.addEvent(kind, Buffer.alloc(300));
  return Uint8Array.from(batch.drain().bytes);
}

const NOTHING = { origin: "", n: Number.NaN, count: Number.NaN, rules: Number.NaN };
const STRAYS = [
  { ...NOTHING, frames: Buffer.from("hello") },
  { frames: Uint8Array.from([1, 2, 3]) },
  { frames: new Uint8Array(0) },
  { count: 2 },
  { origin: "two 1" },
  { n: 1.5 },
  ...[FRAME_KINDS.commit, FRAME_KINDS.gap, FRAME_KINDS.stream].map((kind) => ({
    frames: framesOf(kind),
  })),
];

/** The journal's bytes in hex, by segment. */
function journalOf(directory: string): string[] {
  const names = readdirSync(directory).filter((name) => /^seg-\d+\.log$/.test(name));
  return names.toSorted().map((name) => readFileSync(path.join(directory, name)).toString("hex"));
}

test("is stepped over, one by one or as they gather, and again at a start", async () => {
  const key = newKey();
  const messages = STRAYS.flatMap((changes, at) => [
    foreign(at * 2 + 1),
    foreign(at * 2 + 2, changes),
  ]);
  const journals: string[][] = [];
  for (const isOneByOne of [true, false]) {
    const directory = temporaryDirectory();
    const core = openOrdered(directory, { key });
    const feed = openFeed(core);
    for (const message of messages) {
      feed.give(structuredClone(message));
      if (isOneByOne) await turn();
    }
    await expect.poll(() => [core.progress.seq, feed.failures]).toEqual([messages.length, []]);
    // Of each message a mark, and an outcome or an entry of the audit trail.
    expect(core.lsn).toBe(messages.length * 2);
    core.close();
    const again = openOrdered(directory, { key });
    expect(again.progress.seq).toBe(messages.length);
    again.close();
    journals.push(journalOf(directory));
  }
  expect(journals[1]).toEqual(journals[0]);
  const text = Buffer.from(journals[0]!.join(""), "hex").toString("latin1");
  expect(text.split('"stream.message_ignored"').length - 1).toBe(STRAYS.length);
});

test("takes no message for stray that a node has sent, and any bytes for one", () => {
  const [sound] = messagesOf(foreign(7));
  expect(blankInvalidMessage(sound!, 1)).toBe(sound);
  const newer = { ...sound!, rules: 99, frames: Uint8Array.from([1]) };
  // The first message of a log that goes on from a journal holds no records; elsewhere it is stray.
  const origin = `after:7:${"ab".repeat(32)}`;
  const begun = { ...sound!, origin, seq: 1, n: 1, count: 0, frames: new Uint8Array(0) };
  expect(blankInvalidMessage(begun, 1)).toBe(begun);
  expect(blankInvalidMessage({ ...begun, seq: 2 }, 1).origin).toBe("");
  expect(blankInvalidMessage(newer, 1)).toBe(newer);
  // Unsealed it would end every node.
  expect(blankInvalidMessage({ ...newer, isSealed: false }, 1).origin).toBe("");
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), (frames) => {
      const message = blankInvalidMessage({ ...sound!, frames }, 1);
      expect([message.origin, message.frames.byteLength]).toEqual(["", 0]);
    }),
  );
});
