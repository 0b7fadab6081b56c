// The ring between a thread that decides and the store: what may be lost, what may not, and that
// bytes come out as they went in.
import fc from "fast-check";
import { expect, test } from "vitest";
import type { ServiceFault } from "../../../src/contract/faults.ts";
import { DecisionCountReader } from "../../../src/store/decisions/count-slots.ts";
import {
  createDecisionRing,
  readRingCounters,
  FLAG_TRACED,
  NUMBER_COUNT,
  OFFSET_COUNTS,
  RING_BYTES,
} from "../../../src/store/decisions/ring-layout.ts";
import {
  type DecisionColumns,
  DecisionRingReader,
  createDecisionColumns,
  OFFSET_FLAGS,
  decodeRecordsInto,
} from "../../../src/store/decisions/ring-reader.ts";
import { DecisionRingWriter } from "../../../src/store/decisions/ring.ts";
import { entryOf, NOW_MS } from "../_decisions.ts";

/** Takes up to `countMax` records out of the ring. */
function take(reader: DecisionRingReader, columns: DecisionColumns, countMax: number): void {
  const parts: Uint8Array[] = [];
  reader.release(reader.copyRecords(parts, countMax));
  for (const part of parts) decodeRecordsInto(columns, Buffer.from(part));
}

test("a ring that fills keeps a sample of what lets through, with weights; a denial always has room", () => {
  const ring = createDecisionRing();
  const writer = new DecisionRingWriter(ring, { waitMs: 0 });
  const reader = new DecisionRingReader(ring);
  const offered = 30_000;
  for (let n = 0; n < offered; n++) {
    const entry = { ...entryOf(n, true), policyVersion: "p", evaluatedAtMs: NOW_MS };
    if (writer.admit(entry)) writer.record(entry);
  }
  const { recorded, dropped } = readRingCounters(ring);
  expect(recorded + dropped).toBe(offered);
  expect(dropped).toBeGreaterThan(0);
  expect(reader.usedBytes).toBeLessThanOrEqual((RING_BYTES / 4) * 3);
  for (let n = 0; n < 500; n++) {
    const change = { policyVersion: "p", evaluatedAtMs: NOW_MS, isKeptFirst: true };
    const denial = { ...entryOf(offered + n, false), ...change };
    expect(writer.admit(denial)).toBe(true);
    writer.record(denial);
  }
  expect(readRingCounters(ring)).toEqual({ recorded: recorded + 500, dropped });
  const columns = createDecisionColumns();
  take(reader, columns, offered);
  expect(columns.count).toBe(recorded + 500);
  expect(columns.texts[0]!.slice(-500)).toEqual(
    Array.from({ length: 500 }, (_, n) => `request-${offered + n}`),
  );
  // Half of what was offered is in the largest weights: a rough check, the exact one is in sampling.test.ts.
  const weights = columns.numbers[NUMBER_COUNT - 1]!;
  expect(weights.slice(-500)).toEqual(Array(500).fill(1));
  const sum = weights.slice(0, -500).reduce((all, each) => all + each, 0);
  expect(sum / offered).toBeGreaterThan(0.5);
  expect(sum / offered).toBeLessThan(2);
  const { counts } = new DecisionCountReader(ring, OFFSET_COUNTS).collect(NOW_MS);
  expect(
    counts.map(({ effective, decisions, notRecorded }) => [effective, decisions, notRecorded]),
  ).toEqual([
    ["allow", offered, dropped],
    ["deny", 500, 0],
  ]);
});

test("denials beyond the ring wait and arrive, past its end and over and over", async () => {
  const ring = createDecisionRing();
  const writer = new DecisionRingWriter(ring, { waitMs: 0 });
  const reader = new DecisionRingReader(ring);
  const columns = createDecisionColumns();
  for (let n = 0; n < 30_000; n++) {
    writer.record(entryOf(n, false));
    if (n % 15_000 === 14_999) take(reader, columns, 7000);
  }
  const reading = setInterval(() => take(reader, columns, 5000), 1);
  await writer.flush();
  clearInterval(reading);
  while (reader.usedBytes > 0) take(reader, columns, 5000);
  expect(columns.count).toBe(30_000);
  expect(new Set(columns.texts[0]).size).toBe(30_000);
  expect(columns.texts[3]![7]).toMatch(/ünïcode/);
  expect(readRingCounters(ring).dropped).toBe(0);
});

test("a log that nobody empties refuses denials at last, and says so", () => {
  const writer = new DecisionRingWriter(createDecisionRing(), { waitMs: 0 });
  let refused: ServiceFault | undefined;
  for (let n = 0; n < 60_000 && refused === undefined; n++) {
    try {
      writer.record(entryOf(n, false));
    } catch (error) {
      refused = error as ServiceFault;
    }
  }
  expect(refused?.code).toBe("overloaded");
});

test("the id of a trace comes out as it went in, beside texts of any length, and costs nothing else", () => {
  const hexDigit = fc.constantFrom(...Array.from("0123456789abcdef"));
  const traceId = fc.oneof(
    fc.constant(""),
    fc.string({ unit: hexDigit, minLength: 32, maxLength: 32 }),
  );
  const leg = fc.record({
    traceId,
    action: fc.string({ unit: "binary", maxLength: 20 }).map((text) => text.toWellFormed()),
    reasonCodes: fc.subarray(["THIN_FILE", "BASE_RATE"]),
    isLetThrough: fc.boolean(),
  });
  fc.assert(
    fc.property(fc.array(leg, { maxLength: 20 }), (legs) => {
      const ring = createDecisionRing();
      const writer = new DecisionRingWriter(ring, { waitMs: 0 });
      const entries = legs.map((each, n) => ({ ...entryOf(n, true), ...each }));
      for (const entry of entries) writer.record(entry);
      const columns = createDecisionColumns();
      take(new DecisionRingReader(ring), columns, 100);
      expect(columns.traceIds).toEqual(legs.map((each) => each.traceId));
      expect(columns.texts[5]).toEqual(legs.map((each) => each.action));
      expect(columns.texts[9]).toEqual(legs.map((each) => each.reasonCodes.join(",")));
    }),
  );
});

test("a record that says it has a trace's id and has no room for it is damaged", () => {
  const ring = createDecisionRing();
  const parts: Uint8Array[] = [];
  new DecisionRingWriter(ring, { waitMs: 0 }).record({ ...entryOf(1, true), action: "12345678" });
  new DecisionRingReader(ring).copyRecords(parts);
  const bytes = Buffer.from(parts[0]!);
  bytes[OFFSET_FLAGS]! |= FLAG_TRACED;
  const columns = createDecisionColumns();
  expect([decodeRecordsInto(columns, bytes), columns.count]).toEqual([1, 0]);
});
