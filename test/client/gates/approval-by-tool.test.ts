// One policy for all tools of an agent: each question goes to the policy of its own tool, and a tool
// that nobody listed does not run.
import { expect, it } from "vitest";
import { langChainMiddleware } from "../../../src/client/adapters/langchain.ts";
import { approvalByTool } from "../../../src/client/gates/approval-by-tool.ts";
import { checkApproval } from "../../../src/client/gates/approval.ts";
import { TrustRankClient } from "../../../src/client/client.ts";
import { service as replying, verifyReply } from "../_replies.ts";

interface Transfer {
  readonly payee: string;
  readonly amount: number;
}
const tools = {
  transfer: (input: Transfer) => input.amount,
  look: (url: string) => url,
  forgotten: (what: string) => what,
};
const open = () => {
  const fetch = replying(() => verifyReply());
  const client = new TrustRankClient({ baseUrl: "http://trust", fetch });
  const policy = approvalByTool(tools, {
    transfer: checkApproval({ client, agentId: ({ payee }) => payee, stakes: (i) => i.amount }),
    look: "run",
  });
  return { fetch, policy };
};
const input: Transfer = { payee: "agent://a/b", amount: 7 };

it("asks the policy of the called tool, and knows its decision afterwards", async () => {
  const { fetch, policy } = open();
  const call = { toolName: "transfer", input, callId: "1", conversationId: "c" };
  expect(await policy(call)).toMatchObject({ action: "run", subject: "agent://a/b", stakes: 7 });
  expect(policy.decisionOn?.(call)).toMatchObject({ subject: "agent://a/b", stakes: 7 });
  expect(policy.decisionOn?.({ ...call, toolName: "look" })).toEqual({
    action: "run",
    reason: "the tool needs no verdict",
    verdict: undefined,
  });
  expect(policy.decisionOn?.({ ...call, toolName: "forgotten" })).toBeUndefined();
  expect(fetch.calls).toBe(1);
});

it("asks nothing about a tool that needs no verdict", async () => {
  const { fetch, policy } = open();
  expect(await policy({ toolName: "look", input: "x" })).toMatchObject({ action: "run" });
  expect(fetch.calls).toBe(0);
});

it.each(["forgotten", "unheard-of", "toString", "__proto__"])(
  "denies a tool that is not listed: %s",
  async (name) => {
    const { fetch, policy } = open();
    const denial = { action: "deny", reason: `no policy for the tool \`${name}\`` };
    expect(await policy({ toolName: name, input })).toMatchObject(denial);
    const middleware = langChainMiddleware({
      policy,
      toolMessage: ({ content }) => content,
      interrupt: () => true,
    });
    const request = { toolCall: { name, args: input } };
    const ran = () => Promise.reject(new Error("it ran"));
    expect(await middleware.wrapToolCall(request, ran)).toMatch(/^refused: no policy/);
    expect(fetch.calls).toBe(0);
  },
);

it("refuses a policy for a tool that there is not", () => {
  expect(() => approvalByTool({}, { pay: "run" } as object)).toThrow("there is no tool `pay`");
});
