// Reserved test agents: every branch of a caller, on demand, and never in production.
import { describe, expect, it } from "vitest";

import type { HandshakeResponse, VerifyResponse } from "../../../src/contract/schemas/scores.ts";
import { TOOL_LEVELS, VERDICTS } from "../../../src/contract/vocabulary.ts";
import type { ToolLevel } from "../../../src/contract/vocabulary.ts";
import { readTable, readYesNo } from "../../tables/_read-table.ts";
import { call, openSampleBureau } from "../_harness.ts";

const GOOD = "agent://acme/ledger-sync";

const { bureau, delaysMs } = openSampleBureau();

function verify(agentId: string, level: ToolLevel, from = bureau, by = call): VerifyResponse {
  const request = { agent_id: agentId, action: "a.b", tool_level: level, context: {} };
  return from.verify(request, by) as VerifyResponse;
}

function handshake(initiator: string, counterparty: string, stakes: number): HandshakeResponse {
  return bureau.handshake({ initiator, counterparty, stakes }, call) as HandshakeResponse;
}

describe("reserved test agents", () => {
  const names: Record<string, string> = {
    connect: "connect",
    connect_with_verification: "verify",
    escalate: "escalate",
    refuse: "refuse",
  };

  for (const row of readTable("handshake.txt")) {
    it(`${row.b_to_a} asking ${row.a_to_b} is ${row.decision}`, () => {
      const initiator = `agent://test/${names[row.b_to_a!]}`;
      const response = handshake(initiator, `agent://test/${names[row.a_to_b!]}`, 1e9);
      expect(response.a_to_b.decision).toBe(row.a_to_b);
      expect(response.b_to_a.decision).toBe(row.b_to_a);
      expect(response.decision).toBe(row.decision);
      expect(response.connected).toBe(readYesNo(row.connected));
    });
  }

  it("reach every verdict of verify", () => {
    const verdicts = TOOL_LEVELS.flatMap((level) =>
      ["connect", "verify", "escalate", "refuse"].map(
        (name) => verify(`agent://test/${name}`, level).policy_action.verdict,
      ),
    );
    expect(new Set(verdicts)).toEqual(new Set(VERDICTS));
    expect(verify("agent://test/connect", "L3").policy_action.verdict).toBe("ALLOW");
    expect(verify("agent://test/refuse", "L2").policy_action.verdict).toBe("BLOCK");
    expect(verify("agent://test/hallucinated", "L3")).toMatchObject({
      provenance_data: { is_hallucinated: true },
      policy_action: { verdict: "BLOCK", log_reason: "CONTENT_HALLUCINATED" },
    });
  });

  it("answer slowly as `slow`, in all three calls", async () => {
    const slow = "agent://test/slow";
    const context = {};
    delaysMs.length = 0;
    const answers = await Promise.all([
      bureau.check({ subject: slow, stakes: 1 }, call),
      bureau.handshake({ initiator: GOOD, counterparty: slow, stakes: 0 }, call),
      bureau.verify({ agent_id: slow, action: "a.b", tool_level: "L3", context }, call),
    ]);
    expect(delaysMs).toEqual([250, 250, 250]);
    expect(answers[0].decision).toBe("connect");
    expect(answers[1].a_to_b.decision).toBe("connect");
    expect(answers[2].policy_action.verdict).toBe("ALLOW");
  });

  it("do not answer where they are switched off; their neighbours do", () => {
    const production = openSampleBureau({ isReservedEnabled: false }).bureau;
    const refused = expect.objectContaining({ code: "reserved_agent" });
    expect(() => verify("agent://test/connect", "L3", production)).toThrow(refused);
    const request = { initiator: GOOD, counterparty: "agent://test/connect", stakes: 1 };
    expect(() => production.handshake(request, call)).toThrow(refused);
    expect(verify("agent://test/other", "L3", production).trust_evaluation.tier).toBe("REVIEW");
  });
});
