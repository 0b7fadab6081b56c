// Adapters where their framework does not run here (eve needs Node 24, Mastra more megabytes than a
// test is worth): held to its documented shapes. `npm run check:frameworks` has the real ones.
import { afterAll, beforeAll, describe, expect, expectTypeOf, it } from "vitest";
import type { EveApprovalPolicy } from "../../../src/client/adapters/eve.ts";
import { langChainMiddleware } from "../../../src/client/adapters/langchain.ts";
import { mastraApproval, mastraHooks } from "../../../src/client/adapters/mastra.ts";
import { outcomeHook } from "../../../src/client/reporting/outcome-hook.ts";
import { agent, Bank, type Transfer } from "../_bank.ts";
import { holdsTheRailContract, type RailDriver } from "./_rail.ts";

let bank: Bank;
beforeAll(async () => {
  bank = await Bank.start();
});
afterAll(() => bank.stop());

/** A call as Mastra's own wrapper of a tool makes it, hooks and all. */
const mastra: RailDriver = {
  name: "Mastra",
  async play({ policy, report, input, isApproved, abort, isRetried, isOutputChecked }) {
    const hooks = mastraHooks(policy, report);
    const toolName = "transfer";
    const isParked = await mastraApproval(policy)({ toolName, args: input });
    if (isParked && isApproved !== true) return;
    const stop = new AbortController();
    const call = { toolName, input, context: { abortSignal: stop.signal } };
    const execute = async () => {
      const before = await hooks.beforeToolCall(call);
      if (before?.proceed === false) return;
      try {
        const output = await mastraTool(input, stop.signal);
        hooks.afterToolCall({ ...call, output: isOutputChecked ? INVALID_OUTPUT : output });
      } catch (error) {
        hooks.afterToolCall({ ...call, output: undefined, error });
      }
    };
    const running = execute();
    if (abort !== undefined) {
      await expect.poll(() => bank.ran.length).toBe(1);
      abort(stop);
    }
    await running;
    if (isRetried) await execute();
  },
};

/** Mastra's answer in place of a result that does not fit the tool's schema. */
const INVALID_OUTPUT = {
  error: true,
  message: "Tool output validation failed for transfer. The tool returned invalid output:",
  validationErrors: { sent: ["not a boolean"] },
};

/** A tool of Mastra checks its input by itself, and answers what does not fit by a value. */
async function mastraTool(input: Record<string, unknown>, signal: AbortSignal) {
  if (Number.isInteger(input["amount"])) {
    return await bank.transfer(input as unknown as Transfer, signal);
  }
  const message = "Tool input validation failed for transfer. Please fix the following errors";
  return { error: true, message, validationErrors: { amount: ["not an integer"] } };
}

describe("Mastra, by its documented shapes", () => {
  holdsTheRailContract(mastra, () => bank);

  it("asks once for the approval and the hook of one call", async () => {
    const { policy } = bank.open();
    const input = { counterparty: agent("connect"), amount: 5 };
    await mastraApproval(policy)({ toolName: "transfer", args: input });
    await mastraHooks(policy).beforeToolCall({ toolName: "transfer", input });
    expect(bank.reads).toBe(1);
  });
});

/** The events of eve's runtime, in its documented words. */
const eve: RailDriver = {
  name: "eve",
  async play({ policy, report, input, isApproved, isRetried, isAgentFault }) {
    const hook = outcomeHook({
      client: bank.client,
      policy,
      subject: () => shop(policy.decisionOn?.(call)?.subject),
      onSkip: ({ why, toolName }) => report.skip(why, toolName),
      ...(isAgentFault === undefined ? {} : { isAgentFault: () => isAgentFault }),
    });
    const context = { session: { id: "s-1", auth: {} } };
    const call = { toolName: "transfer", callId: bank.callId, conversationId: "s-1", input };
    const { action } = await policy(call);
    let sequence = 0;
    const tell = async (status: string, output?: unknown) => {
      sequence += 1;
      const result = { kind: "tool-result", toolName: "transfer", callId: bank.callId, output };
      const data = { turnId: bank.callId, stepIndex: 0, sequence, status, result };
      const { offered } = hook.queue.counts;
      hook.events["action.result"]({ data }, context);
      // Delivered at least once: a repeat counts once.
      if (hook.queue.counts.offered > offered) hook.events["action.result"]({ data }, context);
      await hook.queue.flush(5000);
    };
    if (action === "park" && isApproved === undefined) return;
    if (action === "deny" || (action === "park" && !isApproved)) return tell("rejected");
    const runTool = async () => {
      try {
        await tell("completed", await bank.transfer(input as unknown as Transfer));
      } catch {
        await tell("failed");
      }
    };
    await runTool();
    if (isRetried) await runTool();
    await report.queue.flush(0);
  },
};
const shop = (subject: string | undefined) => subject?.replace("://test/", "://shop/");

describe("eve, by its documented words", () => {
  holdsTheRailContract(eve, () => bank);
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
    const args = { counterparty: agent(name), amount: 5 };
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
