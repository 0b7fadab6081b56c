// verify, check and handshake over the real engine and the sample history.
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";

import type {
  CheckResponse,
  HandshakeResponse,
  VerifyResponse,
} from "../../../src/contract/schemas/scores.ts";
import { DECISIONS, TOOL_LEVELS } from "../../../src/contract/vocabulary.ts";
import type { ToolLevel } from "../../../src/contract/vocabulary.ts";
import { BROKEN_TEXT, call, NEWEST_MS, openSampleBureau, principal } from "../_harness.ts";

const GOOD = "agent://acme/ledger-sync";
const TURNED_BAD = "agent://globex/price-scout";
const FRAUD = "agent://quickcash/loan-broker";
const NEWCOMER = "agent://hooli/new-hire";
const UNKNOWN = "agent://nowhere/nobody";

const { bureau, engine } = openSampleBureau();

function verify(agentId: string, level: ToolLevel, from = bureau, by = call): VerifyResponse {
  const request = { agent_id: agentId, action: "a.b", tool_level: level, context: {} };
  return from.verify(request, by) as VerifyResponse;
}

function check(subject: string, stakes: number): CheckResponse {
  return bureau.check({ subject, stakes }, call) as CheckResponse;
}

function handshake(initiator: string, counterparty: string, stakes: number): HandshakeResponse {
  return bureau.handshake({ initiator, counterparty, stakes }, call) as HandshakeResponse;
}

describe("verify", () => {
  it("tells the sample's agents apart", () => {
    expect(verify(GOOD, "L2").policy_action.verdict).toBe("ALLOW");
    expect(verify(TURNED_BAD, "L2").policy_action).toEqual({
      verdict: "CHALLENGE",
      log_reason: "RISK_ABOVE_BOUND",
    });
    expect(verify(FRAUD, "L2").policy_action).toEqual({
      verdict: "QUARANTINE",
      log_reason: "RISK_ABOVE_BORDER",
    });
    expect(verify(NEWCOMER, "L2").policy_action.verdict).toBe("CHALLENGE");
    expect(verify(TURNED_BAD, "L1").policy_action).toEqual({
      verdict: "ALLOW",
      log_reason: "RISK_FLAGGED_FOR_REVIEW",
    });
  });

  it("carries the whole of the contract", () => {
    const response = verify(TURNED_BAD, "L3");
    const { failurePessimistic, failureOptimistic } = engine.check(TURNED_BAD, 0, NEWEST_MS);
    expect(response).toEqual({
      request_id: "request-1",
      trust_evaluation: {
        score: Math.round((100 * (response.trust_evaluation.internal_score - 300)) / 550),
        threshold_met: false,
        risk_level: "CRITICAL",
        internal_score: Math.round(engine.check(TURNED_BAD, 0, NEWEST_MS).scoreInternal),
        tier: "D",
        regime: expect.stringMatching(/^(drifting|shock)$/),
        confidence: expect.closeTo(1 - (failurePessimistic - failureOptimistic), 3),
      },
      provenance_data: {
        is_hallucinated: false,
        source_verified: false,
        reason: "The request names neither content nor sources, so nothing was assessed.",
      },
      policy_action: { verdict: "CHALLENGE", log_reason: "RISK_ABOVE_BOUND" },
      reason_codes: expect.arrayContaining(["FAILURE_HISTORY", "PROVENANCE_NOT_ASSESSED"]),
      max_stakes: 0,
      enforced: true,
      config_version: expect.stringMatching(/^c-[0-9a-f]{16}$/),
      policy_version: expect.stringMatching(/^p-[0-9a-f]{16}$/),
      evaluated_at: "2026-01-01T00:00:00.000Z",
      expires_at: "2026-01-01T00:05:00.000Z",
    });
  });

  it("scores an agent without history as a newcomer, without a regime", () => {
    const response = verify(UNKNOWN, "L2");
    expect(response.trust_evaluation).not.toHaveProperty("regime");
    expect(response.trust_evaluation.tier).toBe("REVIEW");
    expect(response.reason_codes).toEqual(["THIN_FILE", "PROVENANCE_NOT_ASSESSED"]);
    expect(response.trust_evaluation.risk_level).not.toBe("CRITICAL");
    for (const level of ["L2", "L3"] as const) {
      expect(verify(UNKNOWN, level).policy_action).toEqual({
        verdict: "CHALLENGE",
        log_reason: "THIN_FILE",
      });
    }
  });

  it("flags a thin record at L1 once a day", () => {
    const { bureau: fresh } = openSampleBureau();
    const labels = [1, 2].map(() => verify(UNKNOWN, "L1", fresh).policy_action.log_reason);
    expect(labels).toEqual(["THIN_FILE_FLAGGED", "THIN_FILE_TOLERATED"]);
  });

  it("decides the stakes as check does, and says how far ALLOW goes", () => {
    const at = (agent_id: string, stakes?: number) =>
      bureau.verify(
        { agent_id, action: "a.b", tool_level: "L2", context: {}, ...(stakes && { stakes }) },
        call,
      ) as VerifyResponse;
    const limit = at(GOOD).max_stakes!;
    expect(limit).toBeGreaterThan(0);
    expect(at(GOOD, limit).policy_action.verdict).toBe("ALLOW");
    expect(at(GOOD, limit * 1.01).policy_action).toEqual({
      verdict: "CHALLENGE",
      log_reason: "STAKES_NEED_VERIFICATION",
    });
    expect(at(GOOD, limit * 1.01).max_stakes).toBe(limit);
    // Far above what it has proven its record no longer counts, and the score itself is too low.
    expect(at(GOOD, 1e9).policy_action.log_reason).toBe("BELOW_TENANT_MINIMUM");
    expect(at(GOOD, 1e9).reason_codes).toContain("STAKE_ABOVE_PROVEN");
    expect(verify(GOOD, "L1").max_stakes).toBeNull();
  });

  it("gives no reasons against the agent with a clear verdict", () => {
    expect(verify(GOOD, "L2").reason_codes).toEqual(["PROVENANCE_NOT_ASSESSED"]);
  });

  it("holds the tenant's own minimum at L2 and L3 alone", () => {
    const strict = {
      requestId: "r",
      principal: { ...principal, minimumScores: { L0: 850, L1: 850, L2: 850, L3: 850 } },
    };
    for (const level of TOOL_LEVELS) {
      const { trust_evaluation, policy_action } = verify(GOOD, level, bureau, strict);
      expect(trust_evaluation.threshold_met).toBe(false);
      const isSensitive = level === "L2" || level === "L3";
      expect(policy_action.verdict).toBe(isSensitive ? "CHALLENGE" : "ALLOW");
    }
    expect(verify(GOOD, "L2", bureau, strict).policy_action.log_reason).toBe(
      "BELOW_TENANT_MINIMUM",
    );
  });

  it("is not enforced in shadow mode, and otherwise the same", () => {
    const shadow = { requestId: "request-1", principal: { ...principal, isShadow: true } };
    const response = verify(FRAUD, "L3", bureau, shadow);
    expect(response).toEqual({ ...verify(FRAUD, "L3"), enforced: false });
  });

  it("puts broken provenance first among the reasons", () => {
    const context = { content: BROKEN_TEXT };
    const request = { agent_id: FRAUD, action: "a.b", tool_level: "L0", context } as const;
    const response = bureau.verify(request, call) as VerifyResponse;
    expect(response.policy_action).toEqual({
      verdict: "ALLOW",
      log_reason: "CONTENT_RECORDED_FALSE",
    });
    expect(response.reason_codes[0]).toBe("CONTENT_RECORDED_FALSE");
  });

  it("never gives more than four reason codes, and none twice", () => {
    const agents = fc.constantFrom(GOOD, TURNED_BAD, FRAUD, NEWCOMER, UNKNOWN);
    fc.assert(
      fc.property(agents, fc.constantFrom(...TOOL_LEVELS), (agentId, level) => {
        const codes = verify(agentId, level).reason_codes;
        expect(codes.length).toBeLessThanOrEqual(4);
        expect(new Set(codes).size).toBe(codes.length);
      }),
    );
  });
});

describe("check", () => {
  it("is never more lenient at higher stakes, and holds up to max_stakes", () => {
    const stakes = fc.double({ min: 0, max: 1e6, noNaN: true });
    const agents = fc.constantFrom(GOOD, TURNED_BAD, FRAUD, NEWCOMER, UNKNOWN);
    fc.assert(
      fc.property(agents, stakes, stakes, (subject, first, second) => {
        const low = check(subject, Math.min(first, second));
        const high = check(subject, Math.max(first, second));
        expect(DECISIONS.indexOf(high.decision)).toBeGreaterThanOrEqual(
          DECISIONS.indexOf(low.decision),
        );
        const atMost = check(subject, low.max_stakes ?? low.stakes);
        expect(DECISIONS.indexOf(atMost.decision)).toBeLessThanOrEqual(
          low.max_stakes === 0 ? 3 : DECISIONS.indexOf(low.decision),
        );
      }),
    );
  });

  it("gives reasons exactly when the decision is not clear", () => {
    for (const stakes of [0, 1, 10, 100, 1000, 10_000]) {
      for (const subject of [GOOD, TURNED_BAD, FRAUD, NEWCOMER, UNKNOWN]) {
        const response = check(subject, stakes);
        expect(response.reasons.length > 0).toBe(response.decision !== "connect");
        expect(response.reason_codes).toHaveLength(response.reasons.length);
        expect(response.allowed).toBe(DECISIONS.indexOf(response.decision) <= 1);
      }
    }
  });

  it("tells unlimited stakes from none", () => {
    expect(check("agent://test/connect", 10)).toMatchObject({ max_stakes: null });
    expect(check("agent://test/refuse", 10)).toMatchObject({ decision: "refuse", max_stakes: 0 });
  });

  it("names what would still open where a person is asked", () => {
    const response = check(GOOD, 1e6);
    expect(response.decision).toBe("escalate");
    expect(check(GOOD, response.max_stakes!).allowed).toBe(true);
    expect(check(GOOD, response.max_stakes! * 1.01).allowed).toBe(false);
    expect(response.reasons[0]).toContain(`up to ${response.max_stakes} would connect`);
  });

  it("names no amount for a record that nearly surely fails, and connects it at none", () => {
    for (const stakes of [0, 0.01, 20, 1e6]) {
      const response = check(TURNED_BAD, stakes);
      expect(response).toMatchObject({ decision: "escalate", allowed: false, max_stakes: 0 });
      expect(response.reasons[0]).toContain("no amount would connect");
    }
  });
});

describe("handshake", () => {
  it("scores the counterparty a_to_b and the initiator b_to_a", () => {
    const response = handshake(GOOD, FRAUD, 50);
    expect(response.a_to_b.subject).toBe(FRAUD);
    expect(response.b_to_a.subject).toBe(GOOD);
    expect(response.decision).toBe(response.a_to_b.decision);
    expect(response.connected).toBe(false);
    const both = [...response.a_to_b.reasons, ...response.b_to_a.reasons];
    expect(response.reasons).toEqual([...new Set(both)]);
  });

  it("says what both legs say only once", () => {
    const response = handshake("agent://nowhere/a", "agent://nowhere/b", 50);
    expect(response.a_to_b.reasons).toEqual(response.b_to_a.reasons);
    expect(response.reasons).toEqual(response.a_to_b.reasons);
  });
});
