// A running server, its decision log over HTTP, and `trustrank export` beside it: the files are
// read by another DuckDB, which is how analysts take them home.
import * as fs from "node:fs";
import { afterAll, beforeAll, expect, it } from "vitest";
import { DuckDBInstance } from "@duckdb/node-api";
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

async function rowsOf(sql: string): Promise<unknown[]> {
  const instance = await DuckDBInstance.create(":memory:");
  const connection = await instance.connect();
  const rows = (await connection.runAndReadAll(sql)).getRowsJson();
  connection.closeSync();
  instance.closeSync();
  return rows;
}

it("logs every door's decisions, replays, exports and keeps them over a stop", async () => {
  const agent = "agent://globex/price-scout";
  const request = { agent_id: agent, action: "order.place", tool_level: "L2", context: {} };
  const verdict = await ask("/v1/trust/verify", request);
  // Large enough for the pool, whose threads have rings of their own.
  const items = Array.from({ length: 200 }, () => request);
  expect((await ask("/v1/trust/verify/batch", { items })).json.items).toHaveLength(200);
  const parties = { initiator: "agent://acme/ledger-sync", counterparty: agent, stakes: 80 };
  await ask("/v1/handshake", parties);
  await ask("/v1/check", { subject: agent, stakes: 80 });
  const gateway = `/v1/gateway/authorize?profile=nginx&agent_id=${agent}&tool_level=L3`;
  await fetch(url + gateway, { headers: { authorization: `Bearer ${KEY}` } });

  const sql = `SELECT kind, count(*) FROM decisions GROUP BY kind ORDER BY kind`;
  expect((await ask("/v1/query", { sql })).json.rows).toEqual([
    ["check", 1],
    ["handshake", 2],
    ["verify", 202],
  ]);
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
  expect(await rowsOf(`SELECT count(*) FROM '${to}/outcomes/*/*.parquet'`)).toEqual([["3053"]]);
  expect(
    await rowsOf(
      `SELECT kind, count(*), min(day) <= current_date
       FROM read_parquet('${to}/decisions/*/*.parquet', hive_partitioning = true)
       GROUP BY kind ORDER BY kind`,
    ),
  ).toEqual([
    ["check", "1", true],
    ["handshake", "2", true],
    ["verify", "202", true],
  ]);

  await ask("/v1/trust/verify", request);
  server.process.kill("SIGTERM");
  expect((await server.ended).code).toBe(0);
  const left = await runCommand([
    "query",
    "SELECT count(*) AS n FROM decisions",
    "--data-dir",
    `${directory}/data`,
    "--json",
  ]);
  expect(JSON.parse(left.stdout)).toEqual([{ n: 206 }]);
  const alone = await runCommand([
    "export",
    "--to",
    `${directory}/b`,
    "--data-dir",
    `${directory}/data`,
  ]);
  expect(alone.stdout).toContain("decisions: 1 days");
});
