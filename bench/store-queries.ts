// Every documented query over a long history, by HTTP as analysts ask, and a full stream
// of its rows, with the memory that it takes of the service, of its query process and of the client.
// The history is written as the ledger would; the service then applies it. A table on stderr, one JSON
// object on stdout.
//   node bench/store-queries.ts [--outcomes 1200000] [--decisions 50000] [--beside] [--smoke]
// --beside: another tenant's query, which works until its limit of 8 s, runs beside every one of them.
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { parsed } from "./load/parsed.ts";
import type { OutcomeRecord } from "../src/journal/records.ts";
import { COMMIT_RECORDS_MAX, FrameBatch } from "../src/ledger/frame-batch.ts";
import { openJournal } from "./journal.ts";
import { ADMIN_KEY, machine, type ServerProcess, startServiceOver } from "./server-process.ts";

const { values: flags } = parsed(import.meta.filename, {
  options: {
    outcomes: { type: "string", default: "1200000" },
    decisions: { type: "string", default: "50000" },
    beside: { type: "boolean", default: false },
    smoke: { type: "boolean", default: false },
  },
});
const OUTCOMES = flags.smoke ? 5000 : Number(flags.outcomes);
const DECISIONS = flags.smoke ? 1000 : Number(flags.decisions);
const AGENTS = Math.max(100, Math.floor(OUTCOMES / 60));
const REPORTERS = Math.max(50, Math.floor(OUTCOMES / 240));
const YEAR_MS = 365 * 86_400_000;
const BATCH = 100;
const POLL_MS = 250;
const QUERIES = fileURLToPath(new URL("../examples/analyst", import.meta.url));
const START_MS = Date.now();

/** Outcome `index` of a year; the same on every run but for its times. */
function recordOf(index: number): OutcomeRecord {
  const settledAtMs = Math.floor(START_MS - YEAR_MS + (YEAR_MS * index) / OUTCOMES);
  // Multipliers without a common factor: every pair comes up, in no order that a scan would like.
  const subject = (index * 7_919) % AGENTS;
  return {
    outcomeId: `00000000-0000-7000-8000-${index.toString(16).padStart(12, "0")}`,
    idempotencyKey: "",
    subject: `agent://bench/${subject}`,
    reporter: `agent://voice/${(index * 104_729) % REPORTERS}`,
    outcome: (index * 31) % 97 < 8 + (subject % 20 === 0 ? 30 : 0) ? 0 : 1,
    stakes: 1 + (index % 900),
    gradeIndex: 3,
    signature: "bureau",
    settledAtMs,
    recordedAtMs: settledAtMs + 1000,
    isAgentFault: true,
    tenant: "bench",
    action: "order.place",
    requestId: "",
    source: "api",
    body: new Uint8Array(0),
  };
}

function writeHistory(dataDir: string): void {
  const core = openJournal(dataDir, START_MS);
  const batch = new FrameBatch();
  for (let index = 0; index < OUTCOMES; index++) {
    batch.addOutcome(recordOf(index));
    if (batch.count === COMMIT_RECORDS_MAX || index === OUTCOMES - 1) {
      core.commit([batch.drain()], START_MS);
    }
  }
  core.close();
}

function send(
  { url }: ServerProcess,
  route: string,
  body: unknown,
  { accept = "application/json", key = ADMIN_KEY } = {},
) {
  return fetch(url + route, {
    method: "POST",
    headers: {
      authorization: `Bearer ${key}`,
      "content-type": "application/json",
      accept,
    },
    body: JSON.stringify(body),
  });
}

/** A busy service asks for patience; what is measured is never asked twice. */
async function askPatiently<Answer>(service: ServerProcess, route: string, body: unknown) {
  for (;;) {
    try {
      return await ask<Answer>(service, route, body);
    } catch (error) {
      if (!String(error).includes(": 503 ")) throw error;
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    }
  }
}

async function ask<Answer>(service: ServerProcess, route: string, body: unknown): Promise<Answer> {
  const response = await send(service, route, body);
  const text = await response.text();
  if (!response.ok) throw new Error(`${route}: ${response.status} ${text}`);
  return JSON.parse(text) as Answer;
}

const secondsSince = (startedAt: number) => (performance.now() - startedAt) / 1000;

/** Decisions with outcomes that name them, as gateways and markets leave them. */
async function decide(service: ServerProcess): Promise<void> {
  interface Batch {
    items: { result?: { request_id: string } }[];
  }
  for (let from = 0; from < DECISIONS; from += BATCH) {
    const agents = Array.from({ length: BATCH }, (_, n) => `agent://bench/${(from + n) % AGENTS}`);
    const items = agents.map((agent_id, n) => {
      const tool_level = `L${n % 4}`;
      return { agent_id, action: "order.place", tool_level, context: {} };
    });
    const { items: made } = await askPatiently<Batch>(service, "/v1/trust/verify/batch", { items });
    const outcomes = made.map(({ result }, n) => ({
      subject: agents[n],
      reporter: "agent://voice/0",
      outcome: n % 9 === 0 ? 0 : 1,
      stakes: 10,
      grade: "counterparty",
      request_id: result?.request_id,
    }));
    await askPatiently(service, "/v1/outcomes/batch", outcomes);
  }
}

/** Seconds until the rows hold the journal up to its end. */
async function catchUp(service: ServerProcess, outcomes: number): Promise<number> {
  const startedAt = performance.now();
  for (;;) {
    const sql = "SELECT count(*) FROM outcomes";
    const { rows } = await askPatiently<{ rows: [[number]] }>(service, "/v1/query", { sql });
    if (rows[0][0] >= outcomes) return secondsSince(startedAt);
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
}

/** What they look for is not in these outcomes. */
const MAY_BE_EMPTY = new Set(["rings.sql", "repeated-reports.sql"]);

const ENDLESS = "SELECT sum(a.range * b.range) FROM range(100000000) a, range(100000) b";

/** Another tenant that asks for what takes longer than it may, again and again. */
async function startBystander(service: ServerProcess) {
  const wanted = { tenant: "beside", scopes: ["analytics:read"] };
  const { key } = await askPatiently<{ key: string }>(service, "/v1/keys", wanted);
  const state = { isStopped: false, limitsReached: 0, query: 0 };
  const run = async () => {
    while (!state.isStopped) {
      const body = { sql: ENDLESS, query_id: `beside-${++state.query}` };
      const response = await send(service, "/v1/query", body, { key });
      const text = await response.text();
      if (text.includes("timeout")) state.limitsReached += 1;
      else if (!state.isStopped) throw new Error(`beside: ${response.status} ${text}`);
    }
  };
  const running = run();
  // It is thrown by `stop`.
  running.catch(() => undefined);
  return {
    async stop() {
      state.isStopped = true;
      const name = `beside-${state.query}`;
      const ended = await fetch(`${service.url}/v1/query/${name}`, {
        method: "DELETE",
        headers: { authorization: `Bearer ${key}` },
      });
      await running;
      // It was at work after the last question, as it was before the first.
      return { limitsReached: state.limitsReached, wasAtWork: ended.ok };
    },
  };
}

async function timeQueries(service: ServerProcess): Promise<Record<string, number>> {
  const seconds: Record<string, number> = {};
  for (const name of readdirSync(QUERIES).filter((each) => each.endsWith(".sql"))) {
    const sql = readFileSync(path.join(QUERIES, name), "utf8");
    const startedAt = performance.now();
    const { rows } = await ask<{ rows: unknown[] }>(service, "/v1/query", { sql }).catch(
      (error: unknown) => {
        throw new Error(name, { cause: error });
      },
    );
    seconds[name] = secondsSince(startedAt);
    if (rows.length === 0 && !MAY_BE_EMPTY.has(name)) throw new Error(`${name} has no rows`);
    process.stderr.write(`${name.padEnd(28)} ${seconds[name].toFixed(2)} s\n`);
  }
  return seconds;
}

async function timeStream(service: ServerProcess) {
  const startedAt = performance.now();
  const sql = "FROM outcomes";
  const response = await send(service, "/v1/query", { sql }, { accept: "application/x-ndjson" });
  if (!response.ok || response.body === null) throw new Error(`stream: ${response.status}`);
  let [rows, bytes] = [0, 0];
  for await (const piece of response.body as AsyncIterable<Uint8Array>) {
    bytes += piece.length;
    for (let at = piece.indexOf(10); at >= 0; at = piece.indexOf(10, at + 1)) rows += 1;
  }
  return { rows, megabytes: bytes / 1e6, seconds: secondsSince(startedAt) };
}

/** Largest resident size since `forgetPeak`, or since the start. */
function residentMegabytes(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  return Number(/VmHWM:\s+(\d+)/.exec(status)?.[1] ?? Number.NaN) / 1000;
}

/** The largest resident size counts from now on (proc(5), clear_refs). */
function forgetPeak(pid: number): void {
  writeFileSync(`/proc/${pid}/clear_refs`, "5");
}

/** Processes that the service has started: the query process. */
function childrenOf(pid: number): number[] {
  const threads = readdirSync(`/proc/${pid}/task`);
  return threads.flatMap((thread) => {
    const list = readFileSync(`/proc/${pid}/task/${thread}/children`, "utf8");
    return list.split(" ").filter(Boolean).map(Number);
  });
}

/** A full stream, and the largest resident sizes of all who took part in it. */
async function measureStream(service: ServerProcess) {
  const parts = [service.pid, process.pid, ...childrenOf(service.pid)];
  for (const pid of parts) forgetPeak(pid);
  const [before, own] = parts.map(residentMegabytes);
  const stream = await timeStream(service);
  const processes = childrenOf(service.pid).map(residentMegabytes);
  return {
    ...stream,
    service_megabytes: residentMegabytes(service.pid),
    service_megabytes_before: before!,
    query_process_megabytes: Math.max(0, ...processes),
    client_megabytes: residentMegabytes(process.pid),
    client_megabytes_before: own!,
  };
}

const dataDir = path.join(mkdtempSync(path.join(tmpdir(), "trustrank-store-")), "data");
mkdirSync(dataDir);
writeHistory(dataDir);
Object.assign(process.env, { TRUSTRANK_DECISIONS_MB_PER_DAY: "131071", TRUSTRANK_KAIZEN: "off" });
const cleanUp = () => rmSync(path.dirname(dataDir), { recursive: true, force: true });
const service = await startServiceOver(dataDir, cleanUp, "--no-sample");
try {
  const catchUpSeconds = await catchUp(service, OUTCOMES);
  await decide(service);
  await catchUp(service, OUTCOMES + DECISIONS);
  const beside = flags.beside ? await startBystander(service) : undefined;
  const queries = await timeQueries(service);
  const besideEnd = await beside?.stop();
  const residentMax = residentMegabytes(service.pid);
  const stream = await measureStream(service);
  const report = {
    outcomes: OUTCOMES + DECISIONS,
    agents: AGENTS,
    catch_up_seconds: catchUpSeconds,
    queries,
    ...(besideEnd === undefined ? {} : { beside: besideEnd }),
    slowest_seconds: Math.max(...Object.values(queries)),
    stream,
    resident_megabytes_max: Math.max(residentMax, stream.service_megabytes),
    machine: machine(),
  };
  process.stdout.write(`${JSON.stringify(report)}\n`);
} finally {
  await service.stop();
}
