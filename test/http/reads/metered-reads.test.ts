// The meter against its clients: of 10,000 mixed requests over eight connections to a service of two HTTP
// threads, `GET /v1/usage` says what the answers gave, kind by kind and exactly.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { PAID_READS, type PaidRead } from "../../../src/contract/usage.ts";
import { endAll } from "../../cli/_process.ts";
import { seededRandom } from "../../ledger/_fixtures.ts";
import { WAIT_MS_MAX } from "../../_patience.ts";
import { type Answer, Connection, startThreads } from "../../threads/http/_service.ts";

const REQUESTS = 10_000;
const CONNECTIONS = 8;
const AGENTS = Array.from({ length: 40 }, (_, n) => `agent://market/seller-${n}`);
const TEST_AGENT = "agent://test/connect";
const folder = mkdtempSync(path.join(tmpdir(), "trustrank-meter-"));

let url = "";
let key = "";

beforeAll(async () => {
  ({ url } = await startThreads(path.join(folder, "data"), {}));
  const admin = new Connection(url);
  const scopes = ["score:read", "outcomes:write", "analytics:read"];
  ({ key } = (await admin.ask("/v1/keys", { body: { tenant: "acme", scopes } })).json);
  for (const [n, subject] of AGENTS.entries()) {
    const told = { reporter: "agent://voice/v", stakes: 10, grade: "counterparty" };
    const body = { ...told, subject, outcome: n % 3 === 0 ? 0 : 1 };
    const { status, text } = await admin.ask("/v1/outcomes", { key, body });
    if (status !== 201) throw new Error(text);
  }
  const isListed = async () =>
    expect((await admin.ask("/v1/agents?limit=0", { key })).json.total).toBeGreaterThan(39);
  await vi.waitFor(isListed, { timeout: WAIT_MS_MAX });
  admin.close();
}, WAIT_MS_MAX);
afterAll(async () => {
  await endAll();
  rmSync(folder, { recursive: true, force: true });
});

type Counts = Partial<Record<PaidRead | "test", number>>;

interface Request {
  readonly path: string;
  readonly method?: string;
  readonly headers?: Record<string, string>;
  readonly body?: unknown;
  /** What an answer of that request gave. */
  readonly count: (answer: Answer) => Counts;
}

const isAnswered = ({ status }: Answer) => status === 200 || status === 403;
const one =
  (kind: PaidRead | "test") =>
  (answer: Answer): Counts =>
    isAnswered(answer) ? { [kind]: 1 } : {};

/** A request by two numbers from 0 to 1: which kind, and which variant of it. */
function makeRequest(kind: number, variant: number): Request {
  const agent = variant < 0.1 ? TEST_AGENT : AGENTS[Math.floor(variant * AGENTS.length)]!;
  const other = AGENTS[Math.floor(variant * 7919) % AGENTS.length]!;
  const isTest = agent === TEST_AGENT;
  const paidAs = (name: PaidRead) => one(isTest ? "test" : name);
  const id = encodeURIComponent(agent);
  const verify = { agent_id: agent, action: "orders.place", tool_level: "L2", context: {} };
  const evaluation = {
    subject: { type: "agent", id: agent },
    action: { name: "orders.place" },
    resource: { type: "tool", id: "orders", properties: { tool_level: "L1" } },
  };
  const steps: readonly [share: number, make: () => Request][] = [
    [0.3, () => ({ path: "/v1/trust/verify", body: verify, count: paidAs("verify") })],
    [
      0.05,
      () => ({
        path: "/v1/trust/verify/batch",
        body: { items: [verify, { ...verify, agent_id: other }, { agent_id: 1 }] },
        count: ({ status }) =>
          status !== 200 ? {} : isTest ? { verify: 1, test: 1 } : { verify: 2 },
      }),
    ],
    [
      0.15,
      () => ({ path: "/v1/check", body: { subject: agent, stakes: 5 }, count: paidAs("check") }),
    ],
    [
      0.1,
      () => ({
        path: "/v1/handshake",
        body: { initiator: other, counterparty: agent, stakes: 5 },
        count: paidAs("handshake"),
      }),
    ],
    [0.1, () => ({ path: `/v1/agents/${id}`, count: paidAs("explain") })],
    // Reads of the store, each of which takes as long as some twenty verdicts, are the fewest.
    [
      0.04,
      () => ({
        path: `/v1/agents?limit=${Math.floor(variant * 30)}&order=-score`,
        count: ({ status, json }) => (status === 200 ? { list: json.agents.length } : {}),
      }),
    ],
    [
      0.01,
      () => ({
        path: `/v1/agents?prefix=${encodeURIComponent(other)}&tier=A`,
        count: ({ status, json }) =>
          status === 200 ? { list: Math.max(1, json.agents.length) } : {},
      }),
    ],
    // One agent's: its name begins no other's.
    [0.01, () => ({ path: `/v1/agents?prefix=${AGENTS[39]}`, method: "HEAD", count: one("list") })],
    [
      0.02,
      () => ({
        path: `/v1/agents/${encodeURIComponent(other)}/history`,
        count: ({ status, json }) =>
          status === 200 &&
          json.days.some((day: { score_from: unknown }) => day.score_from !== null)
            ? { history: 1 }
            : {},
      }),
    ],
    [
      0.08,
      () => ({
        path: `/v1/gateway/authorize?profile=nginx&tool_level=L2&agent_id=${id}`,
        count: paidAs("verify"),
      }),
    ],
    [
      0.05,
      () => ({
        path: "/access/v1/evaluations",
        body: { evaluations: [evaluation, evaluation] },
        count: ({ status }) => (status !== 200 ? {} : isTest ? { test: 2 } : { verify: 2 }),
      }),
    ],
    [
      0.03,
      () => ({ path: "/v1/check", body: { subject: "agent://", stakes: 5 }, count: one("check") }),
    ],
    [
      0.004,
      () => ({
        path: "/v1/query",
        body: { sql: variant < 0.5 ? "SELECT * FROM agents" : "SELECT error(agent) FROM agents" },
        // A rejection of what ran says something of the rows.
        count: ({ status }) => (status === 200 || status === 422 ? { query: 1 } : {}),
      }),
    ],
    [
      0.004,
      () => ({
        path: "/v1/query",
        body: { sql: "SELECT count(*) FROM outcomes" },
        count: () => ({}),
      }),
    ],
    [0.004, () => ({ path: "/v1/export/agents", count: one("export") })],
  ];
  let left = kind;
  for (const [share, make] of steps) {
    if (left < share) return make();
    left -= share;
  }
  return steps[0]![1]();
}

it("counts what the answers gave, exactly", async () => {
  const random = seededRandom(44);
  const given: Record<string, number> = {};
  const statuses: Record<number, number> = {};
  let sent = 0;
  const work = async (connection: Connection) => {
    while (sent < REQUESTS) {
      sent += 1;
      const { path: route, count, ...request } = makeRequest(random(), random());
      const answer = await connection.ask(route, { key, ...request });
      statuses[answer.status] = (statuses[answer.status] ?? 0) + 1;
      for (const [kind, n] of Object.entries(count(answer))) given[kind] = (given[kind] ?? 0) + n;
    }
    connection.close();
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, () => work(new Connection(url))));
  expect(sent).toBe(REQUESTS);
  expect(statuses[200], JSON.stringify(statuses)).toBeGreaterThan(REQUESTS / 2);
  const connection = new Connection(url);
  const { json } = await connection.ask("/v1/usage", { key });
  connection.close();
  const { reads, paid_reads, test_reads } = json.keys[0];
  expect({ ...reads, test: test_reads }, JSON.stringify(statuses)).toEqual(given);
  expect(Object.keys(given).toSorted()).toEqual([...PAID_READS, "test"].toSorted());
  expect(paid_reads).toBe(PAID_READS.reduce((sum, kind) => sum + given[kind]!, 0));
}, 600_000);
