// Queries that an analyst may run; everything else is refused without harm.
import * as fs from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { ServiceFault } from "../../../src/contract/faults.ts";
import type { OpenStore } from "../../../src/store/client.ts";
import { fillJournal, LIMITS, openStore } from "../_fixtures.ts";
import { stretched } from "../../_patience.ts";

let dataDir: string;
let store: OpenStore;

beforeAll(async () => {
  dataDir = fs.mkdtempSync("/tmp/trustrank-query-");
  fillJournal(dataDir, 1, 500);
  ({ store } = await openStore(dataDir));
});

afterAll(async () => {
  await store.close();
  fs.rmSync(dataDir, { recursive: true });
});

const rowsOf = async (sql: string) => (await store.query(sql, LIMITS)).rows;

/** The refusal's code and detail; fails when the query is answered. */
async function refusalOf(sql: string, limits = LIMITS): Promise<ServiceFault> {
  try {
    const { rows } = await store.query(sql, limits);
    throw new Error(`answered ${JSON.stringify(rows).slice(0, 200)}`);
  } catch (error) {
    if ((error as Error).name !== "ServiceFault") throw error;
    return error as ServiceFault;
  }
}

const ALLOWED = [
  "SELECT 1",
  "  select 1 ;",
  "-- a comment\nSELECT 1",
  "WITH t AS (SELECT 1 AS a) SELECT * FROM t",
  "FROM outcomes LIMIT 1",
  "TABLE outcomes",
  "VALUES (1), (2)",
  "DESCRIBE outcomes",
  "SHOW TABLES",
  "SUMMARIZE outcomes",
  "EXPLAIN SELECT * FROM outcomes",
  "EXPLAIN ANALYZE SELECT count(*) FROM outcomes",
  "SELECT * FROM range(3)",
  "SELECT unnest([1, 2])",
  "SELECT * FROM duckdb_columns()",
  "SELECT * FROM (PIVOT outcomes ON grade IN ('escrow') USING count(*) GROUP BY subject)",
  "PIVOT outcomes ON grade IN ('escrow') USING count(*) GROUP BY subject",
  "PIVOT outcomes ON grade USING count(*) GROUP BY subject",
  "SELECT lpad(subject, 40, '.'), rpad(reporter, 40, ' ') FROM outcomes",
  "SELECT bar(stakes, 0, 1000), bar(stakes, 0, 1000, 20) FROM outcomes",
  "SELECT printf('%-20s %8.2f of 2026, 100 %%', subject, stakes) FROM outcomes",
  "SELECT format('{:>20} {{}} {:,}', subject, position) FROM outcomes",
  "SELECT 'checkpoint()' AS text",
];

test.each(ALLOWED)("allowed: %s", async (sql) => {
  expect((await rowsOf(sql)).length).toBeGreaterThan(0);
});

const REFUSED = [
  "",
  "   ",
  "-- only a comment",
  "SELECT",
  "SELEC 1",
  "SELECT 1; SELECT 2",
  "SELECT 1; DROP TABLE outcome_rows",
  "SELECT 1\u0000; DROP TABLE outcome_rows",
  "INSERT INTO outcome_rows SELECT * FROM outcome_rows",
  "UPDATE outcome_rows SET stakes = 0",
  "DELETE FROM outcome_rows",
  "EXPLAIN ANALYZE DELETE FROM outcome_rows",
  "EXPLAIN ANALYZE INSERT INTO applied SELECT * FROM applied",
  "WITH d AS (DELETE FROM applied RETURNING lsn) SELECT * FROM d",
  "CREATE TABLE t (a INTEGER)",
  "CREATE TEMP TABLE t (a INTEGER)",
  "CREATE MACRO m() AS 1",
  "DROP VIEW outcomes",
  "ALTER TABLE applied ADD COLUMN x INTEGER",
  "COMMENT ON VIEW outcomes IS 'x'",
  "ATTACH ':memory:' AS other",
  "ATTACH '/tmp/other.db'",
  "DETACH outcomes",
  "USE memory",
  "COPY outcomes TO '/tmp/trustrank-stolen.csv'",
  "COPY outcome_rows FROM '/etc/passwd'",
  "EXPORT DATABASE '/tmp/trustrank-stolen'",
  "IMPORT DATABASE '/tmp/trustrank-stolen'",
  "INSTALL httpfs",
  "LOAD httpfs",
  "FORCE INSTALL httpfs FROM 'http://localhost'",
  "PRAGMA version",
  "PRAGMA table_info('outcomes')",
  "PRAGMA enable_profiling",
  "SET threads = 8",
  "SET GLOBAL memory_limit = '1TB'",
  "SET lock_configuration = false",
  "SET enable_external_access = true",
  "SET VARIABLE a = 1",
  "RESET memory_limit",
  "CALL pragma_version()",
  "CHECKPOINT",
  "VACUUM",
  "BEGIN TRANSACTION",
  "COMMIT",
  "ROLLBACK",
  "PREPARE p AS SELECT 1",
  "EXECUTE p",
  "SELECT * FROM read_csv('/etc/passwd')",
  "SELECT * FROM read_text('/etc/passwd')",
  "SELECT * FROM read_blob('/etc/passwd')",
  "SELECT * FROM read_json('/etc/passwd')",
  "SELECT * FROM read_parquet('/etc/passwd')",
  "SELECT * FROM '/etc/passwd'",
  "SELECT * FROM '/tmp/x.csv'",
  "SELECT * FROM sniff_csv('/etc/passwd')",
  "SELECT * FROM glob('/*')",
  "SELECT getenv('HOME')",
  "SELECT * FROM checkpoint()",
  'SELECT * FROM "Force_Checkpoint"()',
  "SELECT * FROM enable_logging()",
  "SELECT * FROM (DESCRIBE SELECT * FROM enable_logging())",
  "SELECT (SELECT count(*) FROM enable_logging())",
  "WITH t AS (SELECT * FROM/**/enable_logging()) SELECT 1",
  "EXPLAIN ANALYZE SELECT * FROM enable_logging()",
  "SELECT * FROM query('SELECT 1')",
  "SELECT * FROM query_table('outcome_rows')",
  "SELECT * FROM duckdb_secrets()",
  "SELECT write_log('x')",
  "SELECT length(repeat('x', 3000000000))",
  "SELECT 'x'.REPEAT(3000000000)",
  "SELECT lpad('x', 2000000000, 'y')",
  "SELECT len(list_resize([1], 2000000000))",
  "SELECT [x FOR x IN range(1000000000)]",
  "SELECT * FROM unnest(range(1000000000))",
  "SELECT format('{:>2000000000}', 'x')",
  "SELECT format('{:>{}}', 'x', 2000000000)",
  "SELECT format(reporter, 'x') FROM outcomes",
  "SELECT printf('%2000000000d', 1)",
  "SELECT printf('%*d', 2000000000, 1)",
  "SELECT 'x'.printf() FROM outcomes WHERE printf('%' || '2000000000d', 1) <> ''",
  `SELECT printf('${"%1$s".repeat(101)}', reporter) FROM outcomes`,
  "SELECT rpad('x', 10001, 'y')",
  "SELECT lpad('x', 5001, 'y') || lpad('x', 5000, 'y')",
  "SELECT 'x'.LPAD(2000000000, 'y')",
  "SELECT lpad('x', position, 'y') FROM outcomes",
  "SELECT lpad('x', 2e9::INTEGER, 'y')",
  "SELECT bar(1, 0, 1, 2000000000)",
  "SELECT bar(1, 0, 1, stakes) FROM outcomes",
  "PIVOT outcomes ON subject || reporter || position USING count(*)",
  "PIVOT outcomes ON repeat(subject, 1000000000) USING count(*)",
  "PIVOT (FROM read_csv('/etc/passwd')) ON 1 USING count(*)",
  "PIVOT outcomes ON (SELECT count(*) FROM checkpoint()) USING count(*)",
  "SELECT * FROM (PIVOT outcomes ON grade USING count(*))",
  "PIVOT outcomes ON NULL USING count(*)",
  `PIVOT outcomes ON outcome IN (${[...Array(40).keys()].join()}), position IN (${[...Array(40).keys()].join()}) USING count(*)`,
  "SELECT $1",
  "SELECT * FROM nowhere",
  "SELECT nothing FROM outcomes",
];

test.each(REFUSED)("refused: %s", async (sql) => {
  const before = await rowsOf("SELECT count(*), sum(stakes) FROM outcomes");
  const fault = await refusalOf(sql);
  expect(fault.code).toBe("query_rejected");
  expect(fault.detail).not.toBe("");
  expect(fault.detail).not.toContain("\n");
  expect(await rowsOf("SELECT count(*), sum(stakes) FROM outcomes")).toEqual(before);
  expect(fs.existsSync("/tmp/trustrank-stolen.csv")).toBe(false);
});

test("nothing an analyst does leaves a trace in settings or schema", async () => {
  for (const sql of REFUSED) await store.query(sql, LIMITS).catch(() => undefined);
  expect(
    await rowsOf(
      `SELECT current_setting('threads'), current_setting('enable_external_access'),
       current_setting('enable_logging')`,
    ),
  ).toEqual([[1, false, 0]]);
  expect(await rowsOf("SHOW TABLES")).toEqual([
    ["agent_day_rows"],
    ["agent_rows"],
    ["agents"],
    ["agents_daily"],
    ["applied"],
    ["audit_events"],
    ["audit_note_rows"],
    ["audit_rows"],
    ["backtest_rows"],
    ["backtests"],
    ["batch_rows"],
    ["decision_day_rows"],
    ["decision_rows"],
    ["decisions"],
    ["decisions_daily"],
    ["evidence_sources"],
    ["kaizen_run_rows"],
    ["kaizen_runs"],
    ["outcome_rows"],
    ["outcomes"],
    ["policies"],
    ["policy_rows"],
    ["provenance"],
    ["provenance_rows"],
    ["reporters"],
    ["review_rows"],
    ["reviews"],
    ["score_day_rows"],
    ["scores_daily"],
    ["source_rows"],
    ["spool_taken"],
    ["standing_rows"],
  ]);
});

test("rows are cut at the limit and say so; a huge answer is never made whole", async () => {
  const limits = { rowsMax: 7, timeoutMs: 2000 };
  const cut = await store.query("SELECT * FROM range(100000000000)", limits);
  expect(cut.rows).toHaveLength(7);
  expect(cut.isTruncated).toBe(true);
  const exact = await store.query("SELECT * FROM range(7)", limits);
  expect(exact.isTruncated).toBe(false);
  expect(exact.elapsedMs).toBeGreaterThan(0);
});

const ENDLESS = [
  "WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t) SELECT count(*) FROM t",
  "SELECT count(*) FROM range(10000000000) a, range(10000000) b WHERE hash(a.range + b.range) = 1",
  "WITH RECURSIVE t(s) AS (SELECT 'x' UNION ALL SELECT s || s FROM t WHERE length(s) < 3e9) FROM t",
  "SELECT a.position FROM outcomes a, outcomes b, outcomes c ORDER BY hash(a.stakes + c.position)",
];

test.each(ENDLESS)("stopped in time: %s", async (sql) => {
  const startedAt = performance.now();
  const fault = await refusalOf(sql, { rowsMax: 10, timeoutMs: 300 });
  expect(fault).toMatchObject({
    code: "query_rejected",
    detail: expect.stringMatching(/^the query took longer than 300 ms, .* ask for fewer days/),
  });
  expect(performance.now() - startedAt).toBeLessThan(stretched(3000));
  expect(await rowsOf("SELECT 1")).toEqual([[1]]);
});

test("too much memory is the query's fault, and the store goes on", async () => {
  const limits = { rowsMax: 10, timeoutMs: 20_000 };
  const fault = await refusalOf(
    "SELECT string_agg(subject || reporter, ',') FROM outcomes, range(1000000)",
    limits,
  );
  expect(fault.detail).toBe("the query needs more memory than the store may use");
  expect(await rowsOf("SELECT count(*) FROM outcomes")).toEqual([[500]]);
});

test("an answer of too much text is refused", async () => {
  const fault = await refusalOf(
    "SELECT (SELECT string_agg(action, '') FROM outcomes, range(500)) FROM range(10)",
  );
  expect(fault.detail).toContain("larger than");
});

test("values are ready for JSON", async () => {
  const { columns, rows } = await store.query(
    `SELECT 1::BIGINT AS small, 9007199254740993::BIGINT AS large, 1.50::DECIMAL(9, 2) AS money,
     TIMESTAMP '2026-01-02 03:04:05.6' AS instant, DATE '2026-01-02' AS day, NULL AS nothing,
     [1::BIGINT] AS list, {'a': 1::BIGINT} AS struct, 'nan'::DOUBLE AS nan, true AS flag,
     sum(position) AS total FROM outcomes`,
    LIMITS,
  );
  expect(rows).toEqual([
    [
      1,
      "9007199254740993",
      1.5,
      "2026-01-02T03:04:05.600Z",
      "2026-01-02",
      null,
      [1],
      { a: 1 },
      "NaN",
      true,
      125250,
    ],
  ]);
  expect(columns.slice(0, 4)).toEqual([
    { name: "small", type: "BIGINT" },
    { name: "large", type: "BIGINT" },
    { name: "money", type: "DECIMAL(9,2)" },
    { name: "instant", type: "TIMESTAMP" },
  ]);
  expect(JSON.parse(JSON.stringify(rows))).toEqual(rows);
});

test("queries wait in line up to a bound; one that waits keeps its whole time", async () => {
  const slow = { rowsMax: 1, timeoutMs: 100 };
  const asked = Array.from({ length: 20 }, () => store.query(ENDLESS[0] as string, slow));
  const settled = await Promise.allSettled(asked);
  const codes = settled.map((each) =>
    each.status === "rejected" ? (each.reason as ServiceFault).code : "answered",
  );
  expect(codes.filter((code) => code === "query_rejected")).toHaveLength(16);
  expect(codes.filter((code) => code === "overloaded")).toHaveLength(4);
});

test("look-ups of signed ids have a place when the line of queries is full", async () => {
  const slow = { rowsMax: 1, timeoutMs: 100 };
  const asked = Array.from({ length: 16 }, () => store.query(ENDLESS[0] as string, slow));
  const id = { kid: "kid-none", jti: "00000000-0000-7000-8000-000000000000", jtiMs: 0 };
  expect(await store.findSigned(id)).toEqual({});
  await Promise.allSettled(asked);
});

test("a deep or long text is refused, not fatal", async () => {
  const deep = `SELECT ${"abs(".repeat(10_000)}1${")".repeat(10_000)}`;
  expect((await refusalOf(deep)).code).toBe("query_rejected");
  expect((await refusalOf(`SELECT 1 ${"+ 1".repeat(15_000)}`)).code).toBe("query_rejected");
  expect((await refusalOf(`SELECT '${"x".repeat(100_000)}'`)).detail).toBe("the query is too long");
  expect(await rowsOf("SELECT 1")).toEqual([[1]]);
});

test("the database's files are the store's alone", () => {
  expect(fs.readdirSync(join(dataDir, "store")).toSorted()[0]).toBe("outcomes.duckdb");
});
