// Seeded simulation of journal and recovery over a file system that loses, tears and reorders
// whatever was not synced. Every failure names its seed.
import { expect, test } from "vitest";
import type { LedgerCore } from "../../src/ledger/core.ts";
import { recoverJournal } from "../../src/journal/recovery.ts";
import { decodeOutcome } from "../../src/journal/outcome.ts";
import {
  newKey,
  NOW_MS,
  openCore,
  outcomeIdOf,
  recordOf,
  runOf,
  seededRandom,
} from "../ledger/_fixtures.ts";
import { SimulatedFiles } from "./_simulated-files.ts";

const SEEDS = Number(process.env["TRUSTRANK_SIMULATION_SEEDS"] ?? 1000);
const CRASHES = 3;
const key = newKey();

/** Lives through some crashes; returns what is wrong, or undefined. */
function live(seed: number, isSyncIgnored: boolean): string | undefined {
  const random = seededRandom(seed);
  const files = new SimulatedFiles(random);
  files.isSyncIgnored = isSyncIgnored;
  const acknowledged = new Map<number, string>();
  let index = 0;
  for (let round = 0; round < CRASHES; round++) {
    files.operationsLeft = Math.floor(random() * 60);
    files.writeBytesMax = random() < 0.3 ? 1 + Math.floor(random() * 700) : Infinity;
    try {
      const reserveBytes = random() < 0.3 ? 3000 : 0;
      const { core } = openCore("/j", key, { files, segmentBytesMax: 6000, reserveBytes });
      index = workUntilDown(core, random, index, acknowledged);
    } catch (error) {
      if (!files.isDown) return `open failed: ${String(error)}`;
    }
    files.crash();
    files.writeBytesMax = Infinity;
    const wrong = check(files, acknowledged);
    if (wrong !== undefined) return `after crash ${round + 1}: ${wrong}`;
  }
  return undefined;
}

/** Commits batches of random shape until the power fails; returns the last record's index. */
function workUntilDown(
  core: LedgerCore,
  random: () => number,
  from: number,
  acknowledged: Map<number, string>,
): number {
  let index = from;
  try {
    for (;;) {
      if (random() < 0.2) core.probeDisk();
      const size = 1 + Math.floor(random() * 6);
      const records = Array.from({ length: size }, () =>
        recordOf(++index, { body: Buffer.alloc(Math.floor(random() * 900), "x") }),
      );
      for (const [at, result] of core.commit([runOf(records)], NOW_MS).entries()) {
        acknowledged.set(result.lsn, records[at]?.outcomeId ?? "");
      }
    }
  } catch {
    return index;
  }
}

/** Recovers (as the next start would) and compares with what was promised. */
function check(files: SimulatedFiles, acknowledged: Map<number, string>): string | undefined {
  const found = new Map<number, string>();
  const ids = new Set<string>();
  try {
    recoverJournal(files, "/j", (bytes, at, lsn) => {
      const { outcomeId } = decodeOutcome(bytes, at);
      found.set(lsn, outcomeId);
      ids.add(outcomeId);
    });
  } catch (error) {
    return `recovery refused: ${String(error)}`;
  }
  if (ids.size !== found.size) return "an id is there twice";
  for (const [lsn, id] of acknowledged) {
    if (found.get(lsn) !== id) return `position ${lsn} holds ${found.get(lsn)}, promised ${id}`;
  }
  // What survived without being acknowledged is kept from now on.
  for (const [lsn, id] of found) acknowledged.set(lsn, id);
  return undefined;
}

test(`${SEEDS} seeds: whatever was acknowledged is there after every crash`, () => {
  let wrong: string | undefined;
  let seed = 0;
  while (wrong === undefined && seed < SEEDS) wrong = live(++seed, false);
  expect(wrong, `seed ${seed}`).toBeUndefined();
});

test("negative control: a sync that does nothing is caught", () => {
  let caught = 0;
  for (let seed = 1; seed <= 100; seed++) if (live(seed, true) !== undefined) caught++;
  expect(caught).toBeGreaterThan(50);
});

test("a machine that never fails loses nothing either", () => {
  const files = new SimulatedFiles(seededRandom(1));
  const { core } = openCore("/j", key, { files, segmentBytesMax: 6000 });
  for (let index = 1; index <= 100; index++) core.commit([runOf([recordOf(index)])], NOW_MS);
  core.close();
  const { core: again, folded } = openCore("/j", key, { files });
  expect(again.lsn).toBe(100);
  expect(again.truncatedBytes).toBe(0);
  expect(folded).toHaveLength(100);
  expect(outcomeIdOf(100)).toBe(recordOf(100).outcomeId);
});
