// MCP SDK 2, client: `callTool` behind the gate, a real server and a real client in one process.
import { Client, InMemoryTransport } from "@modelcontextprotocol/client";
import { McpServer } from "@modelcontextprotocol/server";
import { mcpCallTool } from "@trustrank/client/mcp-client";
import { z } from "zod";
import { play } from "./_play.mjs";

const inputSchema = z.object({ counterparty: z.string(), amount: z.number() });
await play(async ({ policy, report, transfer, input }) => {
  const tool = async (args) => ({ content: [{ type: "text", text: transfer(args) }] });
  const server = new McpServer({ name: "bank", version: "1" });
  server.registerTool("transfer", { inputSchema }, tool);
  const [near, far] = InMemoryTransport.createLinkedPair();
  const caller = new Client({ name: "caller", version: "1" });
  await Promise.all([server.connect(far), caller.connect(near)]);
  await mcpCallTool((request) => caller.callTool(request), { policy, report })({
    name: "transfer",
    arguments: input,
  });
  await caller.close();
});
