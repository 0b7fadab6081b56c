// A journal whose end is lost is refused by every start until a person accepts it; a crash, which loses
// nothing that was acknowledged, never looks like that.
import * as fs from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createEngineMemory } from "../../../src/engine/memory.ts";
import { resolveDataPaths } from "../../../src/journal/data-directory.ts";
import { JournalDamaged } from "../../../src/journal/faults.ts";
import { diskFileLayer } from "../../../src/platform/files.ts";
import { parseSegmentNames } from "../../../src/journal/format.ts";
import { verifyJournal } from "../../../src/journal/verify.ts";
import { startLedger } from "../../../src/ledger/client.ts";
import {
  HighWaterMark,
  readKnownDurablePosition,
  raiseHighWater,
  readHighWater,
  setHighWater,
} from "../../../src/ledger/snapshot/high-water.ts";
import { acceptJournalEnd } from "../../../src/service/accept-loss.ts";
import { NOW_MS, recordOf, temporaryDirectory } from "../_fixtures.ts";

const OUTCOMES = 200;

async function report(dataDir: string, from: number, count: number): Promise<number> {
  const ledger = await startLedger({
    dataDir,
    engineMemory: createEngineMemory(),
    onFatal: (code) => {
      throw new Error(`fatal ${code}`);
    },
    clock: () => NOW_MS,
  });
  try {
    for (let at = 0; at < count; at += 10) {
      const records = Array.from({ length: 10 }, (_, n) => recordOf(from + at + n));
      await ledger.appendBatch(records);
    }
    return ledger.position();
  } finally {
    await ledger.close();
  }
}

function newestSegment(dataDir: string): string {
  const journal = join(dataDir, "journal");
  return join(journal, parseSegmentNames(fs.readdirSync(journal)).at(-1)!.name);
}

test("an end that was cut is refused, left as it is, and given up on request alone", async () => {
  const dataDir = temporaryDirectory();
  await report(dataDir, 1, OUTCOMES);
  expect(readHighWater(diskFileLayer, dataDir)).toBe(OUTCOMES);
  const path = newestSegment(dataDir);
  const whole = fs.readFileSync(path);
  const cut = whole.subarray(0, Math.floor(whole.byteLength / 2));
  fs.writeFileSync(path, cut);
  for (let tries = 0; tries < 2; tries++) {
    const refusal = await report(dataDir, 1000, 10).catch((error: unknown) => error);
    expect(refusal).toBeInstanceOf(JournalDamaged);
    expect(refusal).toMatchObject({ exitCode: 65, damage: { lostUpto: OUTCOMES } });
    expect(String(refusal)).toMatch(/positions \d+ to 200 are missing at its end, says the high-/);
    // Not even the torn batch at the cut: it may be all that is left of those positions.
    expect(fs.readFileSync(path)).toEqual(cut);
  }
  const paths = resolveDataPaths(dataDir);
  const known = readKnownDurablePosition(diskFileLayer, paths.root, paths.snapshots);
  const { damage } = verifyJournal(diskFileLayer, paths.journal, known);
  expect(damage).toMatchObject({ lostUpto: OUTCOMES });
  // With the file put back nothing is lost.
  fs.writeFileSync(path, whole);
  expect(acceptJournalEnd(paths, NOW_MS)).toBeUndefined();
  expect(await report(dataDir, 1000, 10)).toBe(OUTCOMES + 10);

  fs.writeFileSync(path, cut);
  fs.mkdirSync(paths.store, { recursive: true });
  fs.writeFileSync(join(paths.store, "outcomes.duckdb"), "rows of lost records");
  const left = verifyJournal(diskFileLayer, paths.journal).lsn;
  expect(acceptJournalEnd(paths, NOW_MS)).toEqual({ firstLost: left + 1, lastLost: OUTCOMES + 10 });
  expect(fs.readdirSync(paths.store)).toEqual([expect.stringMatching(/^broken-/)]);
  expect(await report(dataDir, 2000, 10)).toBe(left + 10);
});

test("a journal that is gone as a whole is refused too", async () => {
  const dataDir = temporaryDirectory();
  await report(dataDir, 1, 20);
  fs.rmSync(join(dataDir, "journal"), { recursive: true });
  await expect(report(dataDir, 1, 10)).rejects.toThrow(/positions 1 to 20 are missing at its end/);
});

test("records behind the mark, and an unfinished write behind them, are an ordinary crash", async () => {
  const dataDir = temporaryDirectory();
  await report(dataDir, 1, 100);
  setHighWater(diskFileLayer, dataDir, 40);
  fs.appendFileSync(newestSegment(dataDir), Buffer.alloc(700, 7));
  expect(await report(dataDir, 1000, 10)).toBe(110);
});

test("the mark is written at most once a second, never lowered, and survives a torn write", () => {
  const root = temporaryDirectory();
  const log: string[] = [];
  const mark = new HighWaterMark(diskFileLayer, root, (event) => log.push(event));
  mark.advance(5, NOW_MS);
  mark.advance(9, NOW_MS + 999);
  expect(readHighWater(diskFileLayer, root)).toBe(5);
  mark.advance(12, NOW_MS + 1000);
  mark.advance(7, NOW_MS + 5000);
  expect(readHighWater(diskFileLayer, root)).toBe(12);
  const path = join(root, "high-water");
  const bytes = fs.readFileSync(path);
  for (let at = 0; at < 1024; at += 3) {
    const torn = Buffer.from(bytes);
    torn[at]! ^= 1;
    fs.writeFileSync(path, torn);
    // One of the two slots is whole: the newest, or the one before it.
    expect([5, 12]).toContain(readHighWater(diskFileLayer, root));
  }
  fs.writeFileSync(path, bytes.subarray(0, 100));
  expect([0, 5, 12]).toContain(readHighWater(diskFileLayer, root));
  fs.writeFileSync(path, "");
  expect(readHighWater(diskFileLayer, root)).toBe(0);
  raiseHighWater(diskFileLayer, root, 20);
  raiseHighWater(diskFileLayer, root, 19);
  expect(readHighWater(diskFileLayer, root)).toBe(20);
  mark.close(12);
  expect(log).toEqual([]);
});
