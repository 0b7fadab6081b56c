// Rebuild of the store: whatever damage its database files take, it comes back equal to the journal,
// by itself, and says that it did.
import * as fs from "node:fs";
import { join } from "node:path";
import { DuckDBInstance } from "@duckdb/node-api";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { temporaryDirectory } from "../ledger/_fixtures.ts";
import { askCore, catchUp, fillJournal, openStoreCore } from "./_fixtures.ts";

const RECORDS = 3000;
const SUMMARY = `SELECT count(*), count(DISTINCT outcome_id), sum(position), sum(stakes),
  max(recorded_at) FROM outcomes`;

// Made once: a checkpointed database (and its log, taken while it was in use) for all cases.
let template: string;
let expected: unknown[][];

beforeAll(async () => {
  template = fs.mkdtempSync("/tmp/trustrank-template-");
  fillJournal(template, 1, RECORDS);
  const { core } = openStoreCore(template);
  await catchUp(core, RECORDS - 500);
  await core.close();
  // Reopen and apply the rest, then copy the files under it: a log as a crash would leave it.
  const { core: live } = openStoreCore(template);
  await catchUp(live, RECORDS);
  expected = (await askCore(live, SUMMARY)).rows;
  fs.cpSync(join(template, "store"), join(template, "store-live"), { recursive: true });
  await live.close();
  fs.rmSync(join(template, "store"), { recursive: true });
  fs.renameSync(join(template, "store-live"), join(template, "store"));
});

afterAll(() => fs.rmSync(template, { recursive: true }));

const DATABASE = "outcomes.duckdb";
const LOG = "outcomes.duckdb.wal";

function edit(path: string, change: (bytes: Buffer) => Buffer): void {
  fs.writeFileSync(path, change(fs.readFileSync(path)));
}

const flipAt = (share: number) => (bytes: Buffer) => {
  const at = Math.floor(bytes.byteLength * share);
  bytes[at] = (bytes[at] as number) ^ 4;
  return bytes;
};
const cutTo = (share: number) => (bytes: Buffer) =>
  bytes.subarray(0, Math.floor(bytes.byteLength * share));
const zeroTail = (count: number) => (bytes: Buffer) => Buffer.concat([bytes, Buffer.alloc(count)]);

type Damage = [name: string, file: string, change: ((bytes: Buffer) => Buffer) | "delete"];

const DAMAGES: Damage[] = [
  ["both missing", "*", "delete"],
  ["database missing", DATABASE, "delete"],
  ["log missing", LOG, "delete"],
  ["database empty", DATABASE, cutTo(0)],
  ["database of garbage", DATABASE, () => Buffer.alloc(9000, "garbage ")],
  ["database cut to half", DATABASE, cutTo(0.5)],
  ["database cut by a byte", DATABASE, (bytes) => bytes.subarray(0, -1)],
  ...[0.0001, 0.01, 0.1, 0.3, 0.5, 0.7, 0.9, 0.99].map((share): Damage => [
    `bit flipped in the database at ${share}`,
    DATABASE,
    flipAt(share),
  ]),
  ["database with a zero tail", DATABASE, zeroTail(4096)],
  ["log empty", LOG, cutTo(0)],
  ["log cut to 10 bytes", LOG, (bytes) => bytes.subarray(0, 10)],
  ["log cut to 150 bytes", LOG, (bytes) => bytes.subarray(0, 150)],
  ["log cut to half", LOG, cutTo(0.5)],
  ...[0.01, 0.2, 0.4, 0.6, 0.8, 0.99].map((share): Damage => [
    `bit flipped in the log at ${share}`,
    LOG,
    flipAt(share),
  ]),
  ["log with a zero tail", LOG, zeroTail(4096)],
  ["log with a tail of text", LOG, (bytes) => Buffer.concat([bytes, Buffer.from("tail")])],
];

describe.each(DAMAGES)("%s", (_name, file, change) => {
  test("comes back equal to the journal", async () => {
    const dataDir = temporaryDirectory();
    fs.cpSync(template, dataDir, { recursive: true });
    const store = join(dataDir, "store");
    expect(fs.readdirSync(store).toSorted()).toEqual([DATABASE, LOG]);
    if (change === "delete") {
      for (const name of fs.readdirSync(store)) {
        if (file === "*" || file === name) fs.rmSync(join(store, name));
      }
    } else {
      edit(join(store, file), change);
    }
    const { core, log } = openStoreCore(dataDir);
    await catchUp(core, RECORDS);
    // Rot in a block is only met when the block is read: the query finds it, the next apply mends.
    await askCore(core, SUMMARY).catch(() => undefined);
    await catchUp(core, RECORDS);
    expect((await askCore(core, SUMMARY)).rows).toEqual(expected);
    expect(log.map((line) => line.event)).toEqual(
      Array.from({ length: core.rebuildCount }, () => "store_rebuild"),
    );
    const aside = fs.readdirSync(store).filter((name) => name.startsWith("broken-"));
    expect(aside).toHaveLength(core.rebuildCount);
    await core.close();
  });
});

test("untouched files need no rebuild", async () => {
  const dataDir = temporaryDirectory();
  fs.cpSync(template, dataDir, { recursive: true });
  const { core, log } = openStoreCore(dataDir);
  await catchUp(core, RECORDS);
  expect((await askCore(core, SUMMARY)).rows).toEqual(expected);
  expect(log).toEqual([]);
  await core.close();
});

test("a database of another schema is built anew; what it alone knew is taken along", async () => {
  const dataDir = temporaryDirectory();
  fs.cpSync(template, dataDir, { recursive: true });
  const { core: first } = openStoreCore(dataDir);
  await catchUp(first, RECORDS);
  // As an older version has it: a column more here, one less there.
  await first.write(async (writer) => {
    await writer.run("DROP VIEW provenance");
    await writer.run("ALTER TABLE provenance_rows ADD COLUMN gone VARCHAR");
    await writer.run("ALTER TABLE provenance_rows DROP COLUMN request_id");
    await writer.run("INSERT INTO provenance_rows BY NAME SELECT 'acme' AS tenant, 'x' AS gone");
    await writer.run("UPDATE applied SET schema_version = 1");
  });
  await first.close();
  const { core, log } = openStoreCore(dataDir);
  await catchUp(core, RECORDS);
  expect(log).toMatchObject([
    { event: "store_rebuild", detail: expect.stringContaining("its schema is 1") },
  ]);
  expect((await askCore(core, SUMMARY)).rows).toEqual(expected);
  expect((await askCore(core, "SELECT tenant, request_id FROM provenance")).rows).toEqual([
    ["acme", null],
  ]);
  await core.close();
});

test("a start that died while it made the schema is made good", async () => {
  const dataDir = temporaryDirectory();
  fs.cpSync(join(template, "journal"), join(dataDir, "journal"), { recursive: true });
  fs.mkdirSync(join(dataDir, "store"));
  const instance = await DuckDBInstance.create(join(dataDir, "store", DATABASE));
  instance.closeSync();
  const { core, log } = openStoreCore(dataDir);
  await catchUp(core, RECORDS);
  expect(log).toMatchObject([{ detail: expect.stringContaining("the database is empty") }]);
  expect((await askCore(core, SUMMARY)).rows).toEqual(expected);
  await core.close();
});
