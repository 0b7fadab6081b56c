// The ring between a thread that decides and the store: what may be lost, what may not, and that
// bytes come out as they went in.
import { expect, test } from "vitest";
import type { ServiceFault } from "../../../src/contract/faults.ts";
import {
  createDecisionRing,
  decisionCounts,
  RING_BYTES,
} from "../../../src/store/decisions/ring-layout.ts";
import {
  type DecisionColumns,
  DecisionReader,
  emptyColumns,
  readRecords,
} from "../../../src/store/decisions/ring-reader.ts";
import { DecisionRing } from "../../../src/store/decisions/ring.ts";
import { entryOf } from "../_decisions.ts";

/** Takes up to `countMax` records out of the ring. */
function take(reader: DecisionReader, columns: DecisionColumns, countMax: number): void {
  const parts: Uint8Array[] = [];
  reader.release(reader.copy(parts, countMax));
  for (const part of parts) readRecords(columns, Buffer.from(part));
}

test("a full ring drops what lets through, and counts it; a denial always has room", () => {
  const ring = createDecisionRing();
  const writer = new DecisionRing(ring, { waitMs: 0 });
  const reader = new DecisionReader(ring);
  for (let n = 0; n < 20_000; n++) writer.record(entryOf(n, true));
  const { recorded, dropped } = decisionCounts(ring);
  expect(recorded + dropped).toBe(20_000);
  expect(dropped).toBeGreaterThan(0);
  expect(reader.used).toBeLessThanOrEqual((RING_BYTES / 4) * 3);
  for (let n = 0; n < 500; n++) writer.record(entryOf(100_000 + n, false));
  expect(decisionCounts(ring)).toEqual({ recorded: recorded + 500, dropped });
  const columns = emptyColumns();
  take(reader, columns, 100_000);
  expect(columns.count).toBe(recorded + 500);
  expect(columns.texts[0]!.slice(-500)).toEqual(
    Array.from({ length: 500 }, (_, n) => `request-${100_000 + n}`),
  );
});

test("denials beyond the ring wait and arrive, past its end and over and over", async () => {
  const ring = createDecisionRing();
  const writer = new DecisionRing(ring, { waitMs: 0 });
  const reader = new DecisionReader(ring);
  const columns = emptyColumns();
  for (let n = 0; n < 30_000; n++) {
    writer.record(entryOf(n, false));
    if (n % 15_000 === 14_999) take(reader, columns, 7000);
  }
  const reading = setInterval(() => take(reader, columns, 5000), 1);
  await writer.flush();
  clearInterval(reading);
  while (reader.used > 0) take(reader, columns, 5000);
  expect(columns.count).toBe(30_000);
  expect(new Set(columns.texts[0]).size).toBe(30_000);
  expect(columns.texts[3]![7]).toMatch(/ünïcode/);
  expect(decisionCounts(ring).dropped).toBe(0);
});

test("a log that nobody empties refuses denials at last, and says so", () => {
  const writer = new DecisionRing(createDecisionRing(), { waitMs: 0 });
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
