// `npx node test/client/_frameworks.ts`: the packed client against the real packages that are too heavy for
// every run of the tests (Mastra) or run on a newer Node only (eve: types alone). Installs them,
// without their scripts, into a scratch folder; needs a registry. Prints one line each, exits 1 on
// a fault.
import { writeFile } from "node:fs/promises";
import path from "node:path";
import { type LiveService, startLiveService } from "./_live.ts";
import setup from "../cli/_build-command.ts";
import { CLIENT, pack, ROOT, run, TSC } from "./_package.ts";

interface Framework {
  readonly name: string;
  /** Packages and versions that the adapter was last seen to fit. */
  readonly packages: readonly string[];
  readonly program: string;
  /** What the program prints; absent when only its types are checked. */
  readonly prints?: unknown;
}

const EVE = `import { type AuthFn, vercelOidc } from "eve/channels/auth";
import { defineHook } from "eve/hooks";
import { defineTool } from "eve/tools";
import type { ApprovalPolicy } from "eve/tools/approval";
import { mutualHandshakeApproval, outcomeHook } from "@trustrank/client";
import { trustGate, trustRankApproval } from "@trustrank/client";

interface Transfer {
  counterparty: string;
  amount: number;
}
const stakes = ({ amount }: Transfer) => amount;
export const byCheck: ApprovalPolicy<Transfer> = trustRankApproval({ stakes });
export const tool = defineTool({
  description: "sends",
  inputSchema: {} as never,
  approval: mutualHandshakeApproval({ stakes }),
  execute: async () => "sent",
});
export const hook = defineHook({ events: outcomeHook({ reporter: "agent://a/b" }).events });
export const auth: AuthFn<Request> = trustGate(vercelOidc());
`;

/** An agent that is let through, one that is refused, one that is parked: in a real agent's run. */
const MASTRA = `import { Agent } from "@mastra/core/agent";
import { createTool } from "@mastra/core/tools";
import { approvalByTool, handshakeApproval, outcomeReport, TrustRankClient } from "@trustrank/client";
import { mastraApproval, mastraHooks } from "@trustrank/client/mastra";
import { MockLanguageModelV4, simulateReadableStream } from "ai/test";
import { z } from "zod";

const client = new TrustRankClient({
  baseUrl: process.env["BASE_URL"] ?? "",
  apiKey: process.env["API_KEY"] ?? "",
  agentId: "agent://acme/me",
  timeoutMs: 5000,
});
const usage = {
  inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 1, text: 1, reasoning: 0 },
};
const found: Record<string, unknown> = {};
for (const name of ["connect", "refuse", "escalate"]) {
  const policy = handshakeApproval({
    client,
    initiator: () => "agent://test/connect",
    stakes: () => 5,
  });
  const report = outcomeReport({ client, subject: () => "agent://shop/seller" });
  const ran: string[] = [];
  const transfer = createTool({
    id: "transfer",
    description: "sends",
    inputSchema: z.object({ counterparty: z.string() }),
    execute: async ({ counterparty }) => {
      ran.push(counterparty);
      return { sent: true };
    },
  });
  // The tool's own type reaches the callback: what is not there does not compile.
  void approvalByTool(
    { transfer },
    {
      transfer: handshakeApproval({
        // @ts-expect-error the tool has no such member
        stakes: (input) => input.counterparty.length + input.amount,
      }),
    },
  );
  let isCalled = false;
  const model = new MockLanguageModelV4({
    doStream: async () => {
      const isFirst = !isCalled;
      isCalled = true;
      const input = JSON.stringify({ counterparty: \`agent://test/\${name}\` });
      const toolCallId = "call-" + name;
      const call = { type: "tool-call", toolCallId, toolName: "transfer", input };
      const text = [
        { type: "text-start", id: "1" },
        { type: "text-delta", id: "1", delta: "done" },
        { type: "text-end", id: "1" },
      ];
      const unified = isFirst ? "tool-calls" : "stop";
      const finish = { type: "finish", usage, finishReason: { unified, raw: undefined } };
      const chunks = [{ type: "stream-start", warnings: [] }, ...(isFirst ? [call] : text), finish];
      return { stream: simulateReadableStream({ chunks: chunks as never }) };
    },
  });
  const agent = new Agent({
    id: "payer",
    name: "payer",
    instructions: "pay",
    model: model as never,
    tools: { transfer },
    hooks: mastraHooks(policy, report),
  });
  const stream = await agent.stream("pay", { requireToolApproval: mastraApproval(policy) });
  const kinds: string[] = [];
  for await (const chunk of stream.fullStream) kinds.push(chunk.type);
  await report.queue.flush(5000);
  const parked = kinds.includes("tool-call-approval");
  found[name] = { ran, parked, sent: report.queue.counts.sent };
}
console.log(JSON.stringify(found));
process.exit(0);
`;

const FRAMEWORKS: readonly Framework[] = [
  { name: "eve", packages: ["eve@0.80.1", "ai@7.0.173"], program: EVE },
  {
    name: "Mastra",
    packages: ["@mastra/core@1.71.0", "ai@7.0.173", "zod@4.6.7"],
    program: MASTRA,
    prints: {
      connect: { ran: ["agent://test/connect"], parked: false, sent: 1 },
      refuse: { ran: [], parked: false, sent: 0 },
      escalate: { ran: [], parked: true, sent: 0 },
    },
  },
];
/** Wrong on purpose: shows that the compiler knew the types. */
const WRONG = 'export const wrong: number = "";';

async function check(framework: Framework, project: string, service: LiveService): Promise<void> {
  const { packages, program, prints } = framework;
  const flags = ["--ignore-scripts", "--no-audit", "--no-fund", "--no-save"];
  await run("npm", ["install", ...flags, ...packages, packed.tarball], { cwd: project });
  await writeFile(path.join(project, "program.mts"), `${program}\n${WRONG}\n`);
  const compilerOptions = {
    target: "es2024",
    module: "nodenext",
    strict: true,
    exactOptionalPropertyTypes: true,
    noEmit: true,
    skipLibCheck: true,
    types: ["node"],
    typeRoots: [path.join(ROOT, "node_modules/@types")],
  };
  const config = JSON.stringify({ compilerOptions, files: ["program.mts"] });
  await writeFile(path.join(project, "tsconfig.json"), config);
  const { stdout } = await run(process.execPath, [TSC, "-p", "."], { cwd: project }).catch(
    (error: { stdout: string }) => error,
  );
  const faults = stdout.split("\n").filter((line) => line.startsWith("program.mts"));
  if (faults.length !== 1 || !faults[0]!.includes("TS2322")) throw new Error(stdout);
  if (prints === undefined) return;
  const env = { PATH: process.env["PATH"], BASE_URL: service.baseUrl, API_KEY: service.apiKey };
  const args = ["--disable-warning=ExperimentalWarning", "program.mts"];
  const { stdout: printed } = await run(process.execPath, args, { cwd: project, env });
  const last = printed.trimEnd().split("\n").at(-1)!;
  if (last !== JSON.stringify(prints)) throw new Error(`printed ${printed}`);
}

setup();
const [service, packed] = await Promise.all([startLiveService(), pack(CLIENT)]);
try {
  for (const framework of FRAMEWORKS) {
    const project = await packed.project(framework.name.toLowerCase());
    try {
      await check(framework, project, service);
      const what = framework.prints === undefined ? "types fit" : "types fit, its agent obeys";
      console.log(`${framework.packages[0]}: ${what}`);
    } catch (error) {
      process.exitCode = 1;
      console.log(`${framework.packages[0]}: ${(error as Error).message}`);
    }
  }
} finally {
  await service.stop();
  await packed.remove();
}
