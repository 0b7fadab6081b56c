// Agents, their days and outcomes over HTTP, in the service as it starts: what was reported a moment ago
// is listed, and a key sees its tenant's.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import type { ListedAgent, RecordedOutcome } from "../../../src/contract/schemas/agents.ts";
import { parseServeConfig } from "../../../src/service/settings/config.ts";
import { type Service, startService } from "../../../src/service/start.ts";
import { WAIT_MS_MAX } from "../../_patience.ts";

const ADMIN_KEY = "lists-of-agents-test-key-of-enough-length";
const dataDir = mkdtempSync(path.join(tmpdir(), "trustrank-agents-"));
const silent = { info: () => undefined, warn: () => undefined, error: () => undefined };
const ODD = "shop/a/b c?d#e <img>";
let service: Service;
let acme = "";
let globex = "";

beforeAll(async () => {
  const config = parseServeConfig(
    { port: "0", dataDir, sample: false },
    { TRUSTRANK_ADMIN_KEY: ADMIN_KEY },
  );
  service = await startService(config, silent, () => undefined);
  const scopes = ["score:read", "outcomes:write", "analytics:read"];
  acme = (await send("POST", "/v1/keys", { tenant: "acme", scopes })).body.key;
  globex = (await send("POST", "/v1/keys", { tenant: "globex", scopes })).body.key;
  for (const [n, subject] of ["agent://shop/one", "agent://shop/two", ODD].entries()) {
    await report(acme, subject, n === 1 ? 0 : 1);
  }
  await report(acme, "agent://shop/one", 1);
  await report(globex, "agent://market/three", 1);
  const isApplied = async () => expect(await outcomes(ADMIN_KEY)).toHaveLength(5);
  await vi.waitFor(isApplied, { timeout: WAIT_MS_MAX });
});
afterAll(async () => {
  await service?.close();
  rmSync(dataDir, { recursive: true, force: true });
});

async function send(method: string, route: string, body?: unknown, key = ADMIN_KEY) {
  const response = await fetch(service.url + route, {
    method,
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    body: body === undefined ? null : JSON.stringify(body),
  });
  return { status: response.status, body: JSON.parse(await response.text()) };
}

async function report(key: string, subject: string, outcome: number): Promise<void> {
  const told = { subject, reporter: "agent://voice/v", outcome, stakes: 10, grade: "counterparty" };
  expect((await send("POST", "/v1/outcomes", told, key)).status).toBe(201);
}

async function read<Answer>(route: string, key: string): Promise<Answer> {
  const { status, body } = await send("GET", route, undefined, key);
  expect(status, JSON.stringify(body)).toBe(200);
  return body as Answer;
}

const outcomes = async (key: string, query = "") =>
  (await read<{ outcomes: RecordedOutcome[] }>(`/v1/outcomes?${query}`, key)).outcomes;

interface Page {
  agents: ListedAgent[];
  total: number;
  next: string | null;
  as_of: string | null;
}

describe("agents over HTTP", () => {
  it("are listed page by page, with the scores that explain gives", async () => {
    const names: string[] = [];
    let after = "";
    for (let pages = 0; pages < 10; pages++) {
      const query = `limit=2&order=-outcomes${after}`;
      const page = await read<Page>(`/v1/agents?${query}`, ADMIN_KEY);
      names.push(...page.agents.map(({ agent_id }) => agent_id));
      expect([page.total, typeof page.as_of]).toEqual([4, "string"]);
      if (page.next === null) break;
      after = `&after=${encodeURIComponent(page.next)}`;
    }
    expect(names.toSorted()).toEqual(
      [ODD, "agent://market/three", "agent://shop/one", "agent://shop/two"].toSorted(),
    );
    const { agents } = await read<Page>("/v1/agents?contains=two", ADMIN_KEY);
    const explained = await read<Record<string, unknown>>("/v1/agents/agent://shop/two", ADMIN_KEY);
    const { agent_id, tier, internal_score } = explained;
    expect(agents).toMatchObject([{ agent_id, tier, internal_score, outcomes: 1 }]);
  });

  it("of a tenant are those it reported on", async () => {
    const { agents } = await read<Page>("/v1/agents", globex);
    const names = agents.map((agent) => agent.agent_id);
    expect(names).toEqual(["agent://market/three"]);
  });

  it.each([
    ["/v1/agents?tier=E", "invalid_parameter"],
    ["/v1/agents?after=x", "invalid_parameter"],
    ["/v1/agents/agent%3A%2F%2Fshop%2Fone/history?days=1000", "invalid_parameter"],
    ["/v1/outcomes?before=now", "invalid_parameter"],
  ])("refuse %s", async (route, code) => {
    expect(await send("GET", route)).toMatchObject({ status: 400, body: { code } });
  });

  it("want their scopes", async () => {
    const scopes = ["outcomes:write"];
    const { key } = (await send("POST", "/v1/keys", { tenant: "acme", scopes })).body;
    const routes = ["/v1/agents", "/v1/outcomes", "/v1/agents/agent%3A%2F%2Fa%2Fb/history"];
    for (const route of routes) {
      const { status, body } = await send("GET", route, undefined, key);
      expect([status, body.code]).toEqual([403, "insufficient_scope"]);
    }
  });
});

describe("a key that may only read scores", () => {
  let reader = "";
  beforeAll(async () => {
    reader = (await send("POST", "/v1/keys", { tenant: "reader", scopes: ["score:read"] })).body
      .key;
  });

  const paid = async () => {
    const { body } = await send("GET", "/v1/usage", undefined, reader);
    return body.keys[0].reads as Record<string, number>;
  };

  it("finds no agent of another tenant, however it asks", async () => {
    const orders = ["name", "score", "-score", "-outcomes", "-last_outcome"];
    const queries = [
      "limit=1000",
      "prefix=agent://shop/",
      "contains=o",
      "tier=REVIEW",
      "limit=0",
      ...orders.map((order) => `order=${order}&after=${encodeURIComponent("0~agent://")}`),
      ...orders.map((order) => `order=${order}&after=${encodeURIComponent("999999~a")}`),
    ];
    for (const query of queries) {
      const page = await read<Page>(`/v1/agents?${query}`, reader);
      expect([query, page.agents, page.total, page.next]).toEqual([query, [], 0, null]);
    }
    const history = `/v1/agents/${encodeURIComponent("agent://shop/one")}/history`;
    expect(await read<object>(history, reader)).toMatchObject({ days: [] });
    // An empty page that a tier or a score has chosen tells something of scores.
    expect(await paid()).toMatchObject({ list: 5, history: 0 });
  });

  it("lists what it has asked about, each agent a read", async () => {
    const before = await paid();
    for (const subject of ["agent://shop/one", "agent://market/three"]) {
      expect((await send("POST", "/v1/check", { subject, stakes: 5 }, reader)).status).toBe(200);
    }
    const total = async () => (await read<Page>("/v1/agents?limit=0", reader)).total;
    await expect.poll(total, { timeout: WAIT_MS_MAX }).toBe(2);
    expect(await paid(), "the total is free").toMatchObject({ list: before["list"] });
    const page = await read<Page>("/v1/agents?order=-score", reader);
    expect(page.agents.map(({ agent_id: agent }) => agent).toSorted()).toEqual([
      "agent://market/three",
      "agent://shop/one",
    ]);
    await read("/v1/agents?limit=1", reader);
    const headers = { authorization: `Bearer ${reader}`, "if-none-match": "*" };
    const head = await fetch(`${service.url}/v1/agents`, { method: "HEAD", headers });
    expect([head.status, head.headers.get("etag"), await head.text()]).toEqual([200, null, ""]);
    expect(await paid()).toMatchObject({ list: before["list"]! + 5, check: 2 });
    await read(`/v1/agents/${encodeURIComponent("agent://shop/one")}/history?days=400`, reader);
    expect(await paid()).toMatchObject({ history: 1 });
  });
});

describe("outcomes over HTTP", () => {
  it("are listed newest first, by subject and reporter, a tenant's own", async () => {
    const found = await outcomes(acme);
    expect(found.map(({ subject }) => subject)).toEqual([
      "agent://shop/one",
      ODD,
      "agent://shop/two",
      "agent://shop/one",
    ]);
    const about = await outcomes(acme, "subject=agent://shop/two");
    expect(about).toMatchObject([{ outcome: 0, stakes: 10, grade: "counterparty" }]);
    expect(await outcomes(globex, "subject=agent://shop/two")).toEqual([]);
    const page = await read<{ next: number }>("/v1/outcomes?limit=2", acme);
    const rest = await outcomes(acme, `before=${page.next}&reporter=agent://voice/v`);
    expect(rest).toEqual(found.slice(2));
  });
});

describe("an agent's days", () => {
  it("tell its outcomes, its decisions and its score, whatever it is called", async () => {
    const check = { subject: ODD, stakes: 5 };
    expect((await send("POST", "/v1/check", check, acme)).status).toBe(200);
    const id = encodeURIComponent(ODD);
    const daysOf = async (key: string) =>
      (await read<{ days: object[] }>(`/v1/agents/${id}/history?days=7`, key)).days;
    await expect
      .poll(() => daysOf(acme), { timeout: WAIT_MS_MAX })
      .toEqual([expect.objectContaining({ outcomes: 1, failures: 0, score_from: "decision" })]);
    expect(await daysOf(globex)).toEqual([]);
  });
});
