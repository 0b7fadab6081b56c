// The ring between a thread that decides and the store: what may be lost, what may not, and that
// bytes come out as they went in.
import fc from "fast-check";
import { expect, test } from "vitest";
import type { ServiceFault } from "../../../src/contract/faults.ts";
import {
  createDecisionRing,
  readRingCounters,
  FLAG_TRACED,
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
import { entryOf } from "../_decisions.ts";

/** Takes up to `countMax` records out of the ring. */
function take(reader: DecisionRingReader, columns: DecisionColumns, countMax: number): void {
  const parts: Uint8Array[] = [];
  reader.release(reader.copyRecords(parts, countMax));
  for (const part of parts) decodeRecordsInto(columns, Buffer.from(part));
}

test("a full ring drops what lets through, and counts it; a denial always has room", () => {
  const ring = createDecisionRing();
  const writer = new DecisionRingWriter(ring, { waitMs: 0 });
  const reader = new DecisionRingReader(ring);
  for (let n = 0; n < 20_000; n++) writer.record(entryOf(n, true));
  const { recorded, dropped } = readRingCounters(ring);
  expect(recorded + dropped).toBe(20_000);
  expect(dropped).toBeGreaterThan(0);
  expect(reader.usedBytes).toBeLessThanOrEqual((RING_BYTES / 4) * 3);
  for (let n = 0; n < 500; n++) writer.record(entryOf(100_000 + n, false));
  expect(readRingCounters(ring)).toEqual({ recorded: recorded + 500, dropped });
  const columns = createDecisionColumns();
  take(reader, columns, 100_000);
  expect(columns.count).toBe(recorded + 500);
  expect(columns.texts[0]!.slice(-500)).toEqual(
    Array.from({ length: 500 }, (_, n) => `request-${100_000 + n}`),
  );
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
