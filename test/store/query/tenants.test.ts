// Isolation of tenants in SQL: a key sees the rows of its tenant, whatever it asks. Two tenants share
// one database here; every text of the other one is marked, and no answer and no error may hold it.
import * as fs from "node:fs";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { ServiceFault } from "../../../src/contract/faults.ts";
import { PAID_VIEWS, SCORED_VIEWS } from "../../../src/contract/views.ts";
import type { OpenStore } from "../../../src/store/client.ts";
import { VIEWS, buildViewQuery } from "../../../src/store/query/views.ts";
import type { ViewDefinition } from "../../../src/store/view.ts";
import { LIMITS, openStoreCore } from "../_fixtures.ts";
import { MARK, openTenants } from "../_tenants.ts";

let dataDir: string;
let store: OpenStore;

beforeAll(async () => {
  ({ dataDir, store } = await openTenants());
});

afterAll(async () => {
  await store.close();
  fs.rmSync(dataDir, { recursive: true });
});

const rowsOf = async (sql: string, tenant: string | undefined = "acme") =>
  (await store.query(sql, LIMITS, tenant)).rows;

/** The refusal, or the answer's text; neither may speak of the other tenant. */
async function outcomeOf(sql: string): Promise<string> {
  try {
    return JSON.stringify(await rowsOf(sql));
  } catch (error) {
    if ((error as Error).name !== "ServiceFault") throw error;
    return `refused: ${(error as ServiceFault).detail}`;
  }
}

/** Queries in which only a parser finds the view. */
const WAYS_TO_SCORES = [
  "FROM scores_daily",
  'SELECT * FROM "agents"',
  "SELECT * FROM AgEnTs",
  "SELECT * FROM 'agents'",
  "SELECT * FROM E'\\x61gents'",
  "TABLE agents",
  "SUMMARIZE agents",
  "SUMMARIZE SELECT * FROM agents",
  "FROM (DESCRIBE agents)",
  "WITH t AS (FROM agents) FROM t",
  "WITH RECURSIVE t AS (SELECT 1 UNION SELECT max(score) FROM agents) FROM t",
  "SELECT (SELECT max(score) FROM agents)",
  "SELECT 1 WHERE EXISTS (FROM agents WHERE score > 1)",
  "VALUES ((SELECT max(score) FROM agents))",
  "SELECT * FROM range((SELECT max(score)::INT FROM agents))",
  "SELECT o.* FROM outcomes AS o, LATERAL (SELECT max(score) FROM agents)",
  "FROM outcomes POSITIONAL JOIN agents",
  "SELECT * FROM (FROM agents) AS outcomes",
  "PIVOT agents ON tier USING count(*)",
  "UNPIVOT agents ON score",
  "SELECT error(agent || score) FROM agents",
];

const NO_ROWS_HERE = new Set(["findings", "latency", "movers", "repeated_reports", "rings"]);

describe("a tenant's key", () => {
  test("sees what it reported and what is told of its namespaces; the operator all", async () => {
    const count = "SELECT count(*), count(DISTINCT tenant) FROM outcomes";
    expect(await rowsOf(count)).toEqual([[22, 2]]);
    expect(await rowsOf(count, MARK)).toEqual([[200, 1]]);
    // A namespace whose first key another tenant registered is not its own.
    expect(await rowsOf(count, "nobody")).toEqual([[0, 0]]);
    expect((await store.query(count, LIMITS)).rows).toEqual([[222, 3]]);
    expect(await rowsOf("SELECT sum(outcomes) FROM agents_daily")).toEqual([[22]]);
    expect(await rowsOf("SELECT sum(outcomes) FROM reporters")).toEqual([[22]]);
  });

  // Nothing here is a finding, nothing moved and nothing was timed: see rows/finding-tenants.test.ts,
  // rows/mover-views.test.ts and rows/latencies.test.ts.
  const filled = Object.keys(VIEWS).filter((view) => !NO_ROWS_HERE.has(view));

  test.each(filled)("reads %s, and nothing of another tenant in it", async (view) => {
    const all = JSON.stringify((await store.query(`FROM ${view}`, LIMITS)).rows);
    expect(all).toContain(MARK);
    const own = await rowsOf(`FROM ${view}`);
    expect(JSON.stringify(own)).not.toContain(MARK);
    if (view !== "kaizen_runs") expect(own.length).toBeGreaterThan(0);
    expect(JSON.stringify(await rowsOf(`FROM ${view}`, MARK))).not.toMatch(/"acme"|doc:acme/);
  });

  test("lists the agents that it knows, and all that a score tells of them", async () => {
    const sql = "SELECT agent, tier, outcomes, as_of_position > 0 FROM agents ORDER BY agent";
    const own = await rowsOf(sql);
    expect(own).toContainEqual(["agent://acme-shop/buyer", expect.any(String), 1, true]);
    const all = (await store.query(sql, LIMITS)).rows;
    expect(all).toHaveLength(4);
    expect(own.length).toBeLessThan(all.length);
    expect(await rowsOf(sql, "nobody")).toEqual([]);
  });

  test.each(WAYS_TO_SCORES)("a withheld view is known in %s", async (sql) => {
    for (const tenant of ["acme", undefined]) {
      const asked = store.query(sql, LIMITS, tenant, { withheld: PAID_VIEWS });
      await expect(asked).rejects.toMatchObject({ code: "insufficient_scope" });
    }
  });

  test.each(["FROM main.agents", "FROM agent_rows", "EXPLAIN ANALYZE FROM agents"])(
    "an administrator's %s names a withheld view, a tenant's is no query",
    async (sql) => {
      const ask = (tenant?: string) => store.query(sql, LIMITS, tenant, { withheld: PAID_VIEWS });
      await expect(ask()).rejects.toMatchObject({ code: "insufficient_scope" });
      await expect(ask("acme")).rejects.toMatchObject({ code: "query_rejected" });
    },
  );

  test.each(["SELECT 'agents' AS agents", "FROM agents_daily", "FROM pragma_table_info('agents')"])(
    "%s names none",
    async (sql) => {
      const asked = store.query(sql, LIMITS, "acme", { withheld: SCORED_VIEWS });
      expect((await asked).rows.length).toBeGreaterThan(0);
    },
  );

  test("reads what is not withheld", async () => {
    const [[count]] = (
      await store.query("SELECT count(*) FROM outcomes", LIMITS, "acme", { withheld: ["agents"] })
    ).rows as [[number]];
    expect(count).toBe(22);
  });

  test("an apostrophe in a tenant's name is a letter", async () => {
    expect(await rowsOf("SELECT count(*) FROM outcomes", "x' OR true --")).toEqual([[0]]);
    expect(await rowsOf("SELECT count(*) FROM decisions", "x' OR true --")).toEqual([[0]]);
  });

  test("days are exported of its own rows alone", async () => {
    const [day] = await store.listExportDays("outcomes", { sinceMs: 0, tenant: "acme" });
    expect(await store.listExportDays("outcomes", { sinceMs: 0, tenant: "nobody" })).toEqual([]);
    const own = await store.exportParquet("outcomes", day, { sinceMs: 0, tenant: "acme" });
    const all = await store.exportParquet("outcomes", day, { sinceMs: 0 });
    expect(own.byteLength).toBeLessThan(all.byteLength);
    expect(Buffer.from(all).includes(MARK)).toBe(true);
    expect(Buffer.from(own).includes(MARK)).toBe(false);
  });
});

test("views say whether their rows hold scores, as their columns do", () => {
  const hasScore = ([, { columns }]: [string, ViewDefinition]) =>
    columns.some(([name]) => /^(score|tier|\w+_score|failure_probability)$/.test(name));
  const scored = Object.entries(VIEWS).filter(hasScore);
  expect(scored.map(([view]) => view).toSorted()).toEqual([...SCORED_VIEWS].toSorted());
  const isLogged = ([, { columns }]: [string, ViewDefinition]) =>
    columns.some(([name]) => name === "request_id");
  const current = scored.filter((view) => !isLogged(view)).map(([view]) => view);
  expect(current.toSorted()).toEqual([...PAID_VIEWS].toSorted());
});

const BASE_TABLES = [
  "outcome_rows",
  "agent_day_rows",
  "decision_rows",
  "source_rows",
  "audit_rows",
  "review_rows",
  "kaizen_run_rows",
  "applied",
  "duckdb_tables",
  "sqlite_master",
  "pragma_database_list",
];

const ESCAPES = [
  ...BASE_TABLES.flatMap((table) => [
    `FROM ${table}`,
    `FROM "${table}"`,
    `FROM ${table.toUpperCase()}`,
    `FROM main.${table}`,
    `FROM outcomes.main.${table}`,
    `FROM "outcomes"."main"."${table}"`,
    `SELECT (SELECT count(*) FROM ${table})`,
    `SELECT * FROM outcomes WHERE EXISTS (FROM ${table})`,
    `SELECT * FROM outcomes, LATERAL (FROM ${table}) AS t`,
    `WITH t AS (FROM ${table}) FROM t`,
    `WITH t AS MATERIALIZED (FROM ${table}) FROM t`,
    `SELECT * FROM ${table}, (WITH ${table} AS (SELECT 1) FROM ${table}) AS t`,
    `WITH a AS (WITH ${table} AS (SELECT 1) FROM ${table}) SELECT * FROM a, ${table}`,
    `WITH ${table} AS (FROM ${table}) FROM ${table}`,
    `WITH RECURSIVE ${table} AS (SELECT 1 AS n UNION ALL FROM ${table}) FROM ${table}`,
    `FROM outcomes UNION ALL BY NAME FROM ${table}`,
    `SELECT * FROM (PIVOT ${table} ON 1 IN (1) USING count(*))`,
    `DESCRIBE (FROM ${table})`,
    `SUMMARIZE ${table}`,
    `SUMMARIZE main.${table}`,
    `FROM (SUMMARIZE ${table})`,
    `SELECT * FROM outcomes POSITIONAL JOIN ${table}`,
    `SELECT * FROM outcomes SEMI JOIN ${table} ON true`,
    `FROM query_table('${table}')`,
    `FROM query('FROM ${table}')`,
    `TABLE ${table}`,
    `EXPLAIN ANALYZE FROM ${table}`,
  ]),
  "FROM main.outcomes",
  "FROM outcomes.main.outcomes",
  "FROM outcomes.outcomes",
  "FROM temp.main.outcomes",
  "FROM information_schema.tables",
  "FROM system.information_schema.tables",
  "FROM pg_catalog.pg_class",
  "FROM duckdb_tables()",
  "FROM duckdb_tables",
  "FROM duckdb_databases()",
  "FROM pragma_storage_info('outcome_rows')",
  "FROM duckdb_temporary_files()",
  "FROM seq_scan('outcome_rows')",
  "EXPLAIN SELECT * FROM outcomes",
  "EXPLAIN ANALYZE SELECT * FROM outcomes",
  "explain (format json) select * from outcomes",
  "-- x\nEXPLAIN SELECT 1",
  "/* x */ EXPLAIN SELECT 1",
  "SELECT stats(stakes) FROM outcomes",
  "SELECT STATS(subject) FROM outcomes LIMIT 1",
  "SELECT subject.stats() FROM outcomes",
  'SELECT "stats"(subject) FROM outcomes',
  "SELECT json_serialize_plan('SELECT * FROM outcome_rows')",
  "SELECT sleep_ms(100000)",
  "SELECT current_setting('allowed_directories')",
  "SELECT upper(Current_Setting('temp_directory'))",
  'SELECT "current_setting"(action) FROM outcomes',
  "FROM duckdb_settings()",
  "FROM pragma_database_list()",
  "FROM duckdb_databases",
  "FROM pg_settings",
  "SHOW allowed_directories",
  "SELECT __internal_decompress_string(1::UTINYINT)",
  "FROM json_execute_serialized_sql(json_serialize_sql('FROM outcome_rows'))",
];

/**
 * Functions that a query may name, as they were when each was judged: does it only compute from its
 * arguments? Those that do not are forbidden in src/store/query/guard.ts. A new DuckDB fails here:
 * look at what `SELECT DISTINCT function_name FROM duckdb_functions()` has that is new, then put
 * the new digest here.
 */
const JUDGED = "68f7abdf63fa3ba3200791094c5336da";

test("every function of this DuckDB has been judged", async () => {
  const sql = `SELECT md5(string_agg(DISTINCT function_type || ' ' || function_name, ','
    ORDER BY function_type || ' ' || function_name)) FROM duckdb_functions()
    WHERE function_type IN ('scalar', 'macro', 'aggregate', 'table', 'table_macro')`;
  // Of our own connection: a caller's has the macros that hide tables.
  expect(await store.queryTrusted(sql)).toEqual([[JUDGED]]);
});

describe("ways out", () => {
  test.each(ESCAPES)("closed: %s", async (sql) => {
    const outcome = await outcomeOf(sql);
    expect(outcome).toMatch(/^refused: /);
    expect(outcome).not.toContain(MARK);
  });

  // An expression of the query is not evaluated on rows that the tenant may not see: it could fail
  // with what stands in them, or fail at all, which tells something too.
  test.each([
    "SELECT count(*) FROM outcomes WHERE (tenant <> 'zebra' OR error(reporter))",
    "SELECT count(*) FROM outcomes WHERE CASE WHEN subject LIKE '%zebra%' THEN error('x') END",
    "SELECT count(*) FROM outcomes WHERE if(reporter LIKE '%zebra%', reporter::INTEGER > 0, true)",
    "SELECT count(*) FROM (FROM outcomes WHERE tenant = 'zebra') WHERE error(subject)",
    `SELECT count(*) FROM outcomes AS a JOIN outcomes AS b
     ON a.position = b.position AND (a.tenant <> 'zebra' OR error(b.reporter))`,
    // Theirs do not fit: 1,000.25 and more.
    "SELECT count(*) FROM outcomes WHERE CAST(stakes AS UTINYINT) >= 0",
    "SELECT count(*) FROM outcomes WHERE CAST(stakes AS TINYINT) + 1 > 0 AND outcome >= 0",
    "SELECT count(*) FROM decisions WHERE CAST(stakes AS DECIMAL(3, 1)) < 50",
    "SELECT count(*) FROM decisions WHERE if(tenant = 'zebra', error(subject), true)",
    "SELECT count(*) FROM evidence_sources WHERE if(tenant = 'zebra', error(source_id), true)",
    "SELECT count(*) FROM audit_events WHERE if(kid LIKE '%zebra%', error(kid), true)",
    "SELECT count(*) FROM agents_daily WHERE if(subject LIKE '%zebra%', error(subject), true)",
  ])("a condition meets own rows only: %s", async (sql) => {
    expect(await outcomeOf(sql)).toMatch(/^\[\[\d+\]\]$/);
  });

  test("its conditions stand above the fence, whatever the optimizer would like", async () => {
    const { core } = openStoreCore(`${dataDir}/beside`);
    await core.write((writer) =>
      writer.run(`INSERT INTO outcome_rows BY NAME SELECT range AS position, uuid() AS outcome_id,
        's' AS subject, 'r' AS reporter, 1 AS outcome, range AS stakes, 'self' AS grade,
        'none' AS signature, true AS agent_fault, if(range % 2 = 0, 'acme', 'zebra') AS tenant,
        '' AS action, '' AS request_id, 'api' AS source, 1 AS stakes_scored, 1 AS counted_share,
        'none' AS signed_by, 'self' AS claimed_grade
        FROM range(1000)`),
    );
    const plan = await core.readQueue.read(async (reader) => {
      const sql = await buildViewQuery(reader, "outcomes", "acme");
      const rows = await reader.rows(`EXPLAIN SELECT * FROM (${sql}) WHERE stakes > 77`);
      return String(rows[0]?.[1]);
    });
    await core.close();
    const [condition, fence, scan] = ["77", "LIMIT", "SCAN"].map((word) => plan.indexOf(word));
    expect(condition).toBeGreaterThan(0);
    expect(fence).toBeGreaterThan(condition as number);
    expect(scan).toBeGreaterThan(fence as number);
    expect(plan.lastIndexOf("77")).toBe(condition);
  });

  test("names of a WITH clause are free to use, also those of the views", async () => {
    expect(await rowsOf("WITH mine AS (FROM outcomes) SELECT count(*) FROM MINE")).toEqual([[22]]);
    expect(await rowsOf("WITH outcomes AS (SELECT 7 AS n) SELECT n FROM outcomes")).toEqual([[7]]);
    expect(
      await rowsOf("SELECT count(*) FROM outcomes, (WITH outcomes AS (SELECT 1) FROM outcomes)"),
    ).toEqual([[22]]);
  });

  test("what one tenant asked leaves nothing for the next", async () => {
    await Promise.all(
      ["acme", MARK, "acme", "nobody", MARK].map(async (tenant, index) => {
        const expected = { acme: 22, [MARK]: 200, nobody: 0 }[tenant];
        const [[count]] = (await rowsOf(`SELECT count(*), ${index} FROM outcomes`, tenant)) as [
          [number],
        ];
        expect(count).toBe(expected);
      }),
    );
    expect((await store.query("SELECT count(*) FROM outcomes", LIMITS)).rows).toEqual([[222]]);
  });

  test("the catalogue tells names and comments, no values", async () => {
    for (const name of ["duckdb_columns", "duckdb_views", "duckdb_functions", "duckdb_types"]) {
      const text = JSON.stringify(await rowsOf(`FROM ${name}() LIMIT 1000`));
      expect(text).not.toContain(MARK);
    }
    expect(JSON.stringify(await rowsOf("SHOW TABLES"))).not.toContain(MARK);
    expect(JSON.stringify(await rowsOf("SHOW ALL TABLES"))).not.toContain(MARK);
  });
});
