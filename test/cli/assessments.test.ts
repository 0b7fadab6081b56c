// Repeated findings on an agent's texts, through a real service with two HTTP threads and a pool:
// the operator's own keys tell on it, wherever they ask, each text once; nobody else does by asking.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterAll, beforeAll, expect, test } from "vitest";

import { endAll } from "./_process.ts";
import { connectToBoth, startThreads } from "../threads/http/_service.ts";
import type { Connection, Service } from "../threads/http/_service.ts";

const folder = mkdtempSync(join(tmpdir(), "trustrank-assessments-"));
const data = join(folder, "data");
const BATCH = 1000;
const SOURCE = "Acme Corp reported revenue of 4.2 million dollars in 2023. It employs 310 people.";
const CONTRADICTION = "Acme Corp reported revenue of 9.7 million dollars in 2023.";
/** Nothing in the source says otherwise, and nothing says so. */
const DOUBTFUL = `${SOURCE} Its founder Bob Smith was arrested in Tokyo for theft.`;
/** Its check digit is wrong. */
const NO_BOOK = "isbn:9780306406158";

let service: Service;
let both: [Connection, Connection];

beforeAll(async () => {
  service = await startThreads(data);
  both = await connectToBoth(service.url);
});
afterAll(async () => {
  for (const connection of both) connection.close();
  await endAll();
  rmSync(folder, { recursive: true, force: true });
});

async function makeKey(tenant: string, isFirstParty: boolean) {
  const scopes = ["score:read", "outcomes:write", "evidence:write", "analytics:read"];
  const body = { tenant, scopes, first_party: isFirstParty };
  const made = await both[0].ask("/v1/keys", { body });
  expect(made.status, made.text).toBe(201);
  return made.json as { key: string; key_id: string };
}

/** A text that cites a book that cannot exist. */
const invented = (agent: string, content: string) => ({
  agent_id: agent,
  action: "report.write",
  tool_level: "L2",
  context: { content, cited_sources: [NO_BOOK] },
});

async function explain(agent: string) {
  const { json } = await both[0].ask(`/v1/agents/${encodeURIComponent(agent)}`);
  return json as {
    internal_score: number;
    assessments: { false_content: number; bad_sources: number; last_assessed_at: string | null };
  };
}

/** Sum over all threads. */
async function gauge(fate: string): Promise<number> {
  const { text } = await both[0].ask("/metrics");
  return Number(new RegExp(`^trustrank_assessments_${fate}_total (\\d+)$`, "m").exec(text)?.[1]);
}

async function rows(sql: string, key?: string): Promise<unknown[][]> {
  const { json } = await both[0].ask("/v1/query", { body: { sql }, ...(key ? { key } : {}) });
  return (json as { rows: unknown[][] }).rows;
}

test("an ordinary key asks 10,000 times with invented texts: no trace, the score unmoved", async () => {
  const agent = "agent://acme/ledger-sync";
  const { key } = await makeKey("acme", false);
  const before = await explain(agent);
  for (let from = 0; from < 10_000; from += BATCH) {
    const items = Array.from({ length: BATCH }, (_, n) => invented(agent, `lie ${from + n}`));
    const { json } = await both[1].ask("/v1/trust/verify/batch", { key, body: { items } });
    expect(json.items[BATCH - 1].result.reason_codes).toContain("SOURCE_MALFORMED");
  }
  for (const each of both) {
    const { json } = await each.ask("/v1/trust/verify", { key, body: invented(agent, "a lie") });
    expect(json.policy_action.log_reason).toBe("SOURCE_MALFORMED");
  }
  expect(await explain(agent)).toMatchObject({
    internal_score: before.internal_score,
    assessments: { false_content: 0, bad_sources: 0, last_assessed_at: null },
  });
  expect(await gauge("recorded")).toBe(0);
  expect(await gauge("dropped")).toBe(0);
});

test("a first-party key asks the same text 1,000 times: it counts once", async () => {
  const agent = "agent://texts/repeated";
  const { key } = await makeKey("house", true);
  const items = Array.from({ length: BATCH }, () => invented(agent, "the same"));
  await both[1].ask("/v1/trust/verify/batch", { key, body: { items } });
  for (const each of both) await each.ask("/v1/trust/verify", { key, body: items[0] });
  await expect.poll(() => gauge("repeated")).toBe(BATCH + 1);
  expect(await gauge("recorded")).toBe(1);
  const { assessments } = await explain(agent);
  expect(assessments.bad_sources).toBeCloseTo(1, 4);
  expect(assessments.false_content).toBe(0);
});

test("every way of asking tells, and a tenant's rows are its own", async () => {
  const agent = "agent://texts/liar";
  const house = await makeKey("market", true);
  const other = await makeKey("elsewhere", true);
  const ask = (to: Connection, path: string, body: unknown, key = house.key) =>
    to.ask(path, { key, body });
  const document = {
    text: SOURCE,
    kind: "text",
  };
  const put = await both[0].ask("/v1/evidence/doc:acme", {
    method: "PUT",
    key: house.key,
    body: document,
  });
  expect(put.status, put.text).toBe(201);
  const verify = (content: string, more: object = {}) => ({
    ...invented(agent, content),
    context: { content, ...more },
  });
  const before = await gauge("recorded");
  const cites = { cited_sources: ["doc:acme"] };
  // Number against number; an identifier that cannot exist; a doubt; nothing at all.
  await ask(both[0], "/v1/trust/verify", verify(CONTRADICTION, cites));
  await ask(both[1], "/v1/trust/verify", verify("Cited badly.", { cited_sources: [NO_BOOK] }));
  const doubted = await ask(both[1], "/v1/trust/verify", verify(DOUBTFUL, cites));
  expect(doubted.json.reason_codes).toContain("UNSUPPORTED_CONTENT");
  expect(doubted.json.provenance_data.is_hallucinated).toBe(false);
  await ask(
    both[0],
    "/v1/trust/verify",
    verify("Unknown sources.", { cited_sources: ["doc:none"] }),
  );
  const items = Array.from({ length: 150 }, (_, n) => invented(agent, `pooled ${n % 3}`));
  await ask(both[0], "/v1/trust/verify/batch", { items });
  await ask(both[1], "/access/v1/evaluation", {
    subject: { type: "agent", id: agent },
    action: { name: "report.write" },
    resource: { type: "report", id: "1", properties: { tool_level: "L2" } },
    context: { content: "by AuthZEN", cited_sources: [NO_BOOK] },
  });
  await ask(both[0], "/v1/trust/verify", invented(agent, "pooled 0"), other.key);
  await expect.poll(async () => (await gauge("recorded")) - before).toBe(7);
  const { assessments } = await explain(agent);
  expect(assessments.bad_sources).toBeGreaterThan(4);
  expect(assessments.false_content).toBeGreaterThan(0.5);
  const sql = `SELECT tenant, code, feature, count(*) FROM assessments
    WHERE agent = '${agent}' GROUP BY ALL ORDER BY ALL`;
  const own = [
    ["market", "SOURCE_MALFORMED", "unverified", 5],
    ["market", "UNSUPPORTED_CONTENT", "hallucination", 1],
  ];
  const theirs = ["elsewhere", "SOURCE_MALFORMED", "unverified", 1];
  await expect.poll(() => rows(sql)).toEqual([theirs, ...own]);
  expect(await rows(sql, house.key)).toEqual(own);

  // A revoked API key's assessments stay, as its outcomes do; and so do all after a start.
  const revoked = await both[0].ask(`/v1/keys/${house.key_id}`, { method: "DELETE" });
  expect(revoked.status).toBe(200);
  const was = await explain(agent);
  for (const connection of both) connection.close();
  service.started.process.kill("SIGTERM");
  await service.started.ended;
  service = await startThreads(data);
  both = await connectToBoth(service.url);
  const is = await explain(agent);
  expect(is.assessments.last_assessed_at).toBe(was.assessments.last_assessed_at);
  expect(is.assessments.false_content).toBeCloseTo(was.assessments.false_content, 4);
  expect(is.assessments.bad_sources).toBeCloseTo(was.assessments.bad_sources, 4);
  const { json } = await both[0].ask("/v1/trust/verify", { body: verify("Harmless.") });
  expect(json.reason_codes).toContain("UNVERIFIED_SOURCES");
});
