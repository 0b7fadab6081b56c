// A journal copied in: only what verifies and continues it takes its place, wherever the copy stopped.
import { readdirSync, readFileSync, truncateSync } from "node:fs";
import fc from "fast-check";
import { expect, test } from "vitest";
import { JournalDamaged } from "../../../src/journal/faults.ts";
import { decodeSegmentHeader } from "../../../src/journal/format.ts";
import { diskFileLayer } from "../../../src/platform/files.ts";
import type { BureauKey } from "../../../src/journal/signing-key.ts";
import { LedgerCore } from "../../../src/ledger/core.ts";
import { BootstrapRefused, JournalBootstrap } from "../../../src/ledger/ordered/copy-in.ts";
import type { OrderedMessage } from "../../../src/ledger/ordered/message.ts";
import { GUARD_ENTRIES, newKey, NOW_MS, temporaryDirectory } from "../_fixtures.ts";
import { copyOf, messagesOf } from "./_messages.ts";

const MESSAGES = messagesOf(5, 90);
const KEY = newKey();

/** Segments of a journal made of these messages, in order. */
function segmentsWith(messages: readonly OrderedMessage[], key: BureauKey): Buffer[] {
  const directory = `${temporaryDirectory()}/journal`;
  const core = new LedgerCore({
    files: diskFileLayer,
    directory,
    key,
    epoch: 1,
    ordered: { generation: 1, origin: "test:1" },
    nowMs: NOW_MS,
    fold: () => 0,
    foldAssessment: () => 0,
    applyStandings: () => undefined,
    markKeyRevoked: () => undefined,
    replayEntriesMax: GUARD_ENTRIES,
    segmentBytesMax: 20_000,
  });
  core.applyMessages(copyOf(messages));
  core.close();
  return bytesIn(directory);
}

function bytesIn(directory: string): Buffer[] {
  const names = readdirSync(directory).filter((name) => name.endsWith(".log"));
  return names.toSorted().map((name) => readFileSync(`${directory}/${name}`));
}

const SOURCE = segmentsWith(MESSAGES, KEY);

function firstOf(bytes: Buffer): number {
  return decodeSegmentHeader(bytes)!.firstLsn;
}

function copyInto(directory: string): JournalBootstrap {
  return new JournalBootstrap(diskFileLayer, directory, KEY);
}

test("a copy that stops anywhere is a beginning, and goes on to the same bytes", () => {
  expect(SOURCE.length).toBeGreaterThan(3);
  fc.assert(
    fc.property(fc.nat(SOURCE.length - 1), fc.nat(19_000), (whole, cut) => {
      const directory = `${temporaryDirectory()}/journal`;
      const copy = copyInto(directory);
      for (const bytes of SOURCE.slice(0, whole + 1)) expect(copy.installSegment(bytes)).toBe(true);
      const last = `${directory}/${readdirSync(directory).toSorted().at(-1)!}`;
      truncateSync(last, Math.max(1, readFileSync(last).byteLength - cut));
      const again = copyInto(directory);
      for (const bytes of SOURCE)
        if (firstOf(bytes) >= again.nextFirstLsn) again.installSegment(bytes);
      expect(bytesIn(directory)).toEqual(SOURCE);
    }),
    { numRuns: 12 },
  );
});

test("a batch that is half written stays out, and comes with the next copy", () => {
  const directory = `${temporaryDirectory()}/journal`;
  const half = SOURCE[0]!.subarray(0, SOURCE[0]!.byteLength - 10);
  const copy = copyInto(directory);
  expect(copy.installSegment(half)).toBe(true);
  expect(bytesIn(directory)[0]!.byteLength).toBeLessThan(half.byteLength);
  const again = copyInto(directory);
  expect(again.nextFirstLsn).toBe(1);
  expect([again.installSegment(SOURCE[0]!), again.installSegment(SOURCE[1]!)]).toEqual([
    true,
    true,
  ]);
  expect(bytesIn(directory)).toEqual(SOURCE.slice(0, 2));
  // One that has less changes nothing.
  expect(copyInto(directory).installSegment(SOURCE[1]!.subarray(0, 2000))).toBe(false);
  expect(bytesIn(directory)).toEqual(SOURCE.slice(0, 2));
});

test("what is damaged, does not continue, or is of another journal changes nothing", () => {
  const directory = `${temporaryDirectory()}/journal`;
  const flipped = Buffer.from(SOURCE[0]!);
  flipped[flipped.byteLength >> 1]! ^= 1;
  expect(() => copyInto(directory).installSegment(flipped)).toThrow(JournalDamaged);
  expect(() => copyInto(directory).installSegment(SOURCE[1]!)).toThrow(JournalDamaged);
  const strangers = segmentsWith(MESSAGES, newKey());
  expect(() => copyInto(directory).installSegment(strangers[0]!)).toThrow(
    "another key than `bureau.key`",
  );
  expect(readdirSync(directory)).toEqual([]);
  copyInto(directory).installSegment(SOURCE[0]!);
  const later = MESSAGES.map((message) => ({ ...message, timeMs: message.timeMs + 1 }));
  const [other] = segmentsWith(later, KEY);
  expect(() => copyInto(directory).installSegment(other!)).toThrow(BootstrapRefused);
  expect(bytesIn(directory)).toEqual(SOURCE.slice(0, 1));
});
