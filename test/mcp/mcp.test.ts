// The MCP face with a real MCP client, over the command's standard input and output and over HTTP, on
// a real service with the sample history: asked, refused with reasons, reported, and every call in
// the decision log.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import * as mcp2 from "@modelcontextprotocol/client";
import { StdioClientTransport as StdioClientTransport2 } from "@modelcontextprotocol/client/stdio";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { serveMcpHttp, type McpListener } from "../../src/mcp/server.ts";
import { listTools } from "../../src/mcp/tools.ts";
import { ROOT, type SampleService, startSampleService } from "../examples/_sample-service.ts";
import { ENTRY } from "../cli/_process.ts";
import { WAIT_MS_MAX } from "../_patience.ts";

interface Called {
  isError?: boolean;
  content: { text: string }[];
  structuredContent?: Record<string, never>;
}

let service: SampleService;
let listener: McpListener;
beforeAll(async () => {
  service = await startSampleService();
  const options = { baseUrl: service.baseUrl, version: "0.0.0", allowsReports: true };
  listener = await serveMcpHttp(options, { host: "127.0.0.1", port: 0 });
});
afterAll(async () => {
  await listener.close();
  await service.stop();
});

function createStdioCommand(...flags: string[]) {
  const args = ["--disable-warning=ExperimentalWarning", ENTRY, "mcp", "--url", service.baseUrl];
  const env = { ...(process.env as Record<string, string>), TRUSTRANK_KEY: service.apiKey };
  return { command: process.execPath, args: [...args, ...flags], env, cwd: ROOT };
}

async function overStdio(...flags: string[]): Promise<Client> {
  const client = new Client({ name: "tests", version: "1" });
  await client.connect(new StdioClientTransport(createStdioCommand(...flags)));
  return client;
}

async function overHttp(key = service.apiKey): Promise<Client> {
  const client = new Client({ name: "tests", version: "1" });
  const headers = { Authorization: `Bearer ${key}` };
  const transport = new StreamableHTTPClientTransport(new URL(listener.url), {
    requestInit: { headers },
  });
  await client.connect(transport);
  return client;
}

const call = async (client: Client, name: string, given: Record<string, unknown>) =>
  (await client.callTool({ name, arguments: given })) as unknown as Called;

const REFUSED = "agent://test/refuse";
const SELLER = "agent://quickcash/loan-broker";

describe("over standard input and output", () => {
  it("asks, gets a refusal with reasons, reports, and stands in the decision log", async () => {
    const client = await overStdio("--allow-reports");
    const refused = await call(client, "check_agent", { agent_id: REFUSED, stakes: 500 });
    expect(refused.structuredContent).toMatchObject({ decision: "refuse", allowed: false });
    expect(refused.content[0]!.text).toContain("FAILURE_HISTORY");
    const held = await call(client, "check_agent", { agent_id: SELLER, stakes: 500 });
    const verdict = held.structuredContent!;
    expect(verdict).toMatchObject({ subject: SELLER, decision: "escalate", allowed: false });
    const reported = await call(client, "report_outcome", {
      subject: SELLER,
      reporter: "agent://acme/assistant",
      outcome: 0,
      stakes: 500,
      request_id: verdict["request_id"],
    });
    expect(reported.structuredContent).toMatchObject({ duplicate: false });
    await client.close();
    const logged = async () => {
      const { rows } = await service.post<{ rows: unknown[][] }>("/v1/query", {
        sql: `SELECT d.subject, d.decision, o.outcome FROM decisions d JOIN outcomes o
          USING (request_id) WHERE request_id = '${String(verdict["request_id"])}'`,
        format: "json",
      });
      return rows;
    };
    // The store follows the journal and the log; it is not asked to be ahead of them.
    await expect.poll(logged, { timeout: WAIT_MS_MAX }).toEqual([[SELLER, "escalate", 0]]);
  });

  it("offers reading tools alone unless reports are allowed", async () => {
    const client = await overStdio();
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toEqual([
      "check_agent",
      "authorize_action",
      "handshake",
      "explain_agent",
    ]);
    expect(tools.every(({ annotations }) => annotations?.readOnlyHint === true)).toBe(true);
    await expect(call(client, "report_outcome", {})).rejects.toThrow(/no tool `report_outcome`/);
    await client.close();
  });
});

describe("over HTTP", () => {
  it("judges both directions and explains, with the caller's key", async () => {
    const client = await overHttp();
    const both = await call(client, "handshake", {
      initiator: "agent://acme/ledger-sync",
      counterparty: REFUSED,
      stakes: 50,
    });
    expect(both.structuredContent).toMatchObject({ connected: false, decision: "refuse" });
    const explained = await call(client, "explain_agent", { agent_id: "agent://acme/ledger-sync" });
    expect(explained.structuredContent).toMatchObject({ agent_id: "agent://acme/ledger-sync" });
    const { contents } = await client.readResource({ uri: "trustrank://policy" });
    expect(JSON.parse((contents[0] as { text: string }).text)).toMatchObject({
      tenant: "operator",
    });
    const codes = await client.readResource({ uri: "trustrank://reason-codes" });
    expect((codes.contents[0] as { text: string }).text).toContain("THIN_FILE");
    await client.close();
  });

  it("says what is wrong with a question, and whose key may not ask", async () => {
    const client = await overHttp();
    const wrong = await call(client, "check_agent", { agent_id: "agent://no", stakes: -1 });
    expect(wrong.isError).toBe(true);
    // Each member once, by the name that the model gave it.
    const textOf = ({ content }: Called) => content[0]!.text;
    expect(textOf(wrong)).toMatch(/^invalid_request: agent_id: .*`; stakes: must be 0 to \d+$/);
    const unknown = await call(client, "explain_agent", { agent_id: "agent://no" });
    expect(textOf(unknown)).toMatch(/^invalid_parameter: agent identifier must be [^;]+$/);
    const half = await call(client, "handshake", { initiator: "agent://acme/x", stakes: 1 });
    expect(textOf(half)).toMatch(/^invalid_request: counterparty: [^;]+$/);
    await client.close();
    const stranger = await overHttp("tr_live_nobody");
    const refused = await call(stranger, "check_agent", { agent_id: SELLER, stakes: 5 });
    expect([refused.isError, refused.content[0]!.text]).toEqual([
      true,
      expect.stringMatching(/^unauthenticated: /),
    ]);
    await stranger.close();
  });

  it("answers each older protocol version in JSON with the version that was asked for", async () => {
    const headers = {
      Authorization: `Bearer ${service.apiKey}`,
      Accept: "application/json, text/event-stream",
      "Content-Type": "application/json",
    };
    for (const protocolVersion of ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"]) {
      const params = { protocolVersion, capabilities: {}, clientInfo: { name: "x", version: "1" } };
      const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "initialize", params });
      const answer = await fetch(listener.url, { method: "POST", headers, body });
      expect(answer.headers.get("content-type")).toBe("application/json");
      const capabilities = { tools: {}, resources: {} };
      expect(await answer.json()).toMatchObject({ result: { protocolVersion, capabilities } });
    }
  });

  it.each<[number, RequestInit & { path?: string }]>([
    [401, { method: "POST", body: "{}" }],
    [403, { method: "POST", headers: { Origin: "http://evil.example" } }],
    [404, { method: "POST", path: "/elsewhere" }],
    [405, { method: "GET" }],
    [413, { method: "POST", body: "x".repeat(65 * 1024), headers: { Authorization: "Bearer k" } }],
    [400, { method: "POST", body: "{", headers: { Authorization: "Bearer k" } }],
  ])("answers %d to what is no call of a client with a key", async (status, { path, ...init }) => {
    const url = path === undefined ? listener.url : new URL(path, listener.url);
    const answer = await fetch(url, init);
    expect([answer.status, await answer.json()]).toMatchObject([status, { jsonrpc: "2.0" }]);
  });
});

describe("for a client of protocol version 2026-07-28", () => {
  const createTransport = {
    stdio: () => new StdioClientTransport2(createStdioCommand("--allow-reports")),
    HTTP: () => {
      const requestInit = { headers: { Authorization: `Bearer ${service.apiKey}` } };
      return new mcp2.StreamableHTTPClientTransport(new URL(listener.url), { requestInit });
    },
  };
  it.each(["stdio", "HTTP"] as const)("gets the same tools over %s", async (face) => {
    const versionNegotiation = { mode: "auto" } as const;
    const client = new mcp2.Client({ name: "tests", version: "1" }, { versionNegotiation });
    await client.connect(createTransport[face]());
    expect(client.getNegotiatedProtocolVersion()).toBe("2026-07-28");
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toEqual(listTools(true).map(({ name }) => name));
    const given = { agent_id: REFUSED, stakes: 500 };
    const refused = await client.callTool({ name: "check_agent", arguments: given });
    expect(refused.structuredContent).toMatchObject({ decision: "refuse", allowed: false });
    const { contents } = await client.readResource({ uri: "trustrank://reason-codes" });
    expect(contents[0]).toMatchObject({ text: expect.stringContaining("THIN_FILE") as string });
    const unknown = { code: -32_602, message: expect.stringMatching(/no tool `x`/) as string };
    await expect(client.callTool({ name: "x" })).rejects.toMatchObject(unknown);
    // Nothing changes while the server runs: an open stream would only hold a connection.
    const listening = client.listen({ toolsListChanged: true });
    await expect(listening).rejects.toThrow(/limit reached/);
    await client.close();
  });
});

it("describes every input by a schema without open ends", () => {
  for (const { inputSchema } of listTools(true)) {
    expect(inputSchema).toMatchObject({ type: "object", additionalProperties: false });
  }
});
