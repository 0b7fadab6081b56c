// A database that runs out of memory ends itself (FATAL) with its files whole: it is opened again, and
// nothing that it alone knew is lost. Files of another process are never condemned.
import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import * as fs from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { JournalFollower } from "../../src/store/journal-follower.ts";
import { NOW_MS, recordOf, runOf, temporaryDirectory } from "../ledger/_fixtures.ts";
import { askCore, fillJournal, openJournal, openStoreCore } from "./_fixtures.ts";

/** Without room on the disk: enough for small transactions, too little for a checkpoint of some 16 MiB of log. */
const SMALL_MEGABYTES = 24;
const RECORDS = 6000;
/** Random: it does not compress. */
const TEXT_BYTES = 3072;
const TRIES_MAX = 500;

const textOf = () => randomBytes(TEXT_BYTES).toString("base64");

/** Follows to the end, as the loop does: an error is tried again. */
async function followAll(core: JournalFollower, durableLsn: number): Promise<string[]> {
  const errors: string[] = [];
  for (let hasMore = true; hasMore;) {
    expect(errors.length).toBeLessThan(TRIES_MAX);
    hasMore = await core
      .applyNextBatch(durableLsn)
      .catch((error: unknown) => errors.push(String(error)) > 0);
  }
  return errors;
}

test("out of memory is no reason to throw a database away", async () => {
  const dataDir = temporaryDirectory();
  const journal = openJournal(dataDir);
  for (let from = 0; from < RECORDS; from += 100) {
    const records = Array.from({ length: 100 }, (_, n) => recordOf(from + n, { action: textOf() }));
    journal.commit([runOf(records)], NOW_MS);
  }
  journal.close();
  const { core, log } = openStoreCore(dataDir, SMALL_MEGABYTES, false);
  // Rows that the journal does not have, as an older version left them.
  await core.write((writer) =>
    writer.run("INSERT INTO review_rows BY NAME SELECT 'acme' AS tenant, 'mine' AS note"),
  );
  await followAll(core, RECORDS);
  expect(core.reopenCount).toBeGreaterThan(0);
  expect(core.reopenedAtMs).toBe(NOW_MS);
  expect(log.map(({ event }) => event)).toContain("store_reopened");
  expect(log.find(({ event }) => event === "store_reopened")?.detail).toMatch(
    /FATAL|memory|allocate/,
  );
  expect(core.rebuildCount).toBe(0);
  expect(fs.readdirSync(join(dataDir, "store")).filter((name) => /broken/.test(name))).toEqual([]);
  const { rows } = await askCore(core, "SELECT count(*), max(position) FROM outcomes");
  expect(rows).toEqual([[RECORDS, RECORDS]]);
  expect((await askCore(core, "SELECT note FROM review_rows")).rows).toEqual([["mine"]]);
  await core.close();
});

test("a commit that ends the database (FATAL) is durable, and so is all that came before", async () => {
  const dataDir = temporaryDirectory();
  fillJournal(dataDir, 1, 50);
  const { core, log } = openStoreCore(dataDir, SMALL_MEGABYTES, false);
  await followAll(core, 50);
  // Nothing but these rows knows of them: a rebuild would lose every one.
  const insert = `INSERT INTO review_rows BY NAME SELECT 'acme' AS tenant,
    md5(random()::VARCHAR) || repeat(md5(random()::VARCHAR), 15) AS note FROM range(500)`;
  let written = 0;
  let failure = "";
  for (let tries = 0; !failure.includes("FATAL") && tries < TRIES_MAX; tries++) {
    await core
      .write((writer) => writer.run(insert))
      .then(
        () => (written += 1),
        (error: unknown) => (failure = String(error)),
      );
  }
  expect(failure).toMatch(/FATAL/);
  await followAll(core, 50);
  expect(log).toMatchObject([{ event: "store_reopened" }]);
  expect(core).toMatchObject({ reopenCount: 1, rebuildCount: 0 });
  const { rows } = await askCore(core, "SELECT count(*) FROM review_rows");
  expect(rows[0]![0]).toBeGreaterThanOrEqual(500 * written);
  await core.close();
});

test("a database that another process holds is waited for, not replaced", async () => {
  const dataDir = temporaryDirectory();
  fillJournal(dataDir, 1, 50);
  const { core: first } = openStoreCore(dataDir);
  await followAll(first, 50);
  await first.close();
  const path = join(dataDir, "store", "outcomes.duckdb");
  const holder =
    "const { DuckDBInstance } = require('@duckdb/node-api');" +
    // Kept by name: a database that nothing refers to is let go with the next collection.
    "DuckDBInstance.create(process.argv[1]).then((db) => { globalThis.db = db; console.log('held');" +
    "process.stdin.resume(); process.stdin.on('end', () => process.exit()); });";
  const child = spawn(process.execPath, ["-e", holder, path], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  await new Promise((resolve) => child.stdout.once("data", resolve));
  const { core, log } = openStoreCore(dataDir);
  await expect(core.applyNextBatch(50)).rejects.toThrow(/lock/i);
  expect(log).toEqual([]);
  child.stdin.end();
  await new Promise((resolve) => child.once("exit", resolve));
  await followAll(core, 50);
  expect(core.rebuildCount).toBe(0);
  expect((await askCore(core, "SELECT count(*) FROM outcomes")).rows).toEqual([[50]]);
  await core.close();
});

test("a file that does not open is kept, named with the time, and the oldest of many go", async () => {
  const dataDir = temporaryDirectory();
  fillJournal(dataDir, 1, 50);
  const store = join(dataDir, "store");
  fs.mkdirSync(store);
  for (let round = 0; round < 7; round++) {
    fs.writeFileSync(join(store, "outcomes.duckdb"), Buffer.alloc(9000, `garbage ${round} `));
    const { core, log } = openStoreCore(dataDir);
    await followAll(core, 50);
    expect(core.rebuildCount).toBe(1);
    const events = log.map(({ event }) => event);
    expect(events).toEqual(
      round < 5 ? ["store_rebuild"] : ["store_rebuild", "store_aside_removed"],
    );
    await core.close();
  }
  const aside = fs.readdirSync(store).filter((name) => name.startsWith("broken-"));
  expect(aside).toHaveLength(5);
  expect(aside.every((name) => /^broken-20260102\d{6}$/.test(name))).toBe(true);
  const kept = fs.readFileSync(join(store, aside.toSorted()[0]!, "outcomes.duckdb"), "latin1");
  expect(kept).toMatch(/^garbage 2 /);
});
