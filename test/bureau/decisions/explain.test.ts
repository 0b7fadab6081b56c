// explain over the real engine and the sample history: it agrees with check and verify.
import { describe, expect, it } from "vitest";
import type { CheckResponse, VerifyResponse } from "../../../src/contract/schemas/scores.ts";
import { call, openSampleBureau } from "../_harness.ts";

const TURNED_BAD = "agent://globex/price-scout";
const UNKNOWN = "agent://nowhere/nobody";
const AGENTS = [
  "agent://acme/ledger-sync",
  TURNED_BAD,
  "agent://quickcash/loan-broker",
  "agent://hooli/new-hire",
  UNKNOWN,
];

const { bureau } = openSampleBureau();

const check = (subject: string, stakes: number) =>
  bureau.check({ subject, stakes }, call) as CheckResponse;

function scoreOf(agentId: string): number {
  const request = { agent_id: agentId, action: "a.b", tool_level: "L0", context: {} } as const;
  return (bureau.verify(request, call) as VerifyResponse).trust_evaluation.internal_score;
}

describe("explain", () => {
  it("agrees with check at every stakes it names", () => {
    for (const agentId of AGENTS) {
      const explanation = bureau.explainScore(agentId, call);
      expect(explanation.decisions.map((each) => each.stakes)).toEqual([1, 10, 100, 1000, 10_000]);
      for (const { stakes, decision, max_stakes } of explanation.decisions) {
        const checked = check(agentId, stakes);
        expect({ decision, max_stakes }).toEqual({
          decision: checked.decision,
          max_stakes: checked.max_stakes,
        });
      }
      expect(explanation.internal_score).toBe(scoreOf(agentId));
      expect(explanation.improvements).toHaveLength(explanation.reason_codes.length);
    }
  });

  it("shows the evidence, and says what would help", () => {
    const explanation = bureau.explainScore(TURNED_BAD, call);
    expect(explanation).toMatchObject({ known: true, tier: "D" });
    expect(explanation.evidence.outcomes).toBe(240);
    expect(explanation.evidence.last_outcome_at).toMatch(/^2025-12-31T/);
    expect(explanation.reason_codes).toContain("FAILURE_HISTORY");
    expect(explanation.features.length).toBeGreaterThan(0);
  });

  it("explains an unknown agent as the newcomer it is scored as", () => {
    const explanation = bureau.explainScore(UNKNOWN, call);
    expect(explanation).toMatchObject({
      known: false,
      reason_codes: ["STAKES_NEED_APPROVAL", "THIN_FILE"],
    });
    expect(explanation.assumed_stakes).toEqual({ L2: 7, L3: 12 });
    expect(explanation.evidence).toMatchObject({ silent_days: null, stale_since: null });
    expect(explanation).not.toHaveProperty("regime");
    expect(explanation.evidence).toMatchObject({ outcomes: 0, first_seen_at: null });
  });
});
