// Seeded simulation of snapshots beside a journal that goes on, over a file system that loses,
// tears and reorders what was not synced: a start after any crash has the table that a replay of
// the whole journal gives, and no snapshot that was finished is missing. Failures name their seed.
import { hash } from "node:crypto";
import { expect, test } from "vitest";
import type { TableImage } from "../../../src/engine/image.ts";
import type { FoldedOutcome } from "../../../src/journal/folded-outcome.ts";
import { LedgerCore } from "../../../src/ledger/core.ts";
import { writeSnapshot, startFromSnapshot } from "../../../src/ledger/snapshot/files.ts";
import { encodePayloads, encodePlaces } from "../../../src/ledger/snapshot/format.ts";
import { GUARD_ENTRIES, newKey, NOW_MS, recordOf, runOf, seededRandom } from "../_fixtures.ts";
import { SimulatedFiles } from "../../journal/_simulated-files.ts";

const SEEDS = Number(process.env["TRUSTRANK_SIMULATION_SEEDS"] ?? 500);
const CRASHES = 2;
/** Several sectors, so that a table can be torn. */
const TABLE_BYTES = 2048;
const key = newKey();
const identity = { layoutVersion: 1, engineDigest: Buffer.alloc(32, 7), seed: 1n };

/** Stands for the agent table: every outcome changes it, in an order that matters. */
class Table implements TableImage {
  readonly layoutVersion = 1;
  readonly memory = Buffer.alloc(TABLE_BYTES);

  fold({ subject, stakes }: FoldedOutcome): void {
    const at = (Math.floor(stakes) * 64) % TABLE_BYTES;
    const before = this.memory.subarray(at, at + 20);
    hash("sha1", Buffer.concat([before, Buffer.from(subject)]), "buffer").copy(this.memory, at);
  }
  countBytes(): number {
    return TABLE_BYTES;
  }
  viewParts(): Uint8Array[] {
    return [this.memory];
  }
  reserve(): Uint8Array[] {
    return [this.memory];
  }
  wipe(): void {
    this.memory.fill(0);
  }
}

interface Opened {
  core: LedgerCore;
  table: Table;
  /** Position of the snapshot it came from; 0 for none. */
  from: number;
}

function open(files: SimulatedFiles, isReplay = false): Opened {
  const table = new Table();
  const directory = isReplay ? "/none" : "/s";
  const ignored = () => undefined;
  return startFromSnapshot({ files, directory, identity, image: table, ignored }, (start) => {
    const core = new LedgerCore({
      files,
      directory: "/j",
      key,
      epoch: 1,
      fold: (outcome) => table.fold(outcome),
      nowMs: NOW_MS,
      segmentBytesMax: 6000,
      replayEntriesMax: GUARD_ENTRIES,
      ...(start === undefined ? {} : { start }),
    });
    return { core, table, from: start?.lsn ?? 0 };
  });
}

function save(files: SimulatedFiles, { core, table }: Opened): number {
  const { lsn, chain, outcomes, keyEvents, policies, sources } = core.buildSnapshotContents();
  const guard = Buffer.alloc(core.guard.byteCount);
  core.guard.copyEntries(guard);
  const [events, rules] = [encodePayloads(keyEvents), encodePayloads(policies)];
  const places = encodePlaces(sources);
  const header = {
    ...identity,
    lsn,
    chain,
    outcomes,
    tableBytes: TABLE_BYTES,
    guardBytes: guard.byteLength,
    keyEventBytes: events.byteLength,
    policyBytes: rules.byteLength,
    sourceBytes: places.byteLength,
    reviewBytes: 0,
    streamBytes: 0,
    conditionBytes: 0,
  };
  const body = Buffer.concat([table.memory, guard, events, rules, places]);
  writeSnapshot(files, "/s", { header, body });
  return lsn;
}

interface Life {
  index: number;
  /** The newest snapshot whose writing has returned. */
  finished: number;
}

function workUntilDown(files: SimulatedFiles, random: () => number, life: Life): void {
  try {
    const opened = open(files);
    for (;;) {
      const size = 1 + Math.floor(random() * 4);
      const records = Array.from({ length: size }, () =>
        recordOf(++life.index, { idempotencyKey: `id-${life.index}` }),
      );
      opened.core.commit([runOf(records)], NOW_MS);
      if (random() < 0.4) life.finished = save(files, opened);
    }
  } catch (error) {
    if (!files.isDown) throw error;
  }
}

/** Lives through some crashes; returns what is wrong, or undefined. */
function live(seed: number, isSyncIgnored: boolean): string | undefined {
  const random = seededRandom(seed);
  const files = new SimulatedFiles(random);
  files.isSyncIgnored = isSyncIgnored;
  const life = { index: 0, finished: 0 };
  for (let round = 1; round <= CRASHES; round++) {
    files.operationsLeft = Math.floor(random() * 50);
    files.writeBytesMax = random() < 0.3 ? 1 + Math.floor(random() * 700) : Infinity;
    try {
      workUntilDown(files, random, life);
    } catch (error) {
      return `round ${round}: ${String(error)}`;
    }
    files.crash();
    files.writeBytesMax = Infinity;
    const wrong = check(files, life);
    if (wrong !== undefined) return `after crash ${round}: ${wrong}`;
  }
  return undefined;
}

function check(files: SimulatedFiles, { finished }: Life): string | undefined {
  try {
    const opened = open(files);
    const replay = open(files, true);
    if (opened.from < finished) return `started from ${opened.from}, ${finished} was finished`;
    if (!opened.table.memory.equals(replay.table.memory)) {
      return `the snapshot at ${opened.from} gives another table than the journal`;
    }
    const [one, other] = [opened.core, replay.core];
    if (one.buildSnapshotContents().outcomes !== other.buildSnapshotContents().outcomes)
      return "another number of outcomes";
    return one.guard.size === other.guard.size ? undefined : "another guard";
  } catch (error) {
    return `the start failed: ${String(error)}`;
  }
}

test(`${SEEDS} seeds: a start from what a crash left of the snapshots is a replay`, () => {
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

test("negative control: a table that is not what its position says is caught", () => {
  let caught = 0;
  for (let seed = 1; seed <= 50; seed++) {
    const files = new SimulatedFiles(seededRandom(seed));
    const opened = open(files);
    for (let index = 1; index <= 20; index++) {
      opened.core.commit([runOf([recordOf(index)])], NOW_MS);
    }
    opened.table.memory[seed]! ^= 1;
    save(files, opened);
    if (check(files, { index: 20, finished: 0 }) !== undefined) caught++;
  }
  expect(caught).toBe(50);
});
