// Adapters where their framework does not run here (eve needs Node 24, Mastra more megabytes than a
// test is worth): held to its documented shapes. `npm run check:frameworks` has the real ones.
import { afterAll, beforeAll, describe, expect, expectTypeOf, it } from "vitest";
import type { EveApprovalPolicy } from "../../../src/client/adapters/eve.ts";
import { langChainMiddleware } from "../../../src/client/adapters/langchain.ts";
import { mastraApproval, mastraHooks } from "../../../src/client/adapters/mastra.ts";
import { agent, Bank } from "../_bank.ts";

let bank: Bank;
beforeAll(async () => {
  bank = await Bank.start();
});
afterAll(() => bank.stop());

describe("Mastra, by its documented shapes", () => {
  it("stops refused calls, parks escalated ones and reports ended ones", async () => {
    const { policy, report } = bank.open();
    const hooks = mastraHooks(policy, report);
    const approval = mastraApproval(policy);
    const call = (name: string) => ({
      toolName: "transfer",
      input: { counterparty: agent(name) },
      context: {},
    });
    expect(await hooks.beforeToolCall(call("connect"))).toBeUndefined();
    expect(await hooks.beforeToolCall(call("refuse"))).toMatchObject({ proceed: false });
    expect(await approval({ toolName: "t", args: call("escalate").input })).toBe(true);
    expect(await approval({ toolName: "t", args: call("connect").input })).toBe(false);
    // The approval and the hook both ask about one call: that is one paid read.
    const before = bank.reads;
    await approval({ toolName: "transfer", args: call("connect").input });
    expect(bank.reads).toBe(before);
    hooks.afterToolCall({ ...call("connect") });
    const context = { agent: { toolCallId: bank.callId } };
    hooks.afterToolCall({ ...call("connect"), context, error: new Error("x") });
    hooks.afterToolCall({ ...call("connect"), context, error: new Error("x") });
    await report.queue.flush(5000);
    expect(bank.outcomes()).toEqual([1, 0]);
  });
});

describe("LangChain, without an agent", () => {
  interface Message {
    content: string;
    tool_call_id: string;
  }
  async function wrap(name: string, resumed?: unknown) {
    const { policy, report } = bank.open();
    const { wrapToolCall } = langChainMiddleware<Message>({
      policy,
      report,
      toolMessage: (fields) => fields,
      interrupt: () => resumed,
    });
    const args = { counterparty: agent(name) };
    const request = { toolCall: { name: "transfer", id: bank.callId, args }, state: {} };
    try {
      return await wrapToolCall(request, async () => bank.transfer(args));
    } finally {
      await report.queue.flush(5000);
    }
  }

  it("hands on, refuses, and goes on after an approval only", async () => {
    expect(await wrap("connect")).toBe("sent");
    expect(bank.outcomes()).toEqual([1]);
    expect(await wrap("refuse")).toMatchObject({ tool_call_id: bank.callId, status: "error" });
    expect([bank.ran, bank.outcomes()]).toEqual([[], []]);
    for (const resumed of [undefined, false, "approve", { type: "reject" }, null]) {
      expect(await wrap("escalate", resumed)).toMatchObject({ status: "error" });
    }
    expect(await wrap("escalate", { type: "approve" })).toBe("sent");
    expect(await wrap("escalate", true)).toBe("sent");
  });

  it("reports a tool that throws, and lets it throw", async () => {
    await expect(wrap("verify", true)).rejects.toThrow("the bank is closed");
    expect(bank.outcomes()).toEqual([0]);
  });
});

it("eve's documented types accept the policies", () => {
  interface ApprovalContext {
    readonly abortSignal: AbortSignal;
    readonly approvedTools: ReadonlySet<string>;
    readonly callId: string;
    readonly toolInput?: Record<string, unknown>;
    readonly toolName: string;
    readonly session: { readonly id: string; readonly auth: { current: { principalId: string } } };
  }
  type ApprovalStatus =
    | undefined
    | boolean
    | "not-applicable"
    | "approved"
    | "denied"
    | "user-approval"
    | { readonly type: "not-applicable"; readonly reason?: never }
    | { readonly type: "approved"; readonly reason?: string }
    | { readonly type: "denied"; readonly reason?: string }
    | { readonly type: "user-approval"; readonly reason?: never };
  type Policy = (context: ApprovalContext) => ApprovalStatus | Promise<ApprovalStatus>;
  expectTypeOf<EveApprovalPolicy>().toExtend<Policy>();
});
