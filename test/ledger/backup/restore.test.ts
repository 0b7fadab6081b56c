// Restores: the same table as before at the same position, a point in time at a commit, and nothing
// that looks like a service's directory unless it is whole.
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, expect, test } from "vitest";
import { openTableImage } from "../../../src/engine/image.ts";
import { createEngineMemory } from "../../../src/engine/memory.ts";
import { claimDataDirectory } from "../../../src/journal/data-directory.ts";
import { diskFileLayer } from "../../../src/platform/files.ts";
import { verifyJournal } from "../../../src/journal/verify.ts";
import { type OpenLedger, startLedger } from "../../../src/ledger/client.ts";
import { restoreBackup, type RestoreOptions } from "../../../src/ledger/backup/restore.ts";
import {
  readKnownDurablePosition,
  readHighWater,
} from "../../../src/ledger/snapshot/high-water.ts";
import { NOW_MS, temporaryDirectory } from "../_fixtures.ts";
import {
  atEachStep,
  back,
  BATCH_RECORDS,
  GrowingJournal,
  readFiles,
  STEP_MS,
  stoppedAt,
  timeOfBatch,
  writeFiles,
} from "./_directories.ts";

const BATCHES = 14;
const END = BATCHES * BATCH_RECORDS;

let dataDir: string;
let backup: string;
let into: string;

beforeEach(() => {
  dataDir = temporaryDirectory();
  backup = join(temporaryDirectory(), "backup");
  into = join(temporaryDirectory(), "restored");
  const journal = new GrowingJournal(dataDir);
  journal.grow(BATCHES);
  journal.core.close();
  writeFiles(dataDir, {
    "keys.json": "{}",
    "service-id": "urn:one\n",
    "kaizen/state.json": '{"champion":"c-2"}',
    "store-kept/scores-1.parquet": "rows",
  });
});

const restored = (changes: Partial<RestoreOptions> = {}) =>
  restoreBackup({ files: diskFileLayer, backup, dataDir: into, ...changes });

/** Position that a start would find; throws where it would refuse. */
function soundPosition(root: string): number {
  const journal = join(root, "journal");
  const known = readKnownDurablePosition(diskFileLayer, root, join(root, "snapshots"));
  const { damage, lsn } = verifyJournal(diskFileLayer, journal, known);
  if (damage !== undefined) throw new Error(damage.reason);
  return lsn;
}

async function tableOf(root: string, onOpen?: (ledger: OpenLedger) => Promise<void>) {
  const memory = createEngineMemory();
  const notes: string[] = [];
  const ledger = await startLedger({
    dataDir: root,
    engineMemory: memory,
    onFatal: () => undefined,
    clock: () => NOW_MS + BATCHES * STEP_MS,
    snapshotPace: { outcomes: onOpen === undefined ? 1e9 : 1, ms: 1e12, outcomesMin: 1e9 },
    log: (event) => notes.push(event),
  });
  await onOpen?.(ledger);
  if (onOpen !== undefined) await expect.poll(() => notes).toContain("snapshot_written");
  const { snapshotLsn } = ledger.replay;
  await ledger.close();
  return { table: Buffer.concat(openTableImage(memory).viewParts()), snapshotLsn };
}

test("what was backed up is there again, byte for byte, and no owner with it", async () => {
  writeFiles(dataDir, { "server.json": "{}", lock: "", epoch: "7" });
  back(dataDir, backup);
  const { point, hasSnapshot } = await restored();
  const { ["server.json"]: _, ["journal/ballast"]: _ballast, ...kept } = readFiles(dataDir);
  const found = readFiles(into);
  const names = Object.keys(found).filter((name) => !["high-water", "lock"].includes(name));
  expect(names).toEqual(Object.keys(kept).filter((name) => name !== "lock"));
  for (const name of names) if (name !== "epoch") expect(found[name]).toBe(kept[name]);
  expect(found["epoch"]).not.toBe("7");
  expect(point.lsn).toBe(END);
  expect(hasSnapshot).toBe(false);
  expect(soundPosition(into)).toBe(END);
  expect(statSync(into).mode & 0o777).toBe(0o700);
});

test("the table is the same at the same position, from a snapshot as by a replay", async () => {
  const before = await tableOf(dataDir);
  back(dataDir, backup);
  await restored();
  expect((await tableOf(into)).table.equals(before.table)).toBe(true);
  // A snapshot, then more.
  const grown = await tableOf(dataDir, async (ledger) => {
    await ledger.appendConfig(Buffer.from("{}"));
  });
  back(dataDir, backup);
  const other = join(temporaryDirectory(), "restored");
  const { hasSnapshot } = await restored({ dataDir: other });
  expect(hasSnapshot).toBe(true);
  const again = await tableOf(other);
  expect(again.snapshotLsn).toBeGreaterThan(0);
  expect(again.table.equals(grown.table)).toBe(true);
});

test("a point in time is a commit at or before it, with the files as of then", async () => {
  writeFiles(dataDir, { "snapshots/snap-00000000000000000066.bin": "beyond" });
  back(dataDir, backup);
  const asked: string[] = [];
  const asOf: RestoreOptions["rewindFile"] = (path, content, point) => {
    asked.push(`${path} ${content.toString()} ${point.lsn}`);
    return path === "kaizen/state.json" ? Buffer.from("then") : undefined;
  };
  const at = async (until: RestoreOptions["until"]) => {
    const root = join(temporaryDirectory(), "restored");
    const { point, hasSnapshot } = await restored({ dataDir: root, until, rewindFile: asOf });
    const { "kaizen/state.json": state } = readFiles(root);
    expect(soundPosition(root)).toBe(point.lsn);
    expect(hasSnapshot).toBe(point.lsn >= 66);
    return [point.lsn, state];
  };
  const third = 3 * BATCH_RECORDS;
  expect(await at({ position: third })).toEqual([third, "then"]);
  expect(await at({ position: third + BATCH_RECORDS - 1 })).toEqual([third, "then"]);
  expect(asked).toContain(`kaizen/state.json {"champion":"c-2"} ${third}`);
  expect(await at({ timeUs: timeOfBatch(3) * 1000 })).toEqual([third, "then"]);
  expect(await at({ timeUs: timeOfBatch(4) * 1000 - 1 })).toEqual([third, "then"]);
  for (let batch = 1; batch < BATCHES; batch++) {
    const position = batch * BATCH_RECORDS;
    expect(await at({ position })).toEqual([position, "then"]);
  }
  const now = '{"champion":"c-2"}';
  expect(await at({ position: END })).toEqual([END, now]);
  expect(await at({ timeUs: timeOfBatch(99) * 1000 })).toEqual([END, now]);
  await expect(at({ position: END + 1 })).rejects.toThrow(/ends at position 70, before 71/);
  await expect(at({ timeUs: NOW_MS })).rejects.toThrow(/first record is later/);
});

test("a restored directory goes on where it was cut", async () => {
  back(dataDir, backup);
  await restored({ until: { position: 20 } });
  await tableOf(into, async (ledger) => void (await ledger.appendConfig(Buffer.from("{}"))));
  expect(soundPosition(into)).toBe(21);
  // It is another history now.
  expect(() => back(into, backup)).toThrow(/not the one in the backup/);
});

test("another service id on demand", async () => {
  back(dataDir, backup);
  await restored({ isNewService: true });
  expect(existsSync(join(into, "service-id"))).toBe(false);
});

test("only into an empty directory, and never over another process", async () => {
  back(dataDir, backup);
  await expect(restored({ dataDir })).rejects.toThrow(/is not empty/);
  await expect(restored({ backup: into })).rejects.toThrow(/holds no backup/);
  const tiny = { ...diskFileLayer, freeBytes: () => 100 };
  await expect(restored({ files: tiny })).rejects.toThrow(/no room in .* bytes needed, 100 free/);
  await restored();
});

test("a damaged file is refused by name, and nothing stays", async () => {
  const { manifest } = back(dataDir, backup);
  for (const object of [...manifest.segments, ...manifest.files]) {
    const path = join(backup, "objects", object.sha256);
    const bytes = readFileSync(path);
    const damaged = Buffer.from(bytes);
    damaged[damaged.byteLength >> 1]! ^= 1;
    writeFileSync(path, damaged);
    await expect(restored()).rejects.toThrow(object.sha256);
    expect(readdirSync(into).filter((name) => !["epoch", "lock"].includes(name))).toEqual([]);
    writeFileSync(path, bytes);
  }
  await restored();
  expect(soundPosition(into)).toBe(END);
});

test("nobody can own a directory whose restore did not end", async () => {
  back(dataDir, backup);
  await restored();
  writeFiles(into, { restoring: "" });
  await expect(claimDataDirectory(into)).rejects.toThrow(/restore did not end: empty it/);
});

test("cut short at any step, what lies there lets no service start", async () => {
  back(dataDir, backup);
  let looked = 0;
  const look = () => {
    looked++;
    const names = readdirSync(into);
    const isBegun = names.some((name) => !["epoch", "lock", "owner.json"].includes(name));
    const isWhole = names.includes("bureau.key") && soundPosition(into) === END;
    const isMarked = names.some((name) => name.startsWith("restoring"));
    expect(isMarked || isWhole || !isBegun).toBe(true);
    // Whoever starts on it beside a mark finds that records are missing, or else the key.
    if (names.includes("journal")) expect(readHighWater(diskFileLayer, into)).toBe(END);
    if (names.includes("bureau.key")) expect(soundPosition(into)).toBe(END);
  };
  const steps = await atEachStep(
    (files) => restored({ files }),
    (step) => stoppedAt(step, look),
  );
  expect(steps).toBeGreaterThan(20);
  expect(existsSync(join(into, "restoring"))).toBe(false);
  expect(looked).toBe(steps);
});
