// A snapshot of an older table layout: named, ignored, and the table made anew from the journal.
import * as fs from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { openTableImage } from "../../../src/engine/image.ts";
import { createEngineMemory } from "../../../src/engine/memory.ts";
import { startLedger } from "../../../src/ledger/client.ts";
import {
  decodeSnapshotHeader,
  encodeSnapshotHeader,
  SNAPSHOT_HEADER_BYTES,
  selectSnapshotNames,
} from "../../../src/ledger/snapshot/format.ts";
import { NOW_MS, recordOf, temporaryDirectory } from "../_fixtures.ts";

async function openLedger(dataDir: string) {
  const memory = createEngineMemory();
  const notes: [string, string][] = [];
  const ledger = await startLedger({
    dataDir,
    engineMemory: memory,
    engineSettings: { seed: 7n },
    onFatal: () => undefined,
    clock: () => NOW_MS,
    snapshotPace: { outcomes: 400, ms: 1e12, outcomesMin: 1e9 },
    log: (event, detail) => notes.push([event, detail]),
  });
  const table = () => Buffer.concat(openTableImage(memory).viewParts());
  return { ledger, table, notes };
}

/** Says in the snapshot's header that its table has the layout before the present one. */
function age(file: string): void {
  const bytes = fs.readFileSync(file);
  const header = decodeSnapshotHeader(bytes)!;
  const older = { ...header, layoutVersion: header.layoutVersion - 1 };
  const aged = encodeSnapshotHeader(older, header.bodyHash);
  fs.writeFileSync(file, Buffer.concat([aged, bytes.subarray(SNAPSHOT_HEADER_BYTES)]));
}

test("a table of an older layout is made anew from the journal", async () => {
  const dataDir = temporaryDirectory();
  const first = await openLedger(dataDir);
  for (let at = 0; at < 450; at += 50) {
    await first.ledger.appendBatch(Array.from({ length: 50 }, (_, i) => recordOf(at + i + 1)));
  }
  const written = () => first.notes.some(([event]) => event === "snapshot_written");
  await expect.poll(written).toBe(true);
  const before = first.table();
  await first.ledger.close();
  const directory = join(dataDir, "snapshots");
  const files = selectSnapshotNames(fs.readdirSync(directory)).map((name) => join(directory, name));
  expect(files.length).toBeGreaterThan(0);
  files.forEach(age);
  const second = await openLedger(dataDir);
  await expect.poll(() => second.notes).toHaveLength(files.length);
  for (const [event, detail] of second.notes) {
    expect(event).toBe("snapshot_ignored");
    expect(detail).toContain("table layout is version");
  }
  expect(second.ledger.replay).toMatchObject({ snapshotLsn: undefined, outcomes: 450 });
  expect(second.table().equals(before)).toBe(true);
  await second.ledger.close();
});
