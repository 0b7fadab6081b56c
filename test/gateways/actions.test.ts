// A policy's `actions` over every transport of a real service: HTTP, its batch, AuthZEN and its batch, the
// gateway route and MCP give one request the same entry and level.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { type McpListener, serveMcpHttp } from "../../src/mcp/server.ts";
import { type SampleService, startSampleService } from "../examples/_sample-service.ts";
import { ACTION_ROWS, ACTIONS } from "../policy/_actions.ts";
import type { ActionRow } from "../policy/_actions.ts";

const AGENT = "agent://globex/price-scout";
interface Decided {
  pointer: string | null;
  tool_level: string;
}
type Row = Readonly<ActionRow>;

let service: SampleService;
let listener: McpListener;
const keys = new Map<boolean, string>();
beforeAll(async () => {
  service = await startSampleService();
  const options = { baseUrl: service.baseUrl, version: "0.0.0", allowsReports: false };
  listener = await serveMcpHttp(options, { host: "127.0.0.1", port: 0 });
  await send(service.apiKey, "PUT", "/v1/policy?tenant=acme", { actions: ACTIONS });
  for (const isTrusted of [false, true]) {
    const made = await service.post<{ key: string }>("/v1/keys", {
      tenant: "acme",
      scopes: ["score:read", "analytics:read"],
      asserts_properties: isTrusted,
    });
    keys.set(isTrusted, made.key);
  }
});
afterAll(async () => {
  await listener.close();
  await service.stop();
});

function send(key: string, method: string, route: string, body?: unknown): Promise<Response> {
  return fetch(service.baseUrl + route, {
    method,
    headers: { Authorization: `Bearer ${key}`, "Content-Type": "application/json" },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
}

async function post(row: Row, route: string, body: unknown) {
  const answer = await send(keys.get(row.isTrusted)!, "POST", route, body);
  expect(answer.status).toBe(200);
  return (await answer.json()) as { [member: string]: unknown };
}

const verifyBody = ({ action, named, resource, env }: Row) => ({
  agent_id: AGENT,
  action,
  tool_level: named,
  ...(resource === undefined ? {} : { resource: { id: resource } }),
  context: env === undefined ? {} : { env },
});

const evaluation = ({ action, named, resource, env }: Row) => ({
  subject: { type: "agent", id: AGENT },
  action: { name: action, properties: named === undefined ? {} : { tool_level: named } },
  resource: { type: "any", id: resource ?? "" },
  context: env === undefined ? {} : { env },
});

const TRANSPORTS: Record<string, (row: Row) => Promise<Decided> | undefined> = {
  http: (row) =>
    row.named === undefined
      ? undefined
      : post(row, "/v1/trust/verify", verifyBody(row)).then(
          (body) => body["action_entry"] as Decided,
        ),
  batch: (row) =>
    row.named === undefined
      ? undefined
      : post(row, "/v1/trust/verify/batch", { items: [verifyBody(row)] }).then(
          (body) =>
            (body["items"] as [{ result: { action_entry: Decided } }])[0].result.action_entry,
        ),
  authzen: (row) =>
    post(row, "/access/v1/evaluation", evaluation(row)).then(
      (body) => (body["context"] as { action_entry: Decided }).action_entry,
    ),
  authzen_batch: (row) =>
    post(row, "/access/v1/evaluations", { evaluations: [evaluation(row)] }).then(
      (body) =>
        (body["evaluations"] as [{ context: { action_entry: Decided } }])[0].context.action_entry,
    ),
  gateway: (row) => (row.env === undefined ? askGateway(row) : undefined),
  mcp: (row) => (row.named === undefined ? askTool(row) : undefined),
};

/** A gateway gets a status; the level stands in the decision log. */
async function askGateway(row: Row): Promise<Decided> {
  const query = new URLSearchParams({ profile: "nginx", agent_id: AGENT, action: row.action });
  if (row.named !== undefined) query.set("tool_level", row.named);
  if (row.resource !== undefined) query.set("resource", row.resource);
  const key = keys.get(row.isTrusted)!;
  const answer = await send(key, "GET", `/v1/gateway/authorize?${query.toString()}`);
  expect([200, 403]).toContain(answer.status);
  const id = answer.headers.get("x-trust-request-id")!;
  const { legs } = await readDecision(key, id);
  const { action_entry: entry, tool_level } = legs[0]!;
  return { pointer: entry === null ? null : `/actions/${entry}`, tool_level };
}

interface LoggedDecision {
  legs: { action_entry: number | null; tool_level: string }[];
}

/** A machine under load may answer that its store is busy: the same question again. */
async function readDecision(key: string, id: string): Promise<LoggedDecision> {
  for (let asked = 0; asked < 20; asked += 1) {
    const answer = await send(key, "GET", `/v1/decisions/${id}`);
    const body = (await answer.json()) as LoggedDecision;
    if (answer.status !== 503) {
      expect({ status: answer.status, body }).toMatchObject({ status: 200 });
      return body;
    }
  }
  throw new Error("the store stays busy");
}

async function askTool(row: Row): Promise<Decided> {
  const client = new Client({ name: "tests", version: "1" });
  const headers = { Authorization: `Bearer ${keys.get(row.isTrusted)!}` };
  const transport = new StreamableHTTPClientTransport(new URL(listener.url), {
    requestInit: { headers },
  });
  await client.connect(transport);
  const { action, resource, env } = row;
  const context = env === undefined ? {} : { context: { env } };
  const given = { agent_id: AGENT, action, resource, ...context };
  const called = await client.callTool({ name: "authorize_action", arguments: given });
  await client.close();
  const answer = called.structuredContent as { context: { action_entry: Decided } };
  return answer.context.action_entry;
}

describe.each(Object.entries(TRANSPORTS))("over %s", (_name, ask) => {
  it("each row of the table gets its entry and its level", async () => {
    let asked = 0;
    for (const row of ACTION_ROWS) {
      const decided = ask(row);
      if (decided === undefined) continue;
      asked += 1;
      const pointer = row.entry < 0 ? null : `/actions/${row.entry}`;
      expect({ row, decided: await decided }).toMatchObject({
        decided: { pointer, tool_level: row.level },
      });
    }
    expect(asked).toBeGreaterThan(5);
  });
});

it("names the entry in the trace, and refuses an amount that is none at its pointer", async () => {
  const key = keys.get(false)!;
  const body = {
    agent_id: AGENT,
    action: "wire.transfer",
    tool_level: "L0",
    context: { amount: 7 },
  };
  const { request_id: id, action_entry: entry } = (await (
    await send(key, "POST", "/v1/trust/verify", body)
  ).json()) as { request_id: string; action_entry: { stakes: number } };
  expect(entry.stakes).toBe(7);
  const trace = await (await send(key, "GET", `/v1/decisions/${id}/trace`)).json();
  expect(trace).toMatchObject({ action_entry: { pointer: "/actions/3", entry: ACTIONS[3] } });
  const wrong = await send(key, "POST", "/v1/trust/verify", { ...body, context: { amount: "7" } });
  expect(wrong.status).toBe(400);
  expect(await wrong.json()).toMatchObject({ errors: [{ pointer: "/context/amount" }] });
});

it("a policy without actions still asks a gateway for a level", async () => {
  const route = "/v1/gateway/authorize?profile=nginx&action=a.b&agent_id=agent://a/b";
  const answer = await send(service.apiKey, "GET", route);
  expect(answer.status).toBe(400);
  expect(await answer.json()).toMatchObject({ errors: [{ pointer: "/tool_level" }] });
});
