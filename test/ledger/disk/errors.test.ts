// The disk says no: full, broken, or only half a write. Through the file layer, on simulated files.
import { beforeEach, expect, test } from "vitest";
import { JournalBroken } from "../../../src/journal/faults.ts";
import { type LedgerCore } from "../../../src/ledger/core.ts";
import {
  VERDICT_DUPLICATE,
  VERDICT_RECORDED,
  VERDICT_DISK_FULL,
} from "../../../src/ledger/replay-guard.ts";
import type { FoldedOutcome } from "../../../src/journal/folded-outcome.ts";
import { newKey, NOW_MS, openCore, recordOf, runOf, seededRandom } from "../_fixtures.ts";
import { SimulatedFiles } from "../../journal/_simulated-files.ts";

const key = newKey();
let files: SimulatedFiles;
let core: LedgerCore;
let folded: FoldedOutcome[];

beforeEach(() => {
  files = new SimulatedFiles(seededRandom(7));
  ({ core, folded } = openCore("/j", key, { files, segmentBytesMax: 4000 }));
});

const commit = (index: number, idempotencyKey = "") =>
  core.commit([runOf([recordOf(index, { idempotencyKey })])], NOW_MS)[0];

/** Reopens after a power cut and returns how many outcomes are there. */
function countAfterCrash(): number {
  files.crash();
  return openCore("/j", key, { files }).folded.length;
}

test("a full disk refuses, keeps what was recorded, and heals when there is room", () => {
  expect(commit(1)?.verdict).toBe(VERDICT_RECORDED);
  files.capacity = 600;
  expect(commit(2, "k")?.verdict).toBe(VERDICT_DISK_FULL);
  expect(core.isHealthy).toBe(false);
  expect(folded).toHaveLength(1);
  files.capacity = Infinity;
  expect(commit(2, "k")).toMatchObject({ verdict: VERDICT_RECORDED, lsn: 2 });
  expect(core.isHealthy).toBe(true);
  expect(commit(2, "k")).toMatchObject({ verdict: VERDICT_DUPLICATE, lsn: 2 });
  expect(countAfterCrash()).toBe(2);
});

test("a full disk at the start of a segment leaves no half-made file", () => {
  for (let index = 1; index <= 12; index++) commit(index);
  const before = files.list("/j");
  expect(before.length).toBe(2);
  files.capacity = before.length === 2 ? usedBytes() + 100 : 0;
  let verdict: number | undefined = VERDICT_RECORDED;
  let recorded = 12;
  while (verdict === VERDICT_RECORDED) {
    verdict = commit(recorded + 1)?.verdict;
    if (verdict === VERDICT_RECORDED) recorded++;
  }
  files.capacity = Infinity;
  for (let more = 0; more < 20; more++) {
    expect(commit(100 + more)?.verdict).toBe(VERDICT_RECORDED);
    recorded++;
  }
  expect(countAfterCrash()).toBe(recorded);
});

function usedBytes(): number {
  return files.list("/j").reduce((sum, name) => {
    const descriptor = files.open(`/j/${name}`, "read");
    const bytes = files.size(descriptor);
    files.close(descriptor);
    return sum + bytes;
  }, 0);
}

test("asking for room: says no while full, yes after, and writes nothing", () => {
  commit(1);
  files.capacity = 600;
  commit(2);
  core.probeDisk();
  expect(core.isHealthy).toBe(false);
  files.capacity = Infinity;
  core.probeDisk();
  expect(core.isHealthy).toBe(true);
  expect(countAfterCrash()).toBe(1);
});

test.each(["EIO", "ENOSPC"])(
  "a failed sync (%s) is final: no second try, no acknowledgement",
  (errno) => {
    commit(1);
    files.failure = { operation: "syncData", errno };
    expect(() => commit(2)).toThrow(JournalBroken);
    // The next sync would succeed; the journal must not believe it.
    expect(() => commit(3)).toThrow(JournalBroken);
    expect(folded).toHaveLength(1);
    expect(countAfterCrash()).toBeGreaterThanOrEqual(1);
  },
);

test("a failed write is final", () => {
  commit(1);
  files.failure = { operation: "write", errno: "EIO" };
  expect(() => commit(2)).toThrow(JournalBroken);
  expect(() => core.probeDisk()).toThrow(JournalBroken);
});

test("a full disk that cannot even be cut back is final", () => {
  commit(1);
  files.capacity = 600;
  files.failure = { operation: "truncate", errno: "EIO" };
  expect(() => commit(2)).toThrow(JournalBroken);
});

test("short writes are completed", () => {
  files.writeBytesMax = 7;
  for (let index = 1; index <= 30; index++) commit(index);
  expect(countAfterCrash()).toBe(30);
});

test("every operation failing in turn: nothing acknowledged is lost", () => {
  for (let step = 0; step < 120; step++) {
    const disk = new SimulatedFiles(seededRandom(step));
    disk.operationsLeft = step;
    let acknowledged = 0;
    try {
      const { core: fragile } = openCore("/j", key, { files: disk, segmentBytesMax: 2000 });
      for (let index = 1; index <= 40; index++) {
        fragile.commit([runOf([recordOf(index)])], NOW_MS);
        acknowledged = index;
      }
    } catch (error) {
      expect(disk.isDown, String(error)).toBe(true);
    }
    disk.crash();
    const { folded: found } = openCore("/j", key, { files: disk });
    expect(found.length, `step ${step}`).toBeGreaterThanOrEqual(acknowledged);
    expect(found.length, `step ${step}`).toBeLessThanOrEqual(acknowledged + 1);
  }
});
