// The adapter inside the real MCP SDK: a server and a client over its in-memory transport.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { InMemoryTransport } from "@modelcontextprotocol/sdk/inMemory.js";
import { InsufficientScopeError } from "@modelcontextprotocol/sdk/server/auth/errors.js";
import type { OAuthTokenVerifier } from "@modelcontextprotocol/sdk/server/auth/provider.js";
import type { AuthInfo } from "@modelcontextprotocol/sdk/server/auth/types.js";
import { Server } from "@modelcontextprotocol/sdk/server/index.js";
import { CallToolRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import { afterAll, beforeAll, describe, expect, expectTypeOf, it } from "vitest";
import { mcpTokenVerifier, mcpTool } from "../../../src/client/adapters/mcp.ts";
import { agent, Bank, type Transfer } from "../_bank.ts";

let bank: Bank;
beforeAll(async () => {
  bank = await Bank.start();
});
afterAll(() => bank.stop());

describe("MCP SDK", () => {
  async function ask(name: string, elicit?: () => Promise<{ action: string }>) {
    const { policy } = bank.open();
    const options = { policy, toolName: "transfer" };
    const handler = mcpTool(
      (args: Transfer) => ({ content: [{ type: "text" as const, text: bank.transfer(args) }] }),
      elicit === undefined ? options : { ...options, elicit },
    );
    const server = new Server({ name: "bank", version: "1" }, { capabilities: { tools: {} } });
    server.setRequestHandler(CallToolRequestSchema, (request, extra) =>
      handler(request.params.arguments as unknown as Transfer, extra),
    );
    const [near, far] = InMemoryTransport.createLinkedPair();
    const caller = new Client({ name: "caller", version: "1" });
    await Promise.all([server.connect(far), caller.connect(near)]);
    const args = { counterparty: agent(name) };
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
    expectTypeOf(mcpTokenVerifier<AuthInfo>).returns.toExtend<OAuthTokenVerifier>();
  });
});
