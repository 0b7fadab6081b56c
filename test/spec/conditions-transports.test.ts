// Promises to operators who command, over gRPC and MCP: what is suspended or stopped is refused there from the next
// request on, and what is lifted is answered as before. A real service with its sample history.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type McpListener, serveMcpHttp } from "../../src/mcp/server.ts";
import { stretched } from "../_patience.ts";
import { endAll, startCommand } from "../cli/_process.ts";
import { connect, type Envoy } from "../http/grpc/_envoy.ts";

const KEY = "condition-transports-admin-key-0123456789abcd";
const AGENT = "agent://acme/ledger-sync";
const OTHER = "agent://hooli/search-agent";
const folder = mkdtempSync(path.join(tmpdir(), "trustrank-condition-transports-"));

let url: string;
let envoy: Envoy;
let listener: McpListener;
let mcp: Client;

beforeAll(async () => {
  const flags = ["--port", "0", "--grpc-port", "0", "--http-threads", "2", "--json"];
  const started = startCommand(["serve", ...flags, "--data-dir", path.join(folder, "data")], {
    TRUSTRANK_ADMIN_KEY: KEY,
    TRUSTRANK_KAIZEN: "off",
  });
  const facts = JSON.parse(await started.firstLine) as { url: string; grpc_port: number };
  ({ url } = facts);
  envoy = connect(facts.grpc_port);
  const options = { baseUrl: url, version: "0.0.0", allowsReports: false };
  listener = await serveMcpHttp(options, { host: "127.0.0.1", port: 0 });
  mcp = new Client({ name: "conditions", version: "1" });
  const requestInit = { headers: { Authorization: `Bearer ${KEY}` } };
  await mcp.connect(new StreamableHTTPClientTransport(new URL(listener.url), { requestInit }));
}, stretched(60_000));

afterAll(async () => {
  await mcp?.close();
  await listener?.close();
  envoy?.close();
  await endAll();
  rmSync(folder, { recursive: true, force: true });
});

async function send(method: string, route: string, body?: unknown): Promise<void> {
  const response = await fetch(url + route, {
    method,
    headers: { authorization: `Bearer ${KEY}`, "content-type": "application/json" },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  expect([method, route, response.status]).toEqual([method, route, 200]);
}

const callTool = async (name: string, given: Record<string, unknown>) => {
  const { structuredContent } = await mcp.callTool({ name, arguments: given });
  return structuredContent as Record<string, unknown>;
};

/** Whether it was let through, and all that was said of it but what is new in every answer. */
interface Told {
  readonly isAllowed: boolean;
  readonly words: unknown;
}

/** By transport: the agent asks to place an order at L2, or is asked about. */
const TRANSPORTS: Readonly<Record<string, () => Promise<Told>>> = {
  "Envoy over gRPC": async () => {
    const { httpStatus, metadata } = await envoy.check(
      {
        attributes: {
          source: { principal: AGENT },
          request: { http: { method: "POST" } },
          context_extensions: { tool_level: "L2", action: "order.place" },
        },
      },
      { metadata: { authorization: `Bearer ${KEY}` } },
    );
    const { verdict, reason, effective } = metadata;
    return { isAllowed: httpStatus === 200, words: [httpStatus, verdict, reason, effective] };
  },
  "MCP check_agent": async () => {
    const given = { agent_id: AGENT, stakes: 5 };
    const { decision, allowed, reason_codes: codes } = await callTool("check_agent", given);
    return { isAllowed: allowed === true, words: [decision, codes] };
  },
  "MCP handshake": async () => {
    const given = { initiator: AGENT, counterparty: OTHER, stakes: 5 };
    const { decision, connected, a_to_b, b_to_a } = await callTool("handshake", given);
    const codes = [a_to_b, b_to_a].map((leg) => (leg as { reason_codes: string[] }).reason_codes);
    return { isAllowed: connected === true, words: [decision, codes] };
  },
};

describe.each(Object.entries(TRANSPORTS))("%s", (_transport, ask) => {
  const suspension = { state: "suspended", reason: { code: "fraud" } };
  const stop = { above: "L1", reason: { code: "incident" } };

  it.each([
    ["a suspension", `/v1/agents/${encodeURIComponent(AGENT)}/condition`, suspension, "SUSPENDED"],
    ["a suspended namespace", "/v1/namespaces/acme/condition", suspension, "SUSPENDED"],
    ["a stop", "/v1/stop", stop, "STOPPED"],
  ])("%s refuses, and lifted all is as before", async (_what, route, body, code) => {
    const before = await ask();
    expect(before.isAllowed).toBe(true);
    await send("PUT", route, body);
    const held = await ask();
    expect(held.isAllowed).toBe(false);
    expect(JSON.stringify(held.words)).toContain(code);
    await send("DELETE", route);
    expect(await ask()).toEqual(before);
  });
});

it("MCP authorize_action names the condition that refuses, and no longer once it is lifted", async () => {
  const ask = () => callTool("authorize_action", { agent_id: AGENT, action: "order.place" });
  const codes = async () => JSON.stringify(await ask());
  expect(await codes()).not.toContain("SUSPENDED");
  const route = `/v1/agents/${encodeURIComponent(AGENT)}/condition`;
  await send("PUT", route, { state: "suspended", reason: { code: "fraud" } });
  expect(await ask()).toMatchObject({ decision: false });
  expect(await codes()).toContain("SUSPENDED");
  await send("DELETE", route);
  expect(await codes()).not.toContain("SUSPENDED");
});
