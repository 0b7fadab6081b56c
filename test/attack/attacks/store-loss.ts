// A tenant that drives the store's database out of memory, by outcomes with long ids and by queries
// that take much of it; and an operator who deletes the store's directory. Nobody's rows may go.
import { createHash, randomBytes } from "node:crypto";
import * as fs from "node:fs";
import { join } from "node:path";
import type { ServerProcess } from "../../../bench/server-process.ts";
import type { Attack } from "../attack.ts";
import { gauge, Lasting, sql, untilApplied } from "../lasting.ts";
import { type AttackStage, delay } from "../stage.ts";

/** Enough for the service at rest; the default needs minutes to run out. */
const MEMORY_SHORT_MB = 36;
const MEMORY_MB = 128;
const BATCHES = 2000;
const BATCHES_SHORT = 110;
const BATCH = 400;
const ID_BYTES = 128;
const REQUEST_ID_BYTES = 120;
const QUERIES_AT_ONCE = 2;
/** Much of the memory: all texts in one. */
const HEAVY = `SELECT length(string_agg(outcome_id || subject || request_id, ''))
  FROM outcomes, range(8)`;
const VIEWS = ["decisions", "provenance", "reviews", "audit_events"];

export const storeLoss: Attack = {
  name: "store-loss",
  what: "outcomes with long ids and heavy queries drive DuckDB out of memory",
  async play(stage) {
    const broken: string[] = [];
    const megabytes = stage.isShort ? MEMORY_SHORT_MB : MEMORY_MB;
    // More outcomes than the rate of a tenant lets through: what is tried is the memory behind it.
    const lasting = new Lasting({
      TRUSTRANK_STORE_MEMORY_MB: String(megabytes),
      TRUSTRANK_RATE_OUTCOMES: "unlimited",
    });
    try {
      let service = await lasting.start();
      const attacker = await stage.makeKey(service, "mallory", [
        "outcomes:write",
        "analytics:read",
      ]);
      await leaveRows(stage, service);
      await untilApplied(stage, service);
      const before = await digests(stage, service);
      await attack(stage, service, attacker);
      await untilApplied(stage, service);
      await compare(stage, service, before, "after the attack", broken);
      const reopenings = await gauge(stage, service, "store_reopenings_total");
      const rebuilds = await gauge(stage, service, "store_rebuilds_total");
      const outcomes = await countOutcomes(stage, service);
      const { text: ready } = await stage.ask(service, "/readyz");
      if (reopenings > 0 && !ready.includes("opened again")) broken.push("/readyz says nothing");
      const stopped = await lasting.stop();
      if (stopped.code !== 0) broken.push(`the stop ended with ${stopped.code}`);

      fs.rmSync(join(lasting.dataDir, "store"), { recursive: true });
      lasting.env = {};
      const startedAt = performance.now();
      service = await lasting.start();
      await untilApplied(stage, service);
      const rebuiltMs = Math.round(performance.now() - startedAt);
      await compare(stage, service, before, "after the store was deleted", broken);
      const again = await countOutcomes(stage, service);
      if (again !== outcomes) broken.push(`${again} outcomes of ${outcomes} came back`);
      const stop_ms = Math.round(stopped.tookMs);
      const counts = { store_reopenings_total: reopenings, store_rebuilds_total: rebuilds };
      return { broken, figures: { outcomes, ...counts, stop_ms, rebuilt_ms: rebuiltMs } };
    } finally {
      await lasting.close();
    }
  },
};

async function countOutcomes(stage: AttackStage, service: ServerProcess): Promise<number> {
  const [row] = await sql(stage, service, "SELECT count(*) FROM outcomes");
  return Number(row![0]);
}

/** Rows of every kind that an attack could cost somebody else. */
async function leaveRows(stage: AttackStage, service: ServerProcess): Promise<void> {
  const key = await stage.makeKey(service, "victim", ["score:read", "outcomes:write"]);
  for (let n = 0; n < 20; n++) {
    const content_hash = `sha256:${createHash("sha256").update(String(n)).digest("hex")}`;
    const told = { agent_id: "agent://victim/writer", action: "report.write", content_hash };
    const note = { key, body: { ...told, cited_sources: [`doc:${n}`] } };
    await expectStatus(stage.ask(service, "/v1/provenance", note), 202);
    const asked = { agent_id: "agent://test/refuse", action: "payments.wire", tool_level: "L3" };
    const headers = { "x-request-id": `victim-${n}` };
    const verdict = { key, headers, body: { ...asked, context: {} } };
    await expectStatus(stage.ask(service, "/v1/trust/verify", verdict), 200);
  }
  const open = "SELECT request_id FROM reviews WHERE resolution IS NULL ORDER BY 1 LIMIT 5";
  for (const [id] of await sql(stage, service, open)) {
    const body = { resolution: "upheld", note: `seen ${String(id)}` };
    await expectStatus(stage.ask(service, `/v1/reviews/${String(id)}`, { body }), 200);
  }
}

/** All rows of each view that others have: how many, and a hash over them. */
async function digests(stage: AttackStage, service: ServerProcess): Promise<Map<string, string>> {
  const found = new Map<string, string>();
  for (const view of VIEWS) {
    const [row] = await sql(
      stage,
      service,
      `SELECT count(*), bit_xor(hash(r)) FROM (FROM ${view}) AS r`,
    );
    found.set(view, JSON.stringify(row));
  }
  return found;
}

async function compare(
  stage: AttackStage,
  service: ServerProcess,
  before: ReadonlyMap<string, string>,
  when: string,
  broken: string[],
): Promise<void> {
  const now = await digests(stage, service);
  for (const [view, rows] of before) {
    if (now.get(view) !== rows) broken.push(`${view} ${when}: ${now.get(view)}, not ${rows}`);
  }
}

async function attack(stage: AttackStage, service: ServerProcess, key: string): Promise<void> {
  let isOver = false;
  const querying = Array.from({ length: QUERIES_AT_ONCE }, async () => {
    while (!isOver) {
      // Refused or not: it is the memory that it is about.
      await stage.ask(service, "/v1/query", { key, body: { sql: HEAVY } }).catch(() => undefined);
      await delay(20);
    }
  });
  const count = stage.isShort ? BATCHES_SHORT : BATCHES;
  for (let batch = 0; batch < count; batch++) {
    const rows = Array.from({ length: BATCH }, (_, n) => ({
      subject: `agent://m/${batch % 50}-${n % 20}`,
      reporter: "agent://mallory/r",
      outcome: 1,
      stakes: 1,
      grade: "self",
      id: randomBytes(ID_BYTES / 2).toString("hex"),
      action: "order.place",
      request_id: randomBytes(REQUEST_ID_BYTES / 2).toString("hex"),
    }));
    const reply = await stage.ask(service, "/v1/outcomes/batch", { key, body: rows });
    if (reply.status === 503) await delay(1000);
    else if (!reply.text.includes('"position"')) {
      throw new Error(`${reply.status} ${reply.text.slice(0, 300)}`);
    }
  }
  isOver = true;
  await Promise.all(querying);
}

async function expectStatus(asked: Promise<{ status: number; text: string }>, status: number) {
  const reply = await asked;
  if (reply.status !== status) throw new Error(`${reply.status} ${reply.text.slice(0, 300)}`);
}
