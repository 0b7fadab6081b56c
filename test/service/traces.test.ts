// Traces through a real service with several HTTP threads: what a caller's `traceparent` becomes in the
// decision log and in the log, whichever thread and pool answers.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { endAll, startCommand, type Started } from "../cli/_process.ts";

const folder = mkdtempSync(join(tmpdir(), "trustrank-traces-"));
const KEY = "operator-own-admin-key-of-40-characters";
const AGENT = "agent://globex/price-scout";
const VERIFY = { agent_id: AGENT, action: "order.place", tool_level: "L3", context: {} };

let server: Started;
let url: string;
let count = 0;

/** A new trace's id. */
function newTrace(): string {
  count += 1;
  return `4bf92f3577b34da6a3ce929d${count.toString(16).padStart(8, "0")}`;
}

async function ask(path: string, traceparent: string | undefined, body?: unknown) {
  const answer = await fetch(url + path, {
    method: body === undefined ? "GET" : "POST",
    headers: {
      authorization: `Bearer ${KEY}`,
      "content-type": "application/json",
      connection: "close",
      ...(traceparent === undefined ? {} : { traceparent }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  return { status: answer.status, text: await answer.text() };
}

const parentOf = (traceId: string) => `00-${traceId}-00f067aa0ba902b7-00`;

async function tracedRows(traceId: string): Promise<number> {
  const sql = `SELECT count(*)::INTEGER FROM decisions WHERE trace_id = '${traceId}'`;
  const { text } = await ask("/v1/query", undefined, { sql });
  return JSON.parse(text).rows[0][0];
}

beforeAll(async () => {
  const flags = ["--port", "0", "--json", "--http-threads", "3", "--log-level", "debug"];
  server = startCommand(["serve", ...flags, "--data-dir", join(folder, "data")], {
    TRUSTRANK_ADMIN_KEY: KEY,
    SCORING: "pool",
  });
  ({ url } = JSON.parse(await server.firstLine));
});

afterAll(async () => {
  await endAll();
  rmSync(folder, { recursive: true, force: true });
});

it("the decision log has the trace of every kind of question", async () => {
  const asked: [string, number][] = [];
  const trace = async (rows: number, path: string, body?: unknown) => {
    const traceId = newTrace();
    const { status } = await ask(path, parentOf(traceId), body);
    expect([path, status]).toEqual([path, path.includes("gateway") ? 403 : 200]);
    asked.push([traceId, rows]);
  };
  // Dealt out among the threads.
  for (let n = 0; n < 8; n += 1) await trace(1, "/v1/trust/verify", VERIFY);
  await trace(1, "/v1/check", { subject: AGENT, stakes: 1_000_000 });
  const parties = { initiator: "agent://acme/ledger-sync", counterparty: AGENT };
  await trace(2, "/v1/handshake", { ...parties, stakes: 1_000_000 });
  await trace(3, "/v1/trust/verify/batch", { items: [VERIFY, VERIFY, VERIFY] });
  await trace(60, "/v1/trust/verify/batch", { items: Array.from({ length: 60 }, () => VERIFY) });
  const query = new URLSearchParams({
    profile: "nginx",
    agent_id: AGENT,
    action: "order.place",
    tool_level: "L3",
  });
  await trace(1, `/v1/gateway/authorize?${query.toString()}`);
  for (const [traceId, rows] of asked) {
    await expect.poll(() => tracedRows(traceId), { timeout: 20_000 }).toBe(rows);
  }
});

it("a header that is none is ignored, and the request answered", async () => {
  const before = await ask("/v1/trust/verify", "00-zz", VERIFY);
  expect(before.status).toBe(200);
  const { request_id: id } = JSON.parse(before.text);
  const read = async () => (await ask(`/v1/decisions/${id}`, undefined)).text;
  await expect.poll(read, { timeout: 20_000 }).toContain('"trace_id":null');
});

it("log lines of a request have its trace, from every thread", async () => {
  const traces = Array.from({ length: 8 }, () => newTrace());
  for (const traceId of traces) await ask("/v1/nothing", parentOf(traceId));
  // Relayed to the main thread, which refuses it there.
  const relayed = newTrace();
  await ask("/v1/query", parentOf(relayed), { sql: "DROP TABLE outcomes" });
  server.process.kill("SIGTERM");
  const { stderr } = await server.ended;
  const lines = stderr
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));
  for (const traceId of [...traces, relayed]) {
    expect(lines.filter((line) => line.trace_id === traceId)).toMatchObject([
      { message: "request_refused", level: "debug" },
    ]);
  }
});
