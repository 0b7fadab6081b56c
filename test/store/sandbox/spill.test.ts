// Queries that need more than the memory of their process: the rest lies on disk, within a bound, and is
// gone when they end.
import * as fs from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { JournalFollower } from "../../../src/store/journal-follower.ts";
import { openDatabase } from "../../../src/store/duckdb.ts";
import { catchUp, fillJournal, openStoreCore } from "../_fixtures.ts";
import { MEMORY_BYTES, openSandbox, type OpenSandbox } from "./_sandbox.ts";

/** Some 750 MB of groups; DuckDB has 512. */
const GROUPS = 20_000_000;
const LARGE = `SELECT max(n), count(*) FROM (
  SELECT range * 7919 % ${GROUPS} AS k, count(*) AS n FROM range(${GROUPS}) GROUP BY k)`;

let core: JournalFollower;
let opened: OpenSandbox;
let dataDir: string;
let spill: string;

beforeAll(async () => {
  dataDir = fs.mkdtempSync("/tmp/trustrank-spill-");
  spill = join(dataDir, "store-queries", "spill");
  fillJournal(dataDir, 1, 100);
  ({ core } = openStoreCore(dataDir));
  await catchUp(core, 100);
  opened = openSandbox(core, dataDir);
  await opened.ask("SELECT 1");
});
afterAll(async () => {
  await opened.sandbox.end();
  await core.close();
  fs.rmSync(dataDir, { recursive: true });
});

it("answers them, within the memory of the process", async () => {
  const asked = opened.ask(LARGE);
  await expect.poll(() => fs.readdirSync(spill).length).toBeGreaterThan(0);
  expect(fs.statSync(spill).mode & 0o077).toBe(0);
  expect(await asked).toEqual([[1, GROUPS]]);
  // And again, on whichever thread: what one query has freed serves the next.
  for (let i = 0; i < 4; i++) expect(await opened.ask(LARGE)).toEqual([[1, GROUPS]]);
  expect(opened.sandbox.metrics.memoryBytes).toBeLessThan(MEMORY_BYTES);
  expect(opened.sandbox.metrics.restarts).toBe(0);
  expect(fs.readdirSync(spill)).toEqual([]);
});

it("leaves nothing of a query that was ended at its limit of time", async () => {
  const different = ["7919", "7907", "7901"].map((step) => LARGE.replace("7919", step));
  const asked = opened.ask(different.join(" UNION ALL "), undefined, 1500);
  await expect(asked).rejects.toMatchObject({ errors: [{ code: "timeout" }] });
  await opened.ask("SELECT 1");
  expect(fs.readdirSync(spill)).toEqual([]);
});

it("takes away what a killed process has left", async () => {
  await opened.sandbox.end();
  fs.mkdirSync(spill, { recursive: true });
  fs.writeFileSync(join(spill, "duckdb_temp_storage_DEFAULT-0.tmp"), "rows of somebody");
  opened = openSandbox(core, dataDir);
  await opened.ask("SELECT 1");
  expect(fs.readdirSync(spill)).toEqual([]);
});

it("lets nobody read what others have there", async () => {
  for (const sql of [
    `SELECT * FROM read_blob('${spill}/*')`,
    `SELECT * FROM read_text('${spill}/x')`,
    `SELECT * FROM '${spill}/x.parquet'`,
    `SELECT * FROM glob('${spill}/*')`,
    "SELECT * FROM duckdb_temporary_files()",
  ]) {
    await expect(opened.ask(sql), sql).rejects.toMatchObject({ code: "query_rejected" });
  }
});

it("refuses what its room on disk does not hold, and goes on", async () => {
  const room = { directory: join(dataDir, "little"), megabytes: 16 };
  const database = await openDatabase(":memory:", {
    memoryMegabytes: 512,
    exportDirectory: dataDir,
    spill: room,
  });
  const connection = await database.connect();
  await expect(connection.rows(LARGE)).rejects.toThrow(/^Out of Memory Error: .*16\.0 MiB/);
  expect(fs.readdirSync(room.directory)).toEqual([]);
  expect(await connection.rows("SELECT 1")).toEqual([[1]]);
  connection.close();
  database.close();
});
