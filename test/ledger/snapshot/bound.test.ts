// Snapshots and the bound of the table: taken over where nothing was left out, made anew where the
// journal gives another table, and a start on any bound.
import { expect, test } from "vitest";
import { openTableImage } from "../../../src/engine/image.ts";
import { createEngineMemory } from "../../../src/engine/memory.ts";
import { startLedger } from "../../../src/ledger/client.ts";
import { NOW_MS, recordOf, temporaryDirectory } from "../_fixtures.ts";
import { WAIT_MS_MAX } from "../../_patience.ts";

const WIDE = 64 * 1024 * 1024;
/** Too small for a single row. */
const NARROW = 512 * 1024;
const OUTCOMES = 450;

async function open(dataDir: string, tableBytesMax: number) {
  const memory = createEngineMemory();
  const notes: [string, string][] = [];
  const ledger = await startLedger({
    dataDir,
    engineMemory: memory,
    engineSettings: { seed: 7n },
    onFatal: () => undefined,
    clock: () => NOW_MS,
    tableBytesMax,
    snapshotPace: { outcomes: 400, ms: 1e12, outcomesMin: 1e9 },
    log: (event, detail) => notes.push([event, detail]),
  });
  const heap = () => Buffer.from(openTableImage(memory).viewParts()[1]!);
  const noted = (wanted: string) =>
    expect
      .poll(() => notes.find(([event]) => event === wanted)?.[1], { timeout: WAIT_MS_MAX })
      .toBeDefined();
  const detailOf = (wanted: string) => notes.find(([event]) => event === wanted)?.[1];
  return { ledger, heap, noted, detailOf };
}

test("every start succeeds, and gives the table of its own bound", async () => {
  const dataDir = temporaryDirectory();
  const first = await open(dataDir, WIDE);
  for (let at = 0; at < OUTCOMES; at += 50) {
    await first.ledger.appendBatch(Array.from({ length: 50 }, (_, i) => recordOf(at + i + 1)));
  }
  await first.noted("snapshot_written");
  const before = first.heap();
  await first.ledger.close();

  const wider = await open(dataDir, 2 * WIDE);
  expect(wider.ledger.replay.snapshotLsn).toBeGreaterThan(0);
  expect(wider.heap().equals(before)).toBe(true);
  await wider.ledger.close();

  const narrow = await open(dataDir, NARROW);
  expect(narrow.ledger.replay).toMatchObject({ snapshotLsn: undefined, outcomes: OUTCOMES });
  await narrow.noted("agent_table_overflow");
  expect(narrow.detailOf("agent_table_overflow")).toContain(`${OUTCOMES} records`);
  expect(narrow.detailOf("snapshot_ignored")).toContain("larger");
  await expect(narrow.ledger.append(recordOf(9000))).rejects.toMatchObject({ code: "table_full" });
  await expect
    .poll(() => narrow.ledger.admission.refusedFull, { timeout: WAIT_MS_MAX })
    .toBeGreaterThan(0);
  await narrow.noted("snapshot_written");
  await narrow.ledger.close();

  const again = await open(dataDir, WIDE);
  await again.noted("snapshot_ignored");
  expect(again.detailOf("snapshot_ignored")).toContain("another bound");
  expect(again.ledger.replay.snapshotLsn).toBeUndefined();
  expect(again.detailOf("agent_table_overflow")).toBeUndefined();
  expect(again.heap().equals(before)).toBe(true);
  await again.ledger.close();
});
