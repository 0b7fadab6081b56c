// The adapter inside the real MCP SDK, 1 and 2: a server and a client over its in-memory transport.
import * as client2 from "@modelcontextprotocol/client";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { InMemoryTransport } from "@modelcontextprotocol/sdk/inMemory.js";
import { InsufficientScopeError } from "@modelcontextprotocol/sdk/server/auth/errors.js";
import type { OAuthTokenVerifier } from "@modelcontextprotocol/sdk/server/auth/provider.js";
import type { AuthInfo } from "@modelcontextprotocol/sdk/server/auth/types.js";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import * as server2 from "@modelcontextprotocol/server";
import { afterAll, beforeAll, describe, expect, expectTypeOf, it } from "vitest";
import { z } from "zod";
import { mcpCallTool, type McpToolRequest } from "../../../src/client/adapters/mcp-client.ts";
import { type McpExtra, mcpTokenVerifier, mcpTool } from "../../../src/client/adapters/mcp.ts";
import { checkApproval } from "../../../src/client/gates/approval.ts";
import { agent, Bank, type Transfer } from "../_bank.ts";
import { holdsTheRailContract, type RailCall, type RailDriver } from "./_rail.ts";

let bank: Bank;
beforeAll(async () => {
  bank = await Bank.start();
});
afterAll(() => bank.stop());

type Handler = (args: Transfer, extra: McpExtra) => Promise<unknown>;
/** Calls a tool of the server. */
interface Caller {
  callTool(request: McpToolRequest, signal?: AbortSignal): Promise<unknown>;
  close(): Promise<void>;
}
type Connect = (handler: Handler, isOutputChecked?: boolean) => Promise<Caller>;

/** A real server and a real client over the in-memory transport; the server checks arguments. */
const connected: Connect = async (handler, isOutputChecked = false) => {
  const server = new McpServer({ name: "bank", version: "1" });
  const inputSchema = { counterparty: z.string(), amount: z.int() };
  const schemas = isOutputChecked
    ? { inputSchema, outputSchema: { sent: z.boolean() } }
    : { inputSchema };
  server.registerTool("transfer", schemas, (args, extra) => handler(args, extra) as never);
  const [near, far] = InMemoryTransport.createLinkedPair();
  const caller = new Client({ name: "caller", version: "1" });
  await Promise.all([server.connect(far), caller.connect(near)]);
  return {
    callTool: (request, signal) =>
      caller.callTool({ ...request }, undefined, signal === undefined ? {} : { signal }),
    close: () => caller.close(),
  };
};

/** The same of version 2, which has its own packages, contexts, codes and texts. */
const connected2: Connect = async (handler, isOutputChecked = false) => {
  const server = new server2.McpServer({ name: "bank", version: "1" });
  const inputSchema = z.object({ counterparty: z.string(), amount: z.int() });
  const outputSchema = z.object({ sent: z.boolean() });
  const schemas = isOutputChecked ? { inputSchema, outputSchema } : { inputSchema };
  server.registerTool("transfer", schemas, (args, context) => handler(args, context) as never);
  const [near, far] = client2.InMemoryTransport.createLinkedPair();
  const caller = new client2.Client({ name: "caller", version: "1" });
  await Promise.all([server.connect(far), caller.connect(near)]);
  return {
    callTool: (request, signal) =>
      caller.callTool({ ...request }, signal === undefined ? {} : { signal }),
    close: () => caller.close(),
  };
};

const textOf = (text: unknown) => ({ content: [{ type: "text" as const, text: String(text) }] });
const isResult = (value: unknown) => typeof value === "object" && value !== null;
/** The tool of the bank in the words of MCP. */
const tool = async (args: Transfer, { signal, mcpReq }: McpExtra) => {
  const answer = await bank.transfer(args, signal ?? mcpReq?.signal);
  return isResult(answer) ? (answer as ReturnType<typeof textOf>) : textOf(answer);
};
const errorValue = () => ({ ...textOf("closed"), isError: true });

/** The person's answer; for none the run is over before it comes. */
async function answerOf<Answer>({ isApproved }: RailCall, yes: Answer, no: Answer) {
  if (isApproved !== undefined) return isApproved ? yes : no;
  noAnswer.resolve();
  return await new Promise<Answer>(() => undefined);
}
let noAnswer = Promise.withResolvers<void>();

async function call(
  caller: Caller,
  { toolName: name, input, abort, isRetried }: RailCall,
  gate = plain,
) {
  const stop = new AbortController();
  const ask = gate((request: McpToolRequest) => caller.callTool(request, stop.signal));
  const running = ask({ name, arguments: input }).catch(() => undefined);
  if (abort !== undefined) {
    await expect.poll(() => bank.ran.length).toBe(1);
    abort(stop);
  }
  await Promise.race([running, noAnswer.promise]);
  noAnswer = Promise.withResolvers<void>();
  if (isRetried) await ask({ name, arguments: input });
  await caller.close();
}
type Ask = (request: McpToolRequest) => Promise<unknown>;
const plain = (ask: Ask): Ask => ask;

const serverSide = (connect: Connect): RailDriver => ({
  name: "MCP server",
  errorValue,
  async play(rail) {
    const { policy, report, isOutputChecked } = rail;
    const elicit = async () => ({ action: await answerOf(rail, "accept", "decline") });
    const handler = mcpTool(tool, { policy, toolName: "transfer", report, elicit });
    await call(await connect(handler, isOutputChecked), rail);
  },
});
const clientSide = (connect: Connect): RailDriver => ({
  name: "MCP client",
  errorValue,
  async play(rail) {
    const { policy, report, isOutputChecked } = rail;
    const options = { policy, report, approve: () => answerOf(rail, true, false) };
    const caller = await connect(tool, isOutputChecked);
    await call(caller, rail, (ask) => mcpCallTool(ask, options));
  },
});

describe.each([
  [1, connected],
  [2, connected2],
])("MCP SDK %i", (_version, connect) => {
  describe("a server's tool", () => {
    holdsTheRailContract(serverSide(connect), () => bank);
  });
  describe("a client's call", () => {
    holdsTheRailContract(clientSide(connect), () => bank);
  });
});

describe("MCP SDK", () => {
  async function ask(name: string, elicit?: () => Promise<{ action: string }>) {
    const { policy } = bank.open();
    const options = { policy, toolName: "transfer" };
    const handler = mcpTool(tool, elicit === undefined ? options : { ...options, elicit });
    const caller = await connected(handler);
    const args = { counterparty: agent(name), amount: 5 };
    const result = await caller.callTool({ name: "transfer", arguments: args });
    await caller.close();
    return result as { isError?: boolean; content: { text: string }[] };
  }

  it("runs, refuses readably, and asks a person when it can", async () => {
    expect((await ask("connect")).content[0]?.text).toBe("sent");
    const refused = await ask("refuse");
    expect([refused.isError, bank.ran]).toEqual([true, []]);
    expect(refused.content[0]?.text).toMatch(/^refused: /);
    expect((await ask("escalate")).isError).toBe(true);
    for (const action of ["decline", "cancel", "Accept"]) {
      expect((await ask("escalate", async () => ({ action }))).isError).toBe(true);
    }
    expect((await ask("escalate", () => Promise.reject(new Error("gone")))).isError).toBe(true);
    expect(bank.ran).toEqual([]);
    await ask("escalate", async () => ({ action: "accept" }));
    expect(bank.ran).toEqual([agent("escalate")]);
  });

  it.each<[number, (clientId: string) => McpExtra]>([
    [1, (clientId) => ({ authInfo: { clientId } })],
    [2, (clientId) => ({ http: { authInfo: { clientId } } })],
  ])("knows the caller whom version %i has authenticated", async (_version, authenticate) => {
    bank.open();
    const policy = checkApproval({ client: bank.client });
    const run = mcpTool(async () => "ran", { policy, toolName: "transfer" });
    expect(await run({}, authenticate(agent("connect")))).toBe("ran");
    expect(await run({}, authenticate(agent("refuse")))).toMatchObject({ isError: true });
  });

  it("puts the inbound gate behind a token verifier, with the SDK's own error", async () => {
    const inner: OAuthTokenVerifier = {
      verifyAccessToken: async (token) => ({ token, clientId: agent(token), scopes: [] }),
    };
    const forbidden = (text: string) => new InsufficientScopeError(text);
    const verifier: OAuthTokenVerifier = mcpTokenVerifier(inner, {
      client: bank.client,
      forbidden,
    });
    expect(await verifier.verifyAccessToken("connect")).toMatchObject({ scopes: [] });
    await expect(verifier.verifyAccessToken("refuse")).rejects.toBeInstanceOf(
      InsufficientScopeError,
    );
    const agentId = (): never => {
      throw new RangeError("no agent in row 5 of vault");
    };
    const failing = mcpTokenVerifier(inner, { client: bank.client, forbidden, agentId });
    await expect(failing.verifyAccessToken("connect")).rejects.toThrow(
      /^callback `agentId` failed$/,
    );
    expectTypeOf(mcpTokenVerifier<AuthInfo>).returns.toExtend<OAuthTokenVerifier>();
  });
});
