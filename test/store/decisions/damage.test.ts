// Damaged decision records: each costs itself, is counted, and holds up nothing else.
import { expect, test } from "vitest";
import {
  createDecisionRing,
  OFFSET_LENGTHS,
  OFFSET_NUMBERS,
} from "../../../src/store/decisions/ring-layout.ts";
import {
  DecisionRingReader,
  createDecisionColumns,
  decodeRecordsInto,
} from "../../../src/store/decisions/ring-reader.ts";
import { DecisionRingWriter } from "../../../src/store/decisions/ring.ts";
import { DecisionSpool } from "../../../src/store/decisions/spool.ts";
import { temporaryDirectory } from "../../ledger/_fixtures.ts";
import { entryOf, NOW_MS } from "../_decisions.ts";
import { askCore, openRecords } from "../_fixtures.ts";

/** The bytes of some records, as a ring gives them, and where each begins. */
function recordsOf(count: number): { bytes: Buffer; starts: number[] } {
  const ring = createDecisionRing();
  const writer = new DecisionRingWriter(ring, { waitMs: 0 });
  for (let n = 0; n < count; n++) writer.record(entryOf(n, true));
  const parts: Uint8Array[] = [];
  new DecisionRingReader(ring).copyRecords(parts);
  const bytes = Buffer.concat(parts);
  const starts: number[] = [];
  for (let at = 0; at < bytes.byteLength; at += bytes.readUInt32LE(at)) starts.push(at);
  return { bytes, starts };
}

const DAMAGES: [name: string, spoil: (bytes: Buffer, at: number) => void, left: string[]][] = [
  ["zero length", (bytes, at) => bytes.writeUInt32LE(0, at), ["request-0"]],
  ["length beyond the end", (bytes, at) => bytes.writeUInt32LE(1 << 20, at), ["request-0"]],
  ["length of no record", (bytes, at) => bytes.writeUInt32LE(7, at), ["request-0"]],
  [
    "texts longer than itself",
    (bytes, at) => bytes.writeUInt16LE(65_000, at + OFFSET_LENGTHS),
    ["request-0", "request-2"],
  ],
  [
    "time that is none",
    (bytes, at) => bytes.writeDoubleLE(Number.NaN, at + OFFSET_NUMBERS),
    ["request-0", "request-2"],
  ],
];

test.each(DAMAGES)(
  "a record of a %s is skipped and counted, and holds nothing up",
  (_, spoil, left) => {
    const { bytes, starts } = recordsOf(3);
    spoil(bytes, starts[1]!);
    const columns = createDecisionColumns();
    expect(decodeRecordsInto(columns, bytes)).toBe(1);
    expect(columns.texts[0]).toEqual(left);
  },
);

test("damaged records in the spool cost themselves: the store goes on and says how many", async () => {
  const dataDir = temporaryDirectory();
  const ring = createDecisionRing();
  const { core, records } = openRecords(dataDir, ring, 2);
  const spool = new DecisionSpool(core.keptDirectory, 1);
  const { bytes, starts } = recordsOf(3);
  bytes.writeUInt32LE(0, starts[1]);
  spool.append([bytes], NOW_MS);
  spool.append([recordsOf(4).bytes.subarray(starts[2])], NOW_MS);
  spool.close();
  const next = openRecords(dataDir, ring, 3);
  await next.records.ingestAll(NOW_MS);
  const { rows } = await askCore(
    next.core,
    "SELECT list(request_id ORDER BY request_id) FROM decisions",
  );
  expect(rows).toEqual([[["request-0", "request-2", "request-3"]]]);
  expect(next.records.readMetrics().damagedRecords).toBe(1);
  await records.close(NOW_MS);
  await core.close();
  await next.core.close();
});
