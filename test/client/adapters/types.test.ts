// Types of the callbacks where a framework's own tool names the input: `stakes: (input) => input.amount`
// needs no annotation, and a member that is not there does not compile. The compiler is the test
// (`npm run typecheck`), against the real packages; nothing here loads them.
import { describe, expectTypeOf, it } from "vitest";
import { z } from "zod";
import { aiSdkApproval, aiSdkToolApproval } from "../../../src/client/adapters/ai-sdk.ts";
import { langChainMiddleware } from "../../../src/client/adapters/langchain.ts";
import { mastraHooks } from "../../../src/client/adapters/mastra.ts";
import { mcpCallTool } from "../../../src/client/adapters/mcp-client.ts";
import { mcpTool } from "../../../src/client/adapters/mcp.ts";
import {
  openAiExecute,
  openAiGuardrail,
  openAiNeedsApproval,
} from "../../../src/client/adapters/openai-agents.ts";
import { approvalByTool, type ToolInput } from "../../../src/client/gates/approval-by-tool.ts";
import { checkApproval, handshakeApproval } from "../../../src/client/gates/approval.ts";
import { outcomeReport } from "../../../src/client/reporting/outcome-report.ts";

interface Transfer {
  payee: string;
  amount: number;
}
const schema = z.object({ payee: z.string(), amount: z.number() });

describe("the tool's own types reach the callbacks of", () => {
  it("AI SDK", () => {
    const use = ({ generateText, tool, ToolLoopAgent }: typeof import("ai"), model: "a/b") => {
      const transfer = tool({ inputSchema: schema, execute: ({ amount }) => amount });
      const look = tool({ inputSchema: z.object({ url: z.string() }), execute: ({ url }) => url });
      const policy = handshakeApproval({
        counterparty: (input) => input.payee,
        stakes: (input) => input.amount,
      });
      void generateText({
        model,
        prompt: "pay",
        tools: { transfer, look },
        toolApproval: {
          transfer: aiSdkToolApproval(
            checkApproval({
              agentId: (input) => input.payee,
              stakes: (input) => {
                expectTypeOf(input).toEqualTypeOf<Transfer>();
                // @ts-expect-error the tool has no such member
                void input.price;
                return input.amount;
              },
            }),
            "transfer",
          ),
          // One without a type of its own fits every tool.
          look: aiSdkToolApproval(policy, "look"),
        },
      });
      const byTool = approvalByTool(
        { transfer, look },
        {
          transfer: checkApproval({
            stakes: (input) => {
              expectTypeOf(input).toEqualTypeOf<Transfer>();
              return input.amount;
            },
          }),
          look: "run",
        },
      );
      return new ToolLoopAgent({ model, tools: { transfer }, toolApproval: aiSdkApproval(byTool) });
    };
    expectTypeOf(use).toBeFunction();
  });

  it("OpenAI Agents", () => {
    const use = ({ tool }: typeof import("@openai/agents-core")) =>
      tool({
        name: "transfer",
        description: "sends",
        parameters: schema,
        inputGuardrails: [openAiGuardrail(checkApproval({ stakes: (input) => input.amount }))],
        needsApproval: openAiNeedsApproval(
          handshakeApproval({
            counterparty: (input) => input.payee,
            stakes: (input) => {
              expectTypeOf(input).toEqualTypeOf<Transfer>();
              // @ts-expect-error the tool has no such member
              void input.price;
              return input.amount;
            },
          }),
          "transfer",
        ),
        execute: openAiExecute(({ amount }) => amount, {
          toolName: "transfer",
          report: outcomeReport({
            stakes: ({ input }) => {
              expectTypeOf(input).toEqualTypeOf<Transfer>();
              return input.amount;
            },
          }),
        }),
      });
    expectTypeOf(use).toBeFunction();
  });

  it("LangChain", () => {
    const use = ({ createMiddleware, tool, ToolMessage }: typeof import("langchain")) => {
      const transfer = tool(({ amount }) => amount, { name: "transfer", schema });
      const policy = approvalByTool(
        { transfer },
        {
          transfer: handshakeApproval({
            stakes: (input) => {
              expectTypeOf(input).toEqualTypeOf<Transfer>();
              // @ts-expect-error the tool has no such member
              void input.price;
              return input.amount;
            },
          }),
        },
      );
      const toolMessage = (fields: ConstructorParameters<typeof ToolMessage>[0]) =>
        new ToolMessage(fields);
      return createMiddleware(langChainMiddleware({ policy, toolMessage, interrupt: () => true }));
    };
    expectTypeOf(use).toBeFunction();
  });

  it("Mastra, by its documented shape", () => {
    /** Members of what `createTool` returns. */
    interface MastraTool<In> {
      readonly id: string;
      readonly inputSchema?: unknown;
      readonly execute?: (input: In, context: { readonly requestContext?: unknown }) => unknown;
    }
    const use = (transfer: MastraTool<Transfer>) =>
      mastraHooks(
        approvalByTool(
          { transfer },
          {
            transfer: checkApproval({
              stakes: (input) => {
                expectTypeOf(input).toEqualTypeOf<Transfer>();
                return input.amount;
              },
            }),
          },
        ),
      );
    expectTypeOf(use).toBeFunction();
  });
});

it("knows nothing of a tool that says nothing, and leaves it open", () => {
  expectTypeOf<ToolInput<{ execute?: undefined }>>().toBeAny();
  expectTypeOf<ToolInput<{ name: string }>>().toBeAny();
  expectTypeOf<
    ToolInput<(input: Transfer, options: { id: string }) => void>
  >().toEqualTypeOf<Transfer>();
});

describe("the tool's own types reach the callbacks of MCP", () => {
  it("in a server", () => {
    type Server = import("@modelcontextprotocol/sdk/server/mcp.js").McpServer;
    const use = (server: Server) => {
      const sent = (amount: number) => ({
        content: [{ type: "text" as const, text: `${amount}` }],
      });
      server.registerTool(
        "transfer",
        { inputSchema: schema },
        mcpTool(({ amount }) => sent(amount), {
          toolName: "transfer",
          policy: checkApproval({
            agentId: ({ payee }) => payee,
            stakes: (input) => {
              expectTypeOf(input).toEqualTypeOf<Transfer>();
              // @ts-expect-error the tool has no such member
              void input.price;
              return input.amount;
            },
          }),
          report: outcomeReport({ stakes: ({ input }) => input.amount }),
        }),
      );
    };
    expectTypeOf(use).toBeFunction();
  });

  it("in a client, from a schema", () => {
    type Client = import("@modelcontextprotocol/sdk/client/index.js").Client;
    const use = (client: Client) =>
      mcpCallTool((...args: Parameters<Client["callTool"]>) => client.callTool(...args), {
        policy: approvalByTool(
          { transfer: schema },
          {
            transfer: handshakeApproval({
              stakes: (input) => {
                expectTypeOf(input).toEqualTypeOf<Transfer>();
                return input.amount;
              },
            }),
          },
        ),
      });
    expectTypeOf(use).toBeFunction();
  });
});
