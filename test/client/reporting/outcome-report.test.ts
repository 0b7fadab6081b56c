// Outcomes of tool calls: what the options decide, and that none of them can break a turn.
import { describe, expect, it } from "vitest";
import type { ToolDecision } from "../../../src/client/gates/approval.ts";
import { TrustRankClient } from "../../../src/client/client.ts";
import {
  outcomeReport,
  type OutcomeReportOptions,
} from "../../../src/client/reporting/outcome-report.ts";
import type { SkippedCall } from "../../../src/client/reporting/skipped-calls.ts";
import { AgentFaultError, type ToolEnd } from "../../../src/client/reporting/tool-end.ts";
import type { OutcomeRequest } from "../../../src/client/messages.ts";
import { recordWarnings } from "./_warnings.ts";

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
const wrapping = (cause: unknown) => new Error("wrapped", { cause });
const end = { toolName: "pay", input: { amount: 7 }, decision, output: "sent" };

async function report(given: ToolEnd, options: OutcomeReportOptions = {}) {
  const { client, taken } = taking();
  const rail = outcomeReport({ client, ...options });
  rail(given);
  await rail.queue.flush(5000);
  return { taken, skipped: rail.skipped };
}

const NONE = {
  refused: 0,
  notRun: 0,
  unfinished: 0,
  faultUnknown: 0,
  undecided: 0,
  unattributed: 0,
};
const refuse = { ...decision, action: "deny" as const };
/** As `approvalByTool` decides on a tool that needs none. */
const ungated: ToolDecision = { action: "run", reason: "", verdict: undefined };
const boom = (): never => {
  throw new Error("boom");
};
const undecided = { ...end, decision: undefined };

const warned = recordWarnings();

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

  /** A caller's, for whom every failure is the agent's. */
  const blame = { isAgentFault: () => true };
  it.each<[keyof typeof NONE, string, ToolEnd, OutcomeReportOptions]>([
    ["refused", "a refusal", { ...end, decision: refuse }, {}],
    ["unfinished", "an abort", { ...end, error: new DOMException("", "AbortError") }, blame],
    ["unfinished", "a timeout", { ...end, error: new DOMException("", "TimeoutError") }, blame],
    [
      "unfinished",
      "a wrapped timeout",
      { ...end, error: wrapping({ name: "TimeoutError" }) },
      blame,
    ],
    ["unfinished", "an interrupt", { ...end, error: wrapping({ is_bubble_up: true }) }, blame],
    ["unfinished", "an own reason", { ...end, error: 5, signal: AbortSignal.abort(5) }, blame],
    [
      "unfinished",
      "an agent's fault after the abort",
      { ...end, error: new AgentFaultError("x"), signal: AbortSignal.abort() },
      blame,
    ],
    ["faultUnknown", "a throw", { ...end, error: new Error("x") }, {}],
    ["faultUnknown", "a thrown text", { ...end, error: "x" }, {}],
    ["faultUnknown", "no word", { ...end, error: 1 }, { isAgentFault: () => undefined }],
    ["faultUnknown", "a judged throw", { ...end, error: 1 }, { isSuccess: () => false }],
    ["undecided", "a tool without a gate", { ...end, decision: ungated }, {}],
    [
      "undecided",
      "the same, with a subject",
      { ...end, decision: ungated },
      { subject: () => "x" },
    ],
    ["undecided", "no decision", undecided, {}],
    [
      "undecided",
      "a policy not asked",
      undecided,
      { subject: () => "x", policy: async () => refuse },
    ],
    ["unattributed", "no subject", end, { subject: () => undefined }],
    ["unattributed", "success unknown", end, { isSuccess: () => undefined }],
    ["unattributed", "a callback that throws", end, { stakes: boom }],
  ])("counts as %s and does not report: %s", async (why, _name, given, options) => {
    const { taken, skipped } = await report(given, options);
    expect([taken, skipped]).toEqual([[], { ...NONE, [why]: 1 }]);
  });

  it.each<[string, unknown, OutcomeReportOptions, object]>([
    ["an AgentFaultError", new AgentFaultError("x"), {}, { agent_fault: true }],
    ["one that is wrapped", wrapping(new AgentFaultError("x")), {}, { agent_fault: true }],
    ["one of another copy", { agentFault: true }, {}, { agent_fault: true }],
    [
      "one for a counterparty that was late",
      new AgentFaultError("late", { cause: new DOMException("", "TimeoutError") }),
      {},
      { agent_fault: true },
    ],
    ["an excuse", { agentFault: false }, {}, { agent_fault: false }],
    ["a callback above the error", { agentFault: false }, blame, { agent_fault: true }],
    ["a callback", new Error("x"), { isAgentFault: () => false }, { agent_fault: false }],
  ])("says whose fault a throw is by %s", async (_name, error, options, expected) => {
    const { taken } = await report({ ...end, error }, options);
    expect(taken).toMatchObject([{ outcome: 0, ...expected }]);
  });

  it("takes a throw for a success where its caller does", async () => {
    const { taken } = await report({ ...end, error: 1 }, { isSuccess: () => true });
    expect(taken).toMatchObject([{ outcome: 1 }]);
  });

  it("reports a call that no policy is named for on the subject that its caller names", async () => {
    const { taken } = await report(undecided, { subject: () => "agent://shop/seller" });
    expect(taken).toMatchObject([{ outcome: 1, stakes: 0 }]);
  });

  it("never takes a circle of causes for an endless one", async () => {
    const error = new Error("round");
    error.cause = error;
    expect((await report({ ...end, error })).skipped).toEqual({ ...NONE, faultUnknown: 1 });
  });

  it("warns once of a tool that ran without a decision, and of each other one", async () => {
    const rail = outcomeReport({ client: taking().client });
    for (const toolName of ["pay", "pay", "look"]) rail({ ...undecided, toolName });
    expect(warned()).toEqual([
      expect.stringMatching(/^trustrank: the tool `pay` ran without a decision/),
      expect.stringMatching(/^trustrank: the tool `look` ran without a decision/),
    ]);
    expect(rail.skipped).toEqual({ ...NONE, undecided: 3 });
  });

  it("warns once that nobody reports, and of a callback that throws", async () => {
    const client = new TrustRankClient({ baseUrl: "http://trust" });
    const rail = outcomeReport({ client });
    rail(end);
    rail(end);
    outcomeReport({ client, reporter: "agent://acme/me", stakes: boom })(end);
    expect(warned()).toEqual([
      "trustrank: an outcome of the tool `pay` was not reported: there is no reporter: pass `reporter`, or `agentId` to the client",
      "trustrank: an outcome of the tool `pay` was not reported: boom",
    ]);
  });

  it("tells `onSkip` in place of the warnings, and survives one that throws", async () => {
    const calls: SkippedCall[] = [];
    const onSkip = (call: SkippedCall) => {
      calls.push(call);
      boom();
    };
    const rail = outcomeReport({ client: taking().client, onSkip, stakes: boom });
    for (const given of [undecided, end, { ...end, error: new Error("x") }]) rail(given);
    rail.skip("notRun", "pay");
    const toolName = "pay";
    expect(calls).toEqual([
      { why: "undecided", toolName },
      { why: "unattributed", toolName, error: new Error("boom") },
      { why: "faultUnknown", toolName },
      { why: "notRun", toolName },
    ]);
    expect(warned()).toEqual([]);
  });

  it("says nothing of a tool that needs no gate, nor of what is told by design", async () => {
    const silent = [
      { ...end, decision: ungated },
      { ...end, decision: refuse },
    ];
    for (const given of [...silent, { ...end, error: new Error("x") }]) await report(given);
    await report(end, { subject: () => undefined });
    expect(warned()).toEqual([]);
  });
});
