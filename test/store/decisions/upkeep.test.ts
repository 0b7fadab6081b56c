// The decision log over time: read by filter, pruned by days, exported, carried over a rebuild.
import * as fs from "node:fs";
import { DuckDBInstance } from "@duckdb/node-api";
import { expect, test } from "vitest";
import { createDecisionRing } from "../../../src/store/decisions/ring-layout.ts";
import { DecisionRingWriter } from "../../../src/store/decisions/ring.ts";
import { SCHEMA_VERSION } from "../../../src/store/schema.ts";
import { startStore } from "../../../src/store/client.ts";
import { entryOf, NOW_MS, principalOf } from "../_decisions.ts";
import { KEPT_DAYS, logged, opened, openWith, temporary } from "../_decision-store.ts";
import { LIMITS } from "../_fixtures.ts";

test("decisions are read by agent, time and tenant", async () => {
  const ring = createDecisionRing();
  const store = await openWith([ring]);
  const writer = new DecisionRingWriter(ring, { waitMs: 0 });
  writer.record(entryOf(1, true));
  writer.record({ ...entryOf(2, true), principal: principalOf("other") });
  writer.record({ ...entryOf(3, true), viewer: "agent://a/viewer" });
  const idsOf = async (filter: object) =>
    (await store.listDecisions({ tenant: undefined, limit: 10, ...filter })).map(
      (l) => l.request_id,
    );
  expect(await idsOf({})).toEqual(["request-3", "request-2", "request-1"]);
  expect(await idsOf({ limit: 1 })).toEqual(["request-3"]);
  expect(await idsOf({ tenant: "acme" })).toEqual(["request-3", "request-1"]);
  expect(await idsOf({ agent: "agent://a/viewer" })).toEqual(["request-3"]);
  expect(await idsOf({ sinceMs: NOW_MS + 2 })).toEqual(["request-3", "request-2"]);
  expect(await idsOf({ tenant: "' OR true --" })).toEqual([]);
});

test("old rows become daily counts, whole days at a time", async () => {
  const ring = createDecisionRing();
  const store = await startStore({
    dataDir: temporary(),
    isStandalone: true,
    rings: [ring],
    decisionsKeptDays: 30,
  });
  const writer = new DecisionRingWriter(ring, { waitMs: 0 });
  const todayMs = Math.floor(Date.now() / 86_400_000) * 86_400_000;
  for (let daysAgo = 0; daysAgo < 60; daysAgo++) {
    const evaluatedAtMs = todayMs - daysAgo * 86_400_000;
    writer.record({ ...entryOf(daysAgo, false), evaluatedAtMs });
  }
  const rowsOf = async (sql: string) => (await store.query(sql, LIMITS)).rows;
  expect(await rowsOf("SELECT count(*) FROM decisions")).toEqual([[31]]);
  expect(await rowsOf("SELECT count(*), sum(decisions) FROM decisions_daily")).toEqual([[60, 60]]);
  await store.close();
});

test("a day is exported as Parquet that is whole, and nothing is left behind", async () => {
  const ring = createDecisionRing();
  const store = await openWith([ring]);
  const writer = new DecisionRingWriter(ring, { waitMs: 0 });
  for (let n = 0; n < 300; n++) {
    writer.record({ ...entryOf(n, true), evaluatedAtMs: NOW_MS + (n % 3) * 86_400_000 });
  }
  expect(await store.listExportDays("decisions", { sinceMs: 0 })).toEqual([
    "2026-05-05",
    "2026-05-06",
    "2026-05-07",
  ]);
  expect(await store.listExportDays("decisions", { sinceMs: NOW_MS + 86_400_001 })).toEqual([
    "2026-05-07",
  ]);
  const bytes = Buffer.from(await store.exportParquet("decisions", "2026-05-06", { sinceMs: 0 }));
  expect(bytes.subarray(0, 4).toString()).toBe("PAR1");
  expect(bytes.subarray(-4).toString()).toBe("PAR1");
  const { dataDir } = opened[0]!;
  expect(fs.readdirSync(`${dataDir}/store-export`, { recursive: true })).toEqual(["spill"]);
});

test("a rebuild from the journal takes decisions and events along", async () => {
  const dataDir = temporary();
  const ring = createDecisionRing();
  const first = await startStore({
    dataDir,
    isStandalone: true,
    rings: [ring],
    decisionsKeptDays: KEPT_DAYS,
  });
  const writer = new DecisionRingWriter(ring, { waitMs: 0 });
  for (let n = 0; n < 50; n++) writer.record(entryOf(n, n % 2 === 0));
  // Rows are made before the thread ends.
  expect(await first.listDecisions({ tenant: "acme", limit: 100 })).toHaveLength(50);
  await first.close();
  fs.rmSync(`${dataDir}/store-kept`, { recursive: true });
  // As an older schema left them: without the column, and with nothing kept beside them.
  const older = await DuckDBInstance.create(`${dataDir}/store/outcomes.duckdb`);
  const before = await older.connect();
  await before.run("DROP VIEW decisions_daily");
  await before.run("DROP VIEW decisions");
  await before.run("ALTER TABLE decision_rows DROP COLUMN policy_version");
  await before.run("DROP TABLE spool_taken");
  await before.run("CREATE TABLE spool_taken (file VARCHAR NOT NULL)");
  await before.run("ALTER TABLE review_rows DROP COLUMN position");
  await before.run("INSERT INTO review_rows BY NAME SELECT 'acme' AS tenant, 'x' AS note");
  before.closeSync();
  older.closeSync();
  // An outcome that no journal holds: rows and position disagree.
  const instance = await DuckDBInstance.create(`${dataDir}/store/outcomes.duckdb`);
  const connection = await instance.connect();
  await connection.run(`INSERT INTO applied VALUES ('', 0, 9, 7, 0, 0, ${SCHEMA_VERSION})`);
  connection.closeSync();
  instance.closeSync();
  const second = await openWith([], dataDir);
  expect(second.status().rebuildCount).toBe(1);
  expect(logged.splice(0)).toEqual([expect.stringContaining("store_rebuild")]);
  expect(await second.listDecisions({ tenant: "acme", limit: 100 })).toHaveLength(50);
  const { rows } = await second.query("SELECT count(*) FROM review_rows", LIMITS);
  expect(rows).toEqual([[1]]);
  expect(await second.listUnjournaledNotes()).toMatchObject([
    { table: "reviews", event: { note: "x" } },
  ]);
  await second.close();
  // What was carried over once is kept from then on.
  fs.rmSync(`${dataDir}/store`, { recursive: true });
  opened.splice(0);
  const third = await openWith([], dataDir);
  expect(await third.listDecisions({ tenant: "acme", limit: 100 })).toHaveLength(50);
  expect(fs.readdirSync(`${dataDir}/store-export`, { recursive: true })).toEqual(["spill"]);
});
