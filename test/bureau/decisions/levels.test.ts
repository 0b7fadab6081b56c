// `levels` of a verify answer: there when asked for, by the rules that each level answers with itself,
// and silent where a person would look.
import { describe, expect, it } from "vitest";
import {
  DEFAULT_POLICY,
  MINIMUM_SCORES_DEFAULT,
  type Policy,
} from "../../../src/contract/policy.ts";
import type { VerifyResponse } from "../../../src/contract/schemas/scores.ts";
import { TOOL_LEVELS, type ToolLevel } from "../../../src/contract/vocabulary.ts";
import { createActivePolicy } from "../../../src/policy/active-policy.ts";
import { BROKEN_TEXT, openSampleBureau, principal } from "../_harness.ts";

const GOOD = "agent://acme/ledger-sync";
const BAD = "agent://quickcash/loan-broker";
const NEW = "agent://new/comer";
const call = {
  requestId: "request-1",
  principal: { ...principal, minimumScores: MINIMUM_SCORES_DEFAULT },
};

function open(policy: Policy = DEFAULT_POLICY) {
  const active = createActivePolicy(policy);
  const { bureau } = openSampleBureau({
    policies: { findActivePolicy: () => active, findPolicyVersion: () => policy },
  });
  return (agent_id: string, tool_level: ToolLevel, more: object = {}) =>
    bureau.verify(
      { agent_id, action: "a.b", tool_level, context: {}, ...more },
      call,
    ) as VerifyResponse;
}

const named = ({ levels }: VerifyResponse) => Object.keys(levels ?? {});

describe("levels", () => {
  it("are there when asked for, and change nothing else", () => {
    const verify = open();
    const plain = verify(GOOD, "L2", { stakes: 5 });
    expect("levels" in plain).toBe(false);
    expect("levels" in verify(GOOD, "L2", { levels: false })).toBe(false);
    const { levels, ...rest } = verify(GOOD, "L2", { stakes: 5, levels: true });
    expect(rest).toEqual(plain);
    expect(Object.keys(levels!)).toEqual([...TOOL_LEVELS]);
  });

  it("say of each level what it says itself", () => {
    const verify = open();
    for (const agent of [GOOD, "agent://globex/price-scout", "agent://umbrella/records"]) {
      for (const stakes of [0, 3, 400, 1e6]) {
        const { levels } = verify(agent, "L2", { stakes, levels: true });
        for (const name of TOOL_LEVELS) {
          const level = levels?.[name];
          if (level === undefined) continue;
          const own = verify(agent, name, { stakes });
          expect(level).toMatchObject({
            verdict: own.policy_action.verdict,
            log_reason: own.policy_action.log_reason,
            threshold_met: own.trust_evaluation.threshold_met,
            reason_codes: own.reason_codes,
            max_stakes: own.max_stakes,
            enforced: own.enforced,
          });
          expect(level.holds_from).toBeLessThanOrEqual(stakes);
          expect(level.holds_to ?? Infinity).toBeGreaterThanOrEqual(stakes);
        }
      }
    }
  });

  it("leave out what must be on record, but for the level that asks", () => {
    const verify = open();
    expect(named(verify(BAD, "L3", { levels: true }))).toEqual(["L3"]);
    expect(named(verify(BAD, "L0", { levels: true }))).toEqual(["L0"]);
    // A newcomer is flagged once a day: after that L1 speaks for itself. Asking aside does not count.
    expect(named(verify(NEW, "L2", { levels: true }))).toEqual(["L0", "L2", "L3"]);
    expect(verify(NEW, "L1").policy_action.log_reason).toBe("THIN_FILE_FLAGGED");
    expect(verify(NEW, "L2", { levels: true }).levels?.L1?.log_reason).toBe("THIN_FILE_TOLERATED");
  });

  it("judge the same content as the answer", () => {
    const altered = { content: BROKEN_TEXT };
    const { levels } = open()(GOOD, "L3", { context: altered, levels: true });
    expect(levels?.L3).toMatchObject({ verdict: "BLOCK", log_reason: "CONTENT_RECORDED_FALSE" });
    for (const name of ["L0", "L1", "L2"] as const)
      expect(levels?.[name], "flagged or quarantined: goes on record").toBeUndefined();
  });
});

describe("max_stakes", () => {
  it("ends where the stakes themselves make the agent too risky for the policy", () => {
    // A bound so strict that only the proven record meets it: beyond ten times what was proven the
    // agent counts as untested, whatever `check` would still connect.
    const strict = { ...DEFAULT_POLICY.levels.L2, allow_up_to: 0.02, counts_stakes: false };
    const verify = open({ ...DEFAULT_POLICY, levels: { ...DEFAULT_POLICY.levels, L2: strict } });
    const { policy_action: policy, max_stakes: bound } = verify(GOOD, "L2");
    expect(policy.verdict).toBe("ALLOW");
    expect(bound).toBeGreaterThan(0);
    expect(verify(GOOD, "L2", { stakes: bound }).policy_action.verdict).toBe("ALLOW");
    const above = verify(GOOD, "L2", { stakes: bound! * 1.001 });
    expect(above.policy_action.log_reason).toBe("RISK_ABOVE_BOUND");
  });
});
