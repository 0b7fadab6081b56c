// Outcomes of tool calls: what the options decide, and that none of them can break a turn.
import { describe, expect, it } from "vitest";
import type { ToolDecision } from "../../../src/client/gates/approval.ts";
import { TrustRankClient } from "../../../src/client/client.ts";
import {
  outcomeReport,
  type OutcomeReportOptions,
} from "../../../src/client/reporting/outcome-report.ts";
import type { ToolEnd } from "../../../src/client/reporting/tool-end.ts";
import type { OutcomeRequest } from "../../../src/client/messages.ts";

/** A service that takes everything and shows it. */
function taking() {
  const taken: OutcomeRequest[] = [];
  const client = new TrustRankClient({
    baseUrl: "http://trust",
    agentId: "agent://acme/me",
    fetch: async (_url, init) => {
      const items = (JSON.parse(init.body as string) as OutcomeRequest[]).map((outcome) => {
        taken.push(outcome);
        const id = outcome.id ?? "";
        const signature = "none";
        const result = {
          outcome_id: id,
          position: 1,
          recorded_at: "",
          duplicate: false,
          signature,
        };
        return { status: 201, result };
      });
      return Response.json({ items });
    },
  });
  return { client, taken };
}

const decision: ToolDecision = {
  action: "run",
  reason: "",
  verdict: { request_id: "r-1" } as never,
  subject: "agent://shop/seller",
  stakes: 40,
};
const end = { toolName: "pay", input: { amount: 7 }, decision, output: "sent" };

async function report(given: ToolEnd, options: OutcomeReportOptions = {}) {
  const { client, taken } = taking();
  const rail = outcomeReport({ client, ...options });
  rail(given);
  await rail.queue.flush(5000);
  return { taken, skipped: rail.skipped };
}

describe("outcomeReport", () => {
  it("takes subject, stakes and request from the decision", async () => {
    const { taken } = await report(end);
    const known = { subject: "agent://shop/seller", reporter: "agent://acme/me", outcome: 1 };
    expect(taken).toEqual([
      {
        ...known,
        stakes: 40,
        grade: "counterparty",
        request_id: "r-1",
        id: expect.any(String),
      },
    ]);
  });

  it("lets the caller say whom, how much, whether it went well, and whose fault it was", async () => {
    const { taken } = await report(end, {
      subject: () => "agent://shop/other",
      stakes: ({ input }) => (input as { amount: number }).amount,
      isSuccess: ({ output }) => output !== "sent",
      isAgentFault: ({ toolName }) => toolName !== "pay",
    });
    expect(taken).toMatchObject([
      { subject: "agent://shop/other", stakes: 7, outcome: 0, agent_fault: false },
    ]);
  });

  it.each<[string, unknown]>([
    ["an MCP result", { isError: true, content: [] }],
    ["a message", { status: "error" }],
  ])("knows the error value of %s", async (_name, output) => {
    expect((await report({ ...end, output })).taken).toMatchObject([{ outcome: 0 }]);
  });

  it.each<[keyof Awaited<ReturnType<typeof report>>["skipped"], ToolEnd, OutcomeReportOptions]>([
    ["refused", { ...end, decision: { ...decision, action: "deny" } }, {}],
    ["unfinished", { ...end, error: new DOMException("", "AbortError") }, {}],
    ["unfinished", { ...end, error: new Error("", { cause: { is_bubble_up: true } }) }, {}],
    ["unattributed", end, { subject: () => undefined }],
    ["unattributed", end, { isSuccess: () => undefined }],
    ["unattributed", { ...end, decision: undefined }, {}],
    [
      "unattributed",
      end,
      {
        stakes: () => {
          throw new Error("boom");
        },
      },
    ],
  ])("says nothing and counts it as %s", async (why, given, options) => {
    const { taken, skipped } = await report(given, options);
    const none = { refused: 0, notRun: 0, unfinished: 0, unattributed: 0 };
    expect([taken, skipped]).toEqual([[], { ...none, [why]: 1 }]);
  });

  it("never takes a circle of causes for an endless one", async () => {
    const error = new Error("round");
    error.cause = error;
    expect((await report({ ...end, error })).taken).toMatchObject([{ outcome: 0 }]);
  });
});
