// Queries that an analyst may run; everything else is refused without harm.
import * as fs from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { ServiceFault } from "../../../src/contract/faults.ts";
import type { OpenStore } from "../../../src/store/client.ts";
import { VIEWS } from "../../../src/store/query/views.ts";
import { fillJournal, LIMITS, openStore } from "../_fixtures.ts";
import { stretched } from "../../_patience.ts";
import { ALLOWED, REFUSED } from "./_statements.ts";

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

test.each(ALLOWED)("allowed: %s", async (sql) => {
  expect((await rowsOf(sql)).length).toBeGreaterThan(0);
});

test.each(REFUSED)("refused: %s", async (sql) => {
  const before = await rowsOf("SELECT count(*), sum(stakes) FROM outcomes");
  const fault = await refusalOf(sql);
  expect(fault.code).toBe("query_rejected");
  expect(fault.detail).not.toBe("");
  expect(fault.detail).not.toContain("\n");
  expect(await rowsOf("SELECT count(*), sum(stakes) FROM outcomes")).toEqual(before);
  expect(fs.existsSync("/tmp/trustrank-stolen.csv")).toBe(false);
});

/** As our own SQL sees them. */
const listTables = () => store.queryTrusted("SELECT table_name FROM duckdb_tables() ORDER BY 1");

test("nothing an analyst does leaves a trace in settings or schema", async () => {
  const before = await listTables();
  for (const sql of REFUSED) await store.query(sql, LIMITS).catch(() => undefined);
  expect(
    await rowsOf(
      `SELECT current_setting('threads'), current_setting('enable_external_access'),
       current_setting('enable_logging')`,
    ),
  ).toEqual([[1, false, 0]]);
  expect(await listTables()).toEqual(before);
});

test("only documented views are listed, and the tables behind them answer by their names", async () => {
  const views = Object.keys(VIEWS).toSorted();
  const listings = [
    "SHOW TABLES",
    "SELECT name FROM (SHOW ALL TABLES) ORDER BY 1",
    "SELECT table_name FROM information_schema.tables ORDER BY 1",
    "SELECT DISTINCT table_name FROM information_schema.columns ORDER BY 1",
    "SELECT DISTINCT table_name FROM duckdb_columns() WHERE NOT internal ORDER BY 1",
    "SELECT table_name FROM duckdb_tables() UNION ALL SELECT view_name FROM duckdb_views() WHERE NOT internal ORDER BY 1",
  ];
  for (const sql of listings)
    expect([sql, await rowsOf(sql)]).toEqual([sql, views.map((v) => [v])]);
  const tables = await listTables();
  expect(tables.length).toBeGreaterThan(20);
  for (const [table] of tables) {
    expect(await rowsOf(`SELECT count(*) FROM ${String(table)}`)).toHaveLength(1);
  }
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

test.each([
  "SELECT count(DISTINCT rpad(a.subject || b.position, 9999, 'y')) FROM outcomes a, outcomes b",
  "SELECT length(string_agg(lpad(subject, 9999, 'x'), '')) FROM outcomes, range(1000)",
  "PIVOT (FROM outcomes, range(100000)) ON grade USING count(DISTINCT hash(position, range))",
])("what is laid out is within the same limits: %s", async (sql) => {
  const startedAt = performance.now();
  const fault = await refusalOf(sql, { rowsMax: 10, timeoutMs: 2000 });
  expect(fault.detail).toMatch(/more memory|longer than 2000 ms/);
  expect(performance.now() - startedAt).toBeLessThan(stretched(6000));
  expect(await rowsOf("SELECT count(*) FROM outcomes")).toEqual([[500]]);
});

test("an answer of too much text is refused", async () => {
  const fault = await refusalOf(
    "SELECT (SELECT string_agg(action, '') FROM outcomes, range(500)) FROM range(10)",
  );
  expect(fault.detail).toContain("larger than");
});

test("a query that fails late is no shorter answer", async () => {
  const sql = `SELECT rpad(subject, 2000, '.'), if(position < 490, 1, error('late')) FROM
    (SELECT * FROM outcomes, range(20) ORDER BY position)`;
  const fault = await refusalOf(sql, { rowsMax: 10_000_000, timeoutMs: 20_000 });
  expect(fault.detail).toMatch(/late|failed after its first rows/);
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
