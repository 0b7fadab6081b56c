// The adapters of the matrix: the program of each, the packages a user installs for it, and the column of the
// client's peer range that its framework is.

export interface AdapterCase {
  readonly name: string;
  /** In `programs/`. */
  readonly program: string;
  /** The framework, as `peerDependencies` of the client names it. */
  readonly framework: string;
  /** Beside the framework, as its pages say to install. */
  readonly others: readonly string[];
  /** The lowest version of the peer range and what fits it; absent where npm's own pick is the lowest. */
  readonly oldest?: readonly string[];
  /** Least major version of Node that the newest version runs on, where that is above 22. */
  readonly newestNode?: number;
}

export const ADAPTERS: readonly AdapterCase[] = [
  {
    name: "AI SDK, `aiSdkTools`",
    program: "ai-sdk-tools",
    framework: "ai",
    others: ["@ai-sdk/openai-compatible"],
    oldest: ["ai@6.0.0", "@ai-sdk/openai-compatible@2.0.0"],
  },
  {
    name: "AI SDK, `aiSdkApproval`",
    program: "ai-sdk-approval",
    framework: "ai",
    others: ["@ai-sdk/openai-compatible"],
    oldest: ["ai@7.0.0", "@ai-sdk/openai-compatible@3.0.0"],
  },
  {
    name: "LangChain",
    program: "langchain",
    framework: "langchain",
    others: ["@langchain/core", "@langchain/langgraph", "@langchain/openai"],
  },
  {
    name: "Mastra",
    program: "mastra",
    framework: "@mastra/core",
    others: ["zod"],
    oldest: ["@mastra/core@1.42.0", "zod"],
  },
  {
    name: "MCP server",
    program: "mcp-server-2",
    framework: "@modelcontextprotocol/server",
    others: ["@modelcontextprotocol/client", "zod"],
    oldest: ["@modelcontextprotocol/server@2.0.0", "@modelcontextprotocol/client@2.0.0", "zod"],
  },
  {
    name: "MCP client",
    program: "mcp-client-2",
    framework: "@modelcontextprotocol/client",
    others: ["@modelcontextprotocol/server", "zod"],
    oldest: ["@modelcontextprotocol/client@2.0.0", "@modelcontextprotocol/server@2.0.0", "zod"],
  },
  {
    name: "MCP server, SDK 1",
    program: "mcp-server-1",
    framework: "@modelcontextprotocol/sdk",
    others: ["zod"],
  },
  {
    name: "MCP client, SDK 1",
    program: "mcp-client-1",
    framework: "@modelcontextprotocol/sdk",
    others: ["zod"],
  },
  { name: "OpenAI Agents", program: "openai-agents", framework: "@openai/agents", others: ["zod"] },
  { name: "eve", program: "eve", framework: "eve", others: ["ai"], newestNode: 24 },
];
