// A running server, its decision log over HTTP, and `trustrank export` beside it: the files are
// read by another DuckDB, which is how analysts take them home.
import * as fs from "node:fs";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { DuckDBInstance } from "@duckdb/node-api";
import { EXPORT_VIEWS } from "../../src/contract/views.ts";
import { endAll, runCommand, startCommand, type Started } from "./_process.ts";

const KEY = "an-admin-secret-of-the-operator-0123456789";

let directory: string;
let server: Started;
let url: string;

beforeAll(async () => {
  directory = fs.mkdtempSync("/tmp/trustrank-export-");
  const parameters = ["serve", "--port", "0", "--data-dir", `${directory}/data`, "--json"];
  server = startCommand(parameters, { TRUSTRANK_ADMIN_KEY: KEY });
  url = (JSON.parse(await server.firstLine) as { url: string }).url;
});

afterAll(async () => {
  await endAll();
  fs.rmSync(directory, { recursive: true });
});

interface Answer {
  status: number;
  // The tests look into the answers freely.
  // oxlint-disable-next-line typescript/no-explicit-any
  json: any;
}

async function ask(path: string, body?: unknown): Promise<Answer> {
  const response = await fetch(url + path, {
    headers: { authorization: `Bearer ${KEY}`, "content-type": "application/json" },
    ...(body === undefined ? {} : { method: "POST", body: JSON.stringify(body) }),
  });
  return { status: response.status, json: await response.json() };
}

const SAMPLE = fs.readFileSync("data/sample/outcomes.ndjson", "utf8").trim().split("\n");

/** Dated views without a row here: they have no folder. */
const EMPTY = new Set<string>(["assessments", "backtests"]);
/** With rows once a minute is over, or a rebuild of the daily scores. */
const LATER = new Set<string>(["latency", "movers"]);

async function rowsOf(sql: string, file = ":memory:"): Promise<unknown[]> {
  const isFile = file !== ":memory:";
  const instance = await DuckDBInstance.create(file, isFile ? { access_mode: "READ_ONLY" } : {});
  const connection = await instance.connect();
  const rows = (await connection.runAndReadAll(sql)).getRowsJson();
  connection.closeSync();
  instance.closeSync();
  return rows;
}

it("exports by settled day, and keeps a DuckDB file fresh that needs no service", async () => {
  // The store follows the journal: the sample's last row may not be in it yet.
  const caughtUp = () => ask(`/v1/query?min_position=${SAMPLE.length}`, { sql: "SELECT 1" });
  await vi.waitFor(async () => expect((await caughtUp()).status).toBe(200), { timeout: 60_000 });
  const to = `${directory}/settled`;
  const base = ["export", "--to", to, "--data-dir", `${directory}/data`, "--by", "settled"];
  const follower = startCommand([...base, "--follow", "--every", "0", "--json"], {
    TRUSTRANK_KEY: KEY,
  });
  const replica = `${to}/trustrank.duckdb`;
  await follower.firstLine;
  expect(fs.readdirSync(`${to}/outcomes`)[0]).toMatch(/^settled_day=\d{4}-\d\d-\d\d$/);
  expect(fs.statSync(replica).mode & 0o222).toBe(0);
  const counted = "SELECT (SELECT count(*) FROM outcomes), (SELECT position FROM as_of)";
  const [[found, place] = []] = (await rowsOf(counted, replica)) as string[][];
  expect(found).toBe(String(SAMPLE.length));
  // The sample's people and disputes are records, too.
  expect(Number(place)).toBeGreaterThanOrEqual(SAMPLE.length);
  const tables = `SELECT table_name FROM duckdb_tables() WHERE comment IS NOT NULL ORDER BY 1`;
  expect((await rowsOf(tables, replica)).flat()).toEqual(EXPORT_VIEWS.toSorted());
  const silent =
    "SELECT count(*) FROM duckdb_columns() WHERE NOT internal AND comment IS NULL AND table_name <> 'as_of'";
  expect(await rowsOf(silent, replica)).toEqual([["0"]]);
  // A tool that stays connected reads views over Parquet, as docs/guide/live.md has it.
  const tool = await (await DuckDBInstance.create(":memory:")).connect();
  await tool.run(
    `CREATE VIEW outcomes AS FROM read_parquet('${to}/outcomes/**/*.parquet', hive_partitioning = false)`,
  );
  const countInTool = async () =>
    (await tool.runAndReadAll("SELECT count(*)::INTEGER FROM outcomes")).getRowsJson()[0]![0];
  expect(await countInTool()).toBe(SAMPLE.length);
  // A reader keeps the file that it has opened; the next one gets the next.
  const report = { subject: "agent://acme/late", reporter: "agent://acme/buyer", outcome: 1 };
  await ask("/v1/outcomes", { ...report, stakes: 1, grade: "counterparty" });
  // Sums of the caller's usage follow the outcome into the journal, one after each export.
  const isNewer = async () => {
    const [[more, later] = []] = (await rowsOf(counted, replica)) as string[][];
    return more === String(SAMPLE.length + 1) && Number(later) > Number(place);
  };
  await vi.waitFor(async () => expect(await isNewer()).toBe(true), {
    timeout: 30_000,
    interval: 200,
  });
  expect(await countInTool()).toBe(SAMPLE.length + 1);
  tool.closeSync();
  follower.process.kill("SIGTERM");
  await follower.ended;
  const other = await runCommand(base.slice(0, -2), { TRUSTRANK_KEY: KEY });
  expect(other).toMatchObject({ code: 1, stderr: expect.stringContaining("by another day") });
}, 60_000);

it("logs every door's decisions, replays, exports and keeps them over a stop", async () => {
  const agent = "agent://globex/price-scout";
  const request = { agent_id: agent, action: "order.place", tool_level: "L2", context: {} };
  // The sample's own requests stand in the log already.
  const sql = `SELECT kind, sum(stands_for)::INTEGER FROM decisions GROUP BY kind ORDER BY kind`;
  const readCounts = async () => Object.fromEntries((await ask("/v1/query", { sql })).json.rows);
  const before = (await readCounts()) as { check: number; handshake: number; verify: number };
  const verdict = await ask("/v1/trust/verify", request);
  // Large enough for the pool, whose threads have rings of their own.
  const items = Array.from({ length: 200 }, () => request);
  expect((await ask("/v1/trust/verify/batch", { items })).json.items).toHaveLength(200);
  const parties = { initiator: "agent://acme/ledger-sync", counterparty: agent, stakes: 80 };
  await ask("/v1/handshake", parties);
  await ask("/v1/check", { subject: agent, stakes: 80 });
  const gateway = `/v1/gateway/authorize?profile=nginx&agent_id=${agent}&tool_level=L3`;
  await fetch(url + gateway, { headers: { authorization: `Bearer ${KEY}` } });

  // Of many identical denials in a second one row stands for several.
  const after = {
    check: before.check + 1,
    handshake: before.handshake + 2,
    verify: before.verify + 202,
  };
  expect(await readCounts()).toEqual(after);
  const id = verdict.json.request_id;
  const record = await ask(`/v1/decisions/${id}`);
  expect(record.json.legs[0]).toMatchObject({ subject: agent, verdict: "CHALLENGE" });
  const replay = await ask(`/v1/decisions/${id}/replay`, {});
  expect(replay.json).toMatchObject({ identical: true, differences: [] });
  const listed = await ask(`/v1/decisions?agent=${encodeURIComponent(agent)}&limit=1000`);
  for (const { request_id } of listed.json.decisions.slice(0, 4)) {
    expect((await ask(`/v1/decisions/${request_id}/replay`, {})).json.identical).toBe(true);
  }
  const reviews = await ask("/v1/reviews?open=1");
  expect(reviews.json.reviews.length).toBeGreaterThan(0);

  const to = `${directory}/lake`;
  const exported = await runCommand(
    ["export", "--to", to, "--data-dir", `${directory}/data`, "--json"],
    { TRUSTRANK_KEY: KEY },
  );
  expect(exported).toMatchObject({ code: 0, stderr: expect.stringContaining("asking it") });
  expect(await rowsOf(`SELECT count(*) FROM '${to}/outcomes/*/*.parquet'`)).toEqual([
    [String(SAMPLE.length + 1)],
  ]);
  expect(
    await rowsOf(
      `SELECT kind, sum(stands_for), min(day) <= current_date
       FROM read_parquet('${to}/decisions/*/*.parquet', hive_partitioning = true)
       GROUP BY kind ORDER BY kind`,
    ),
  ).toEqual([
    ["check", String(after.check), true],
    ["handshake", String(after.handshake), true],
    ["verify", String(after.verify), true],
  ]);

  expect(
    fs
      .readdirSync(to)
      .filter((view) => !LATER.has(view))
      .toSorted(),
  ).toEqual(EXPORT_VIEWS.filter((view) => !EMPTY.has(view) && !LATER.has(view)).toSorted());
  expect(await rowsOf(`SELECT count(*), min(tier) <> '' FROM '${to}/agents/*.parquet'`)).toEqual([
    [String((await ask("/v1/query", { sql: "FROM agents" })).json.rows.length), true],
  ]);

  await ask("/v1/trust/verify", request);
  server.process.kill("SIGTERM");
  expect((await server.ended).code).toBe(0);
  const left = await runCommand([
    "query",
    "SELECT sum(stands_for)::INTEGER AS n FROM decisions",
    "--data-dir",
    `${directory}/data`,
    "--json",
  ]);
  expect(JSON.parse(left.stdout)).toEqual([
    { n: after.check + after.handshake + after.verify + 1 },
  ]);
  const alone = await runCommand([
    "export",
    "--to",
    `${directory}/b`,
    "--data-dir",
    `${directory}/data`,
  ]);
  expect(alone.stdout).toMatch(/decisions: \d+ days/);
});
