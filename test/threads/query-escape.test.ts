// Attacks with SQL by an analyst's key, over HTTP and against the real store: everything but reading
// is refused with a problem, nothing hangs, the next query is answered.
import * as fs from "node:fs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Scope } from "../../src/contract/vocabulary.ts";
import { type OpenStore, startStore } from "../../src/store/client.ts";
import { fillJournal } from "../store/_fixtures.ts";
import { call, problemIn } from "../http/_client.ts";
import { openTestServer, type TestServer } from "../http/_setup.ts";

/** Instead of the route's eight seconds: time for every sound query, short to wait for. */
const QUERY_MS_MAX = 1500;
const STOLEN = "/tmp/trustrank-escape-stolen";

let dataDir: string;
let store: OpenStore;
let service: TestServer;

beforeAll(async () => {
  // Its own name must not begin as that of what is stolen.
  dataDir = fs.mkdtempSync("/tmp/trustrank-sandbox-");
  fillJournal(dataDir, 1, 400);
  store = await startStore({ dataDir, isStandalone: true });
  fs.writeFileSync(`${dataDir}/store-export/0.parquet`, "PAR1");
  const query = store.query.bind(store);
  store.query = (sql, limits, tenant) => query(sql, { ...limits, timeoutMs: QUERY_MS_MAX }, tenant);
  service = await openTestServer("uws", { store });
});

afterAll(async () => {
  await service.stop();
  await store.close();
  fs.rmSync(dataDir, { recursive: true });
});

const ask = (sql: string) => call(service, "/v1/query", { body: { sql } });

const ESCAPES = (): string[] => [
  `ATTACH '${STOLEN}.db' AS other`,
  `ATTACH '${dataDir}/store-export/other.db' AS other`,
  "ATTACH ':memory:' AS other",
  `COPY outcomes TO '${STOLEN}.csv'`,
  `COPY outcomes TO '${dataDir}/store-export/stolen.parquet' (FORMAT parquet)`,
  "COPY outcome_rows FROM '/etc/passwd'",
  `EXPORT DATABASE '${STOLEN}'`,
  "INSTALL httpfs",
  "LOAD httpfs",
  "SELECT * FROM read_csv('/etc/passwd')",
  "SELECT * FROM read_csv_auto('/etc/passwd')",
  "SELECT * FROM read_text('/proc/self/environ')",
  "SELECT * FROM read_parquet('https://localhost/x.parquet')",
  `SELECT * FROM read_parquet('${dataDir}/store-export/0.parquet')`,
  `SELECT * FROM parquet_scan('${dataDir}/store-export/0.parquet')`,
  `SELECT * FROM '${dataDir}/store-export/0.parquet'`,
  "SELECT * FROM '/etc/passwd'",
  "SELECT * FROM glob('/**')",
  "SELECT getenv('TRUSTRANK_ADMIN_KEY')",
  "PRAGMA database_list",
  "PRAGMA enable_profiling='json'",
  "SET memory_limit = '100GB'",
  "SET enable_external_access = true",
  "RESET lock_configuration",
  "CALL pragma_version()",
  "SELECT 1; DROP TABLE decision_rows",
  "SELECT 1;;; DELETE FROM outcome_rows",
  "WITH gone AS (DELETE FROM decision_rows RETURNING *) SELECT * FROM gone",
  "INSERT INTO review_rows SELECT * FROM review_rows",
  "UPDATE outcome_rows SET outcome = 1",
  "CREATE OR REPLACE VIEW outcomes AS SELECT 1",
  "CREATE MACRO outcomes() AS TABLE SELECT 1",
  "CHECKPOINT",
  "SELECT * FROM query('DROP TABLE applied')",
  "SELECT repeat('x', 4000000000)",
];

const OVERLOADS = [
  "WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t) SELECT max(n) FROM t",
  "SELECT count(*) FROM outcomes a, outcomes, range(9999999) c WHERE hash(a.stakes + c.range) = 1",
  "SELECT list(a.range) FROM range(100000000) a, range(100) b",
  "SELECT string_agg(a.subject || b.subject, ',') FROM outcomes a, outcomes b, outcomes c",
];

/** The service and the store answer, and nothing was changed or written. */
async function expectUnharmed(): Promise<void> {
  const counted = await ask("SELECT count(*), sum(stakes) FROM outcomes");
  expect(counted.json.rows).toEqual([[400, 80300]]);
  expect((await call(service, "/healthz", { key: null })).status).toBe(200);
  expect(fs.readdirSync("/tmp").filter((name) => name.startsWith("trustrank-escape-s"))).toEqual(
    [],
  );
  const written = fs.readdirSync(`${dataDir}/store-export`, {
    encoding: "utf8",
    recursive: true,
  });
  expect(new Set(written)).toEqual(new Set(["0.parquet", "spill"]));
}

describe("SQL over HTTP", () => {
  it("refuses every way out, and goes on", async () => {
    for (const sql of ESCAPES()) {
      const problem = problemIn(await ask(sql));
      expect([sql, problem.status, problem.code]).toEqual([sql, 422, "query_rejected"]);
      expect(problem.detail, sql).toMatch(/^[^\n]{1,400}$/);
    }
    await expectUnharmed();
  });

  it.each(OVERLOADS)("cuts off %s", async (sql) => {
    const problem = problemIn(await ask(sql));
    expect(problem.code).toBe("query_rejected");
    expect(problem.detail).toMatch(/longer than|more memory|larger than/);
    await expectUnharmed();
  });

  it("cuts a huge answer at the row limit and says so", async () => {
    const { json } = await ask("SELECT * FROM range(100000000000)");
    expect(json.rows).toHaveLength(10_000);
    expect(json.is_truncated).toBe(true);
  });

  it("shows a key the rows of its tenant, an administrator's key all", async () => {
    const body = { sql: "SELECT count(*) FROM outcomes" };
    const countOf = async (key: string) =>
      (await call(service, "/v1/query", { body, key })).json.rows as unknown;
    const scopes: Scope[] = ["analytics:read"];
    const { key } = await service.keyring.create({ tenant: "zebra", scopes });
    expect(await countOf(service.key)).toEqual([[400]]);
    expect(await countOf(key)).toEqual([[0]]);
    expect(await countOf(service.admin)).toEqual([[400]]);
    const days = await call(service, "/v1/export/outcomes/days", { key });
    expect(days.json).toEqual({ days: [] });
    const base = { sql: "SELECT count(*) FROM outcome_rows" };
    expect((await call(service, "/v1/query", { body: base, key: service.admin })).status).toBe(200);
    expect(problemIn(await call(service, "/v1/query", { body: base, key })).status).toBe(422);
  });

  it("is for analysts only", async () => {
    const key = await service.makeKey(["score:read", "outcomes:write"]);
    const answer = await call(service, "/v1/query", { body: { sql: "SELECT 1" }, key });
    expect(problemIn(answer)).toMatchObject({ status: 403, code: "insufficient_scope" });
  });
});
