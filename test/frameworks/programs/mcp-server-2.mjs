// MCP SDK 2, server: the handler of a tool behind the gate, a real server and a real client in one process.
import { Client, InMemoryTransport } from "@modelcontextprotocol/client";
import { McpServer } from "@modelcontextprotocol/server";
import { mcpTool } from "@trustrank/client/mcp";
import { z } from "zod";
import { play } from "./_play.mjs";

const inputSchema = z.object({ counterparty: z.string(), amount: z.number() });
await play(async ({ policy, report, transfer, input }) => {
  const tool = async (args) => ({ content: [{ type: "text", text: transfer(args) }] });
  const server = new McpServer({ name: "bank", version: "1" });
  server.registerTool(
    "transfer",
    { inputSchema },
    mcpTool(tool, { policy, report, toolName: "transfer" }),
  );
  const [near, far] = InMemoryTransport.createLinkedPair();
  const caller = new Client({ name: "caller", version: "1" });
  await Promise.all([server.connect(far), caller.connect(near)]);
  await caller.callTool({ name: "transfer", arguments: input });
  await caller.close();
});
