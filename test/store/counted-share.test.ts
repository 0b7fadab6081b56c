// The share of its weight that an outcome counted for, from the ledger's fold to the rows of the store:
// live, after a start from a snapshot, and in a store that is made anew from the journal.
import * as fs from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { VOICE_FIRST_PARTY } from "../../src/contract/voices.ts";
import { createEngineMemory } from "../../src/engine/memory.ts";
import { CountedShareReader, resolveCountedSharesPath } from "../../src/journal/counted-shares.ts";
import { startLedger } from "../../src/ledger/client.ts";
import { startStore } from "../../src/store/client.ts";
import { NOW_MS, recordOf, temporaryDirectory } from "../ledger/_fixtures.ts";
import { LIMITS } from "./_fixtures.ts";

const SUBJECT = "agent://shop/outage";
/** Failures of one hour by as many customers, each of weight 0.6 under the shipped config. */
const failing = (from: number, count: number) =>
  Array.from({ length: count }, (_, i) =>
    recordOf(from + i, {
      subject: SUBJECT,
      reporter: `agent://shop/customer-${from + i}`,
      outcome: 0,
      stakes: 250,
      gradeIndex: 3,
      voice: VOICE_FIRST_PARTY,
      isFirstParty: true,
      incidentId: "outage-7",
      settledAtMs: NOW_MS,
    }),
  );

async function openLedger(dataDir: string) {
  const notes: string[] = [];
  const ledger = await startLedger({
    dataDir,
    engineMemory: createEngineMemory(),
    onFatal: (code, why) => {
      throw new Error(`ended with ${code}: ${why}`);
    },
    clock: () => NOW_MS,
    snapshotPace: { outcomes: 8, ms: 1e12, outcomesMin: 1e9 },
    log: (event) => notes.push(event),
  });
  return { ledger, notes };
}

async function readShares(dataDir: string): Promise<unknown[]> {
  const store = await startStore({
    dataDir,
    log: () => undefined,
    isStandalone: true,
  });
  const query = "SELECT position, counted_share, incident_id FROM outcomes ORDER BY position";
  const { rows } = await store.query(query, LIMITS);
  await store.close();
  return rows.map(([position, share, incidentId]) => {
    expect(incidentId).toBe("outage-7");
    return [Number(position), Math.round(Number(share) * 1e4) / 1e4];
  });
}

test("rows say what counted, also after a start from a snapshot and in a new store", async () => {
  const dataDir = temporaryDirectory();
  const first = await openLedger(dataDir);
  await first.ledger.appendBatch(failing(1, 8));
  await expect.poll(() => first.notes).toContain("snapshot_written");
  await first.ledger.close();
  const second = await openLedger(dataDir);
  expect(second.ledger.replay.snapshotLsn).toBe(8);
  await second.ledger.appendBatch(failing(9, 2));
  await second.ledger.close();
  const shares = Array.from({ length: 10 }, (_, i) => [i + 1, i < 5 ? 1 : 0]);
  expect(await readShares(dataDir)).toEqual(shares);
  fs.rmSync(join(dataDir, "store"), { recursive: true });
  expect(await readShares(dataDir)).toEqual(shares);
});

test("a start without the file of shares replays the journal, and has them again", async () => {
  const dataDir = temporaryDirectory();
  const first = await openLedger(dataDir);
  await first.ledger.appendBatch(failing(1, 8));
  await expect.poll(() => first.notes).toContain("snapshot_written");
  await first.ledger.close();
  const path = resolveCountedSharesPath(join(dataDir, "journal"));
  fs.rmSync(path);
  const second = await openLedger(dataDir);
  expect(second.ledger.replay).toMatchObject({ snapshotLsn: undefined, outcomes: 8 });
  await second.ledger.close();
  expect([...new CountedShareReader(path).readRange(0, 100).keys()]).toEqual([6, 7, 8]);
});

test("an entry that was torn, or is of a record after the snapshot, is written again", async () => {
  const dataDir = temporaryDirectory();
  const first = await openLedger(dataDir);
  await first.ledger.appendBatch(failing(1, 7));
  await first.ledger.close();
  const path = resolveCountedSharesPath(join(dataDir, "journal"));
  fs.truncateSync(path, fs.statSync(path).size - 5);
  const second = await openLedger(dataDir);
  await second.ledger.close();
  expect([...new CountedShareReader(path).readRange(0, 100).entries()]).toEqual([
    [6, 0],
    [7, 0],
  ]);
});
