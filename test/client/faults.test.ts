// Every fault of the conformance kit, and a name that does not resolve, through everything that
// asks for a verdict, on real sockets: an outage is an outage everywhere, and nothing runs for it.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { checkApproval, handshakeApproval } from "../../src/client/gates/approval.ts";
import { TrustRankClient } from "../../src/client/client.ts";
import { type Fault, FaultProxy } from "../../src/client/conformance/fault-proxy.ts";
import { FAULTS } from "../../src/client/conformance/suite.ts";
import { TrustGateError, TrustRankError } from "../../src/client/errors.ts";
import { mutualHandshakeApproval, trustRankApproval } from "../../src/client/adapters/eve.ts";
import { TrustGateway } from "../../src/client/gateway/gateway.ts";
import { mcpTokenVerifier, mcpTool } from "../../src/client/adapters/mcp.ts";
import { outcomeReport } from "../../src/client/reporting/outcome-report.ts";
import { protectRoute } from "../../src/client/gateway/protect.ts";
import { trustGate, TrustGateUnavailableError } from "../../src/client/gates/trust-gate.ts";
import { withTrustRank } from "../../src/client/gates/with-trust-rank.ts";
import { rejection } from "./_replies.ts";
import { type Service, startTestService } from "./_service.ts";

const AGENT = "agent://test/connect";
const NOWHERE = "http://no-such-service.invalid";
/** Long enough for a fault to show itself, short enough to wait for silence. */
const BUDGET_MS = 400;

let service: Service;
let proxy: FaultProxy;
let ran: string[];
beforeAll(async () => {
  service = await startTestService();
  proxy = await FaultProxy.open(service.baseUrl);
});
afterAll(async () => {
  await proxy.close();
  await service.stop();
});
beforeEach(() => {
  ran = [];
});

const open = (baseUrl: string, timeoutMs: number) =>
  new TrustRankClient({ baseUrl, apiKey: service.apiKey, agentId: AGENT, timeoutMs });

const stakes = () => 5;
const agentId = () => AGENT;
const counterparty = () => AGENT;
const run = (name: string) => () => {
  ran.push(name);
  return new Response("ran");
};
const call = { toolName: "transfer", input: {}, callId: "call-1", principalId: AGENT };
const eveCall = {
  toolName: "transfer",
  callId: "call-1",
  session: { auth: { current: { principalId: AGENT } } },
};

/** Whatever asks for a verdict; each says in one word what came of it. */
const DOORS: Record<string, (client: TrustRankClient) => Promise<string>> = {
  check: (client) => outage(client.check(AGENT, { stakes: 5 })),
  handshake: (client) => outage(client.handshake(AGENT, AGENT, { stakes: 5 })),
  verify: (client) => outage(client.verify({ agent_id: AGENT, action: "a.b", tool_level: "L3" })),
  require: (client) => outage(client.require(AGENT, { stakes: 5 })),
  withTrustRank: (client) => outage(withTrustRank(run("function"), { agentId, stakes, client })()),
  trustGate: async (client) => {
    const gate = trustGate(() => ({ principalId: AGENT }), { client });
    const thrown = await rejection(gate(undefined));
    expect(thrown).toBeInstanceOf(TrustGateUnavailableError);
    return `status ${(thrown as TrustGateUnavailableError).response.status}`;
  },
  mcpTokenVerifier: (client) => {
    const inner = { verifyAccessToken: async () => ({ clientId: AGENT }) };
    return outage(mcpTokenVerifier(inner, { client }).verifyAccessToken("token"));
  },
  mcpTool: async (client) => {
    const policy = checkApproval({ stakes, agentId, client });
    const tool = mcpTool(run("tool"), { policy, toolName: "transfer" });
    return String("isError" in (await tool({}, {})) && "denied");
  },
  checkApproval: async (client) => (await checkApproval({ stakes, client })(call)).action,
  handshakeApproval: async (client) =>
    (await handshakeApproval({ stakes, counterparty, client })(call)).action,
  trustRankApproval: async (client) => (await trustRankApproval({ stakes, client })(eveCall)).type,
  mutualHandshakeApproval: async (client) =>
    (await mutualHandshakeApproval({ stakes, counterparty, client })(eveCall)).type,
  protectRoute: async (client) => {
    const gateway = new TrustGateway({
      client,
      log: (line: unknown) => console.error(line),
    } as never);
    const route = protectRoute(run("route"), { gateway, toolLevel: "L2", action: "a.b", agentId });
    const { status } = await route(new Request("http://app/"));
    // It follows the change feed, over connections that the next fault would close under others.
    gateway.close();
    return `status ${status}`;
  },
};
const CAME_OF_IT: Record<string, string> = {
  check: "outage",
  handshake: "outage",
  verify: "outage",
  require: "outage",
  withTrustRank: "outage",
  trustGate: "status 503",
  mcpTokenVerifier: "outage",
  mcpTool: "denied",
  checkApproval: "deny",
  handshakeApproval: "deny",
  trustRankApproval: "denied",
  mutualHandshakeApproval: "denied",
  protectRoute: "status 503",
};

/** An outage is a TrustRankError, never a verdict and never a refusal. */
async function outage(promise: Promise<unknown>): Promise<string> {
  const thrown = await rejection(promise);
  expect(thrown).not.toBeInstanceOf(TrustGateError);
  return thrown instanceof TrustRankError ? "outage" : String(thrown);
}

async function throughAll(client: TrustRankClient): Promise<Record<string, string>> {
  const entries = Object.entries(DOORS).map(async ([name, ask]) => [name, await ask(client)]);
  return Object.fromEntries(await Promise.all(entries)) as Record<string, string>;
}

describe.each(FAULTS.map(([name, fault]): [string, Fault] => [name, fault]))("%s", (_, fault) => {
  it("is an outage through every door, and nothing runs", async () => {
    await proxy.set(fault);
    expect(await throughAll(open(proxy.baseUrl, BUDGET_MS))).toEqual(CAME_OF_IT);
    expect(ran).toEqual([]);
  });
});

describe("a name that does not resolve", () => {
  it("is an outage through every door, and nothing runs", async () => {
    // Time enough for any resolver: it is the name that fails here, not the clock.
    const client = open(NOWHERE, 30_000);
    expect(await throughAll(client)).toEqual(CAME_OF_IT);
    expect(ran).toEqual([]);
    const thrown = await rejection(client.check(AGENT, { stakes: 5 }));
    expect(thrown).toMatchObject({ code: "unreachable", isTransient: true });
    expect((thrown as TrustRankError).message).toMatch(/\((ENOTFOUND|EAI_AGAIN)\)$/);
  });

  it("costs a write rail its outcome, counted, and nobody a turn", async () => {
    const client = open(NOWHERE, 30_000);
    const report = outcomeReport({ client, subject: () => "agent://shop/seller" });
    report({ toolName: "transfer", input: {}, callId: "call-1", output: "sent" });
    expect(report.queue.pendingCount).toBe(1);
    await report.queue.flush(50);
    expect(report.queue.counts).toMatchObject({ offered: 1, sent: 0, dropped: 1 });
  });
});

it("with no fault the same doors open", async () => {
  await proxy.set({ kind: "none" });
  const client = open(proxy.baseUrl, 10_000);
  await withTrustRank(run("function"), { agentId, stakes, client })();
  expect((await checkApproval({ stakes, client })(call)).action).toBe("run");
  const policy = handshakeApproval({ stakes, counterparty, client });
  await mcpTool(run("tool"), { policy, toolName: "transfer" })({}, {});
  expect(await DOORS["protectRoute"]!(client)).toBe("status 200");
  expect(ran).toEqual(["function", "tool", "route"]);
});
