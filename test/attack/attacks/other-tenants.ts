// Objects of another tenant through every door that a tenant's keys open: decisions, reviews, sources,
// labels, policies, exports by their identifiers, and SQL that tries to leave its own views. Every text
// of the other tenant is marked, and no reply may hold the mark; nothing of it may change.
import { existsSync } from "node:fs";
import path from "node:path";
import type { Attack } from "../attack.ts";
import type { ServerProcess } from "../../../bench/server-process.ts";
import { statements } from "../material/statements.ts";
import type { AttackStage } from "../stage.ts";

/** In every text of the other tenant, and nowhere else. */
const MARK = "zebra";
const MARKS = new RegExp(`${MARK}|root:x:0|TRUSTRANK_ADMIN_KEY|ELF`);
const ATTACKERS_SCOPES = [
  "score:read",
  "outcomes:write",
  "evidence:write",
  "keys:write",
  "analytics:read",
];
/** Statements in the short form: every so many-th. */
const SHORT_EVERY = 12;
/** Queries at once: the service's line of queries takes some more. */
const LANES = 4;

export const otherTenants: Attack = {
  name: "other-tenants",
  what: "a tenant asks for another's objects by their ids, and for its rows and files by SQL",
  play: (stage) =>
    stage.watchedOnBoth(async (service, adapter) => {
      const victim = await stage.makeKey(service, MARK, ATTACKERS_SCOPES);
      const attacker = await stage.makeKey(service, "attacker", ATTACKERS_SCOPES);
      const requestId = await fill(stage, service, victim, adapter);
      const before = await stateOf(stage, service);
      const broken: string[] = [];
      const judge = (what: string, text: string) => {
        const mark = MARKS.exec(text)?.[0];
        if (mark !== undefined) broken.push(`${what}: the reply holds \`${mark}\``);
      };
      const doors = doorsTo(requestId, adapter);
      for (const [what, asking] of doors) {
        const { status, text } = await stage.ask(service, what, { key: attacker, ...asking });
        // What was asked for is repeated in a refusal's detail: it is known to who asked.
        judge(what, status >= 400 ? "" : text);
        if (status >= 500) broken.push(`${what}: ${status}`);
      }
      const sql = await askAll(stage, service, attacker, judge);
      broken.push(...sql.broken);
      const after = await stateOf(stage, service);
      if (after !== before) broken.push(`the other's rows changed: ${before} to ${after}`);
      if (existsSync("/tmp/trustrank-attack-out.csv")) broken.push("a file was written");
      return { broken, figures: { doors: doors.length, statements: sql.count } };
    }),
};

/** Rows and objects of the other tenant; the id of a decision of it. */
async function fill(
  stage: AttackStage,
  service: ServerProcess,
  key: string,
  adapter: string,
): Promise<string> {
  const context = { content: `a ${MARK} text`, cited_sources: [`doc:${adapter}`] };
  const agent_id = `agent://${MARK}-shop/seller`;
  const asked = { agent_id, action: "order.place", tool_level: "L3", context };
  const source = { text: `the ${MARK} report of the year`, title: `a ${MARK} title` };
  await stage.ask(service, `/v1/evidence/doc:${adapter}`, { method: "PUT", key, body: source });
  const { text } = await stage.ask(service, "/v1/trust/verify", { key, body: asked });
  const reporter = `agent://${MARK}-shop/buyer`;
  const outcomes = Array.from({ length: 20 }, (_, at) => ({
    subject: `agent://${MARK}-shop/${at}`,
    reporter,
    outcome: at % 2,
    stakes: 5,
    grade: "counterparty",
    id: `${MARK}-${adapter}-${at}`,
  }));
  const posted = await stage.ask(service, "/v1/outcomes/batch", { key, body: outcomes });
  if (posted.status !== 200) throw new Error(`the other's outcomes: ${posted.text}`);
  const record = {
    agent_id,
    action: "write.report",
    content_hash: `sha256:${"ab".repeat(32)}`,
    cited_sources: [],
  };
  await stage.ask(service, "/v1/provenance", { key, body: record });
  const query = { allow_inverted: false };
  await stage.ask(service, `/v1/policy?tenant=${MARK}`, { method: "PUT", body: query });
  // Until they are rows.
  for (let count = 0; count < 20;) count = Number((await stateOf(stage, service)).split(" ")[0]);
  return (JSON.parse(text) as { request_id: string }).request_id;
}

/** The other tenant's rows as an operator sees them. */
async function stateOf(stage: AttackStage, service: ServerProcess): Promise<string> {
  const sql = `SELECT count(*), coalesce(sum(stakes), 0) FROM outcomes WHERE tenant = '${MARK}'`;
  const { text } = await stage.ask(service, "/v1/query", { body: { sql } });
  const { rows } = JSON.parse(text) as { rows?: unknown[][] };
  if (rows === undefined) throw new Error(`the operator's query: ${text}`);
  return rows[0]!.join(" ");
}

interface Door {
  method?: string;
  body?: object;
}

/** Requests that name the other tenant's objects. */
function doorsTo(requestId: string, adapter: string): [string, Door][] {
  const sha256 = `sha256:${"ab".repeat(32)}`;
  const source = `doc:${adapter}`;
  const cited = {
    agent_id: "agent://acme/ledger-sync",
    action: "order.place",
    tool_level: "L1",
    context: { content: "the report of the year", cited_sources: [source] },
  };
  const labels = { items: [{ content: "x", cited_sources: [source], label: "grounded" }] };
  const views = ["outcomes", "decisions", "outcome_rows", "decision_rows", "..%2Foutcomes"];
  return [
    [`/v1/decisions/${requestId}`, {}],
    [`/v1/decisions/${requestId}/replay`, { method: "POST", body: {} }],
    ["/v1/decisions?limit=1000", {}],
    [`/v1/decisions?agent=agent://${MARK}-shop/seller`, {}],
    ["/v1/reviews?limit=1000", {}],
    [`/v1/reviews/${requestId}`, { method: "POST", body: { resolution: "upheld" } }],
    ["/v1/evidence", {}],
    [`/v1/evidence/${source}`, {}],
    [`/v1/evidence/${source}`, { method: "PUT", body: { sha256 } }],
    [`/v1/evidence/${source}`, { method: "DELETE" }],
    ["/v1/vault/labels", { method: "POST", body: labels }],
    ["/v1/vault/thresholds", {}],
    ["/v1/vault/root", {}],
    ["/v1/trust/verify", { method: "POST", body: cited }],
    [`/v1/policy?tenant=${MARK}`, {}],
    [`/v1/policy?tenant=${MARK}`, { method: "PUT", body: {} }],
    ["/v1/policy/backtests", {}],
    ["/v1/keys", {}],
    ["/v1/usage", {}],
    ...views.flatMap((view): [string, Door][] => [
      [`/v1/export/${view}/days`, {}],
      [`/v1/export/${view}?day=${new Date().toISOString().slice(0, 10)}`, {}],
    ]),
  ];
}

async function askAll(
  stage: AttackStage,
  service: ServerProcess,
  key: string,
  judge: (what: string, text: string) => void,
): Promise<{ count: number; broken: string[] }> {
  const { dataDir } = service;
  const files = ["store/outcomes.duckdb", "bureau.key", "keys.json", "state.json"];
  const all = statements(files.map((name) => path.join(dataDir, name)));
  const asked = stage.isShort ? all.filter((_, at) => at % SHORT_EVERY === 0) : all;
  const broken: string[] = [];
  const waiting = [...asked];
  const lane = async () => {
    for (let sql = waiting.pop(); sql !== undefined; sql = waiting.pop()) {
      const accept = waiting.length % 5 === 0 ? { accept: "application/x-ndjson" } : {};
      const reply = await stage.ask(service, "/v1/query", { key, body: { sql }, headers: accept });
      // An error repeats the statement; the mark in it came from there.
      judge(sql, reply.text.replaceAll(sql, ""));
      if (reply.text.includes(dataDir) && !sql.includes(dataDir)) {
        broken.push(`${sql}: tells the data directory`);
      }
      if (reply.status >= 500 && reply.status !== 503) broken.push(`${sql}: ${reply.status}`);
    }
  };
  await Promise.all(Array.from({ length: LANES }, lane));
  return { count: asked.length, broken };
}
