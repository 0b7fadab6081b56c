// The policy of verify against its text tables, the properties that no table can show, and the trace of the rules
// against the decision: whatever the level, the risk and the provenance, both name the same rule.
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";

import { applyPolicyRules, computeRiskIndex, traceRules } from "../../src/policy/rules.ts";
import { createRuleInputs } from "../../src/policy/rule-inputs.ts";
import type { PolicyRisk, RuleInputs } from "../../src/policy/rule-inputs.ts";
import { DEFAULT_POLICY } from "../../src/contract/policy.ts";
import type { LevelPolicy } from "../../src/contract/policy.ts";
import { ON_VERIFICATION } from "../../src/contract/stakes-policy.ts";
import { isFlaggedVerdict } from "../../src/contract/flagged.ts";
import { RISK_LEVELS, TOOL_LEVELS, VERDICTS } from "../../src/contract/vocabulary.ts";
import type { FindingCode, ToolLevel } from "../../src/contract/vocabulary.ts";
import { readTable, readYesNo } from "../tables/_read-table.ts";
import {
  computeLogit,
  createRisk,
  createRiskAtStakes,
  policyRisks,
  SHIPPED,
  STAKES_OF_ALL,
} from "./_connections.ts";

const CLEAR = createRisk({ failureProbability: 0.001, ...createRiskAtStakes("connect") });

function decide(
  toolLevel: ToolLevel,
  risk: Partial<PolicyRisk>,
  isMet = true,
  code: FindingCode | "" = "",
  stakes = STAKES_OF_ALL,
) {
  return applyPolicyRules({
    ...createRuleInputs(toolLevel, undefined, { ...CLEAR, ...risk }),
    stakes,
    isMinimumMet: isMet,
    failureCode: code,
  });
}

describe("policy table", () => {
  for (const row of readTable("policy.txt")) {
    it(`${row.level} at p ${row.p}, thin ${row.thin}, denied ${row.denied}`, () => {
      const failureProbability = Number(row.p);
      const ruling = decide(row.level as ToolLevel, {
        failureProbability,
        isThin: readYesNo(row.thin),
        isDenied: readYesNo(row.denied),
      });
      expect(VERDICTS[ruling.verdictIndex]).toBe(row.verdict);
      expect(ruling.logReason).toBe(row.log_reason);
      expect(ruling.isFlagged).toBe(readYesNo(row.flagged));
      expect(RISK_LEVELS[computeRiskIndex(failureProbability)]).toBe(row.risk);
    });
  }
});

describe("rules on top of the table", () => {
  for (const row of readTable("policy-rules.txt")) {
    const facts = `met ${row.met}, refused ${row.refused}, ${row.stakes}, ${row.hard}`;
    it(`${row.level} at p ${row.p}, ${facts} is ${row.verdict}`, () => {
      const ruling = decide(
        row.level as ToolLevel,
        {
          failureProbability: Number(row.p),
          isRefused: readYesNo(row.refused),
          ...createRiskAtStakes(row.stakes as Parameters<typeof createRiskAtStakes>[0]),
        },
        readYesNo(row.met),
        row.hard === "-" ? "" : (row.hard as FindingCode),
      );
      expect(VERDICTS[ruling.verdictIndex]).toBe(row.verdict);
      expect(ruling.logReason).toBe(row.log_reason);
    });
  }
});

describe("a tenant's own numbers", () => {
  const L2 = DEFAULT_POLICY.levels.L2;
  const rule = (level: Partial<LevelPolicy>, risk: Partial<PolicyRisk>, isSourced = true) => {
    const ruling = applyPolicyRules({
      ...createRuleInputs("L2", { ...L2, ...level }, { ...CLEAR, ...risk }),
      stakes: STAKES_OF_ALL,
      areSourcesVerified: isSourced,
    });
    return `${VERDICTS[ruling.verdictIndex]} ${ruling.logReason}`;
  };

  it("denies from a border of its own, whatever was fitted", () => {
    const risk = { failureProbability: 0.5, failureOptimistic: 0.3 };
    expect(rule({ deny_from: 0.5 }, risk)).toBe("QUARANTINE RISK_ABOVE_BORDER");
    expect(rule({ deny_from: 0.3 }, risk)).toBe("BLOCK REFUSE_RULE");
    expect(rule({ deny_from: 0.51 }, { ...risk, isDenied: true })).toBe(
      "CHALLENGE RISK_ABOVE_BOUND",
    );
    expect(rule({ deny_from: "never" }, { ...risk, isDenied: true })).toBe(
      "CHALLENGE RISK_ABOVE_BOUND",
    );
  });

  it("never denies a thin record, by any border", () => {
    const risk = { failureProbability: 0.99, failureOptimistic: 0.98, isThin: true };
    expect(rule({ deny_from: 0.01 }, risk)).toBe("CHALLENGE THIN_FILE");
  });

  it("refuses a fraud flag or a revoked key under any border", () => {
    expect(rule({ deny_from: "never" }, { isRefused: true })).toBe("BLOCK REFUSE_RULE");
  });

  it("lets a thin record through where the tenant says so", () => {
    expect(rule({ thin: "allow" }, { isThin: true })).toBe("ALLOW THIN_FILE_TOLERATED");
    const uncounted = { counts_stakes: false };
    expect(rule({ thin: "flag", ...uncounted }, { isThin: true })).toBe("ALLOW THIN_FILE_FLAGGED");
    // At stakes only `allow` connects a thin record without verification.
    expect(rule({ thin: "flag" }, { isThin: true })).toBe("CHALLENGE THIN_FILE");
  });

  it("flags broken evidence or withholds it, by the level unless the tenant says", () => {
    const at = (
      toolLevel: ToolLevel,
      own: Partial<LevelPolicy>,
      risk: Partial<PolicyRisk> = {},
    ) => {
      const level = { ...DEFAULT_POLICY.levels[toolLevel], ...own };
      const ruling = applyPolicyRules({
        ...createRuleInputs(toolLevel, level, { ...CLEAR, ...risk }),
        failureCode: "CONTENT_HALLUCINATED",
      });
      const mark = ruling.isFlagged ? " flagged" : "";
      return `${VERDICTS[ruling.verdictIndex]} ${ruling.logReason}${mark}`;
    };
    for (const level of ["L0", "L1"] as const) {
      expect(at(level, {})).toBe("ALLOW CONTENT_HALLUCINATED flagged");
      expect(at(level, {}, { isRefused: true })).toBe("ALLOW CONTENT_HALLUCINATED flagged");
      expect(at(level, { enforce: true })).toBe("CHALLENGE CONTENT_HALLUCINATED");
      expect(at(level, { broken_evidence: "withhold" })).toBe("CHALLENGE CONTENT_HALLUCINATED");
    }
    expect(at("L2", { enforce: false })).toBe("QUARANTINE CONTENT_HALLUCINATED");
    expect(at("L2", { broken_evidence: "flag" })).toBe("ALLOW CONTENT_HALLUCINATED flagged");
    expect(at("L2", { broken_evidence: "flag" }, { isRefused: true })).toBe("BLOCK REFUSE_RULE");
  });

  it("asks for registered sources, or leaves the stakes out, where the tenant says so", () => {
    expect(rule({ require_verified_sources: true }, {}, false)).toBe(
      "CHALLENGE VERIFIED_SOURCES_REQUIRED",
    );
    const escalate = createRiskAtStakes("escalate");
    expect(rule({}, escalate)).toBe("CHALLENGE STAKES_NEED_APPROVAL");
    expect(rule({ counts_stakes: false }, escalate)).toBe("ALLOW TRUST_SUFFICIENT");
  });
});

describe("policy properties", () => {
  const level = fc.constantFrom(...TOOL_LEVELS);
  const probability = fc.double({ min: 0, max: 1, noNaN: true });
  const risk = policyRisks.map((given) => ({
    ...given,
    failureOptimistic: given.failureProbability / 2,
  }));
  const hard = fc.constantFrom("", "HASH_MISMATCH", "UNSUPPORTED_CONTENT");

  it("is never more lenient for a more sensitive tool", () => {
    fc.assert(
      fc.property(risk, fc.boolean(), hard, (given, met, code) => {
        for (const stakes of [0, 10, STAKES_OF_ALL, 1e6]) {
          const verdicts = TOOL_LEVELS.map(
            (each) => decide(each, given, met, code, stakes).verdictIndex,
          );
          expect(verdicts).toEqual(verdicts.toSorted((a, b) => a - b));
        }
      }),
      { numRuns: 500 },
    );
  });

  it("is never more lenient for risk, a missed minimum, a refusal, stakes or bad evidence", () => {
    fc.assert(
      fc.property(level, probability, probability, (toolLevel, first, second) => {
        const [low, high] = first < second ? [first, second] : [second, first];
        const at = (more: Partial<PolicyRisk>, met = true, code: FindingCode | "" = "") =>
          decide(toolLevel, { failureProbability: low, ...more }, met, code).verdictIndex;
        const base = at({});
        expect(at({ failureProbability: high })).toBeGreaterThanOrEqual(base);
        expect(at({}, false)).toBeGreaterThanOrEqual(base);
        expect(at({ isRefused: true })).toBeGreaterThanOrEqual(base);
        expect(at({ isDenied: true })).toBeGreaterThanOrEqual(base);
        expect(at(createRiskAtStakes("escalate"))).toBeGreaterThanOrEqual(base);
        expect(at({}, true, "HASH_MISMATCH")).toBeGreaterThanOrEqual(base);
      }),
    );
  });

  it("never denies for doubt alone", () => {
    fc.assert(
      fc.property(level, probability, probability, (toolLevel, failureProbability, cautious) => {
        const stakesLogit = computeLogit(cautious);
        const ruling = decide(toolLevel, { failureProbability, stakesLogit, isThin: true });
        expect(ruling.verdictIndex).toBeLessThanOrEqual(VERDICTS.indexOf("CHALLENGE"));
      }),
    );
  });

  it("labels every ruling in one screaming-snake word", () => {
    fc.assert(
      fc.property(level, risk, fc.boolean(), hard, (...facts) => {
        expect(decide(...facts).logReason).toMatch(/^[A-Z][A-Z0-9]*(_[A-Z0-9]+)*$/);
      }),
    );
  });
});

const share = fc.oneof(
  fc.constantFrom(0, 0.05, 0.1, 0.15, 1),
  fc.double({ min: 0, max: 1, noNaN: true }),
);
const ruleLevel = fc.record({
  allow_up_to: share,
  flag_above: share,
  thin: fc.constantFrom("allow", "flag", "challenge"),
  enforce: fc.boolean(),
  deny_from: fc.oneof(fc.constantFrom("fitted" as const, "never" as const), share),
  counts_stakes: fc.boolean(),
  require_verified_sources: fc.boolean(),
  broken_evidence: fc.constantFrom("flag" as const, "withhold" as const),
});
const inputs = fc
  .record({
    toolLevel: fc.constantFrom(...TOOL_LEVELS),
    level: ruleLevel,
    risk: fc
      .record({ risk: policyRisks, failureProbability: share, failureOptimistic: share })
      .map(({ risk, ...own }) => ({ ...risk, ...own })),
    stakes: fc.constantFrom(0, 1, 30, STAKES_OF_ALL, 1e5),
    onVerification: fc.constantFrom(...ON_VERIFICATION),
    isMinimumMet: fc.boolean(),
    failureCode: fc.constantFrom(
      "" as const,
      "HASH_MISMATCH" as const,
      "SOURCE_REVOKED" as const,
      "UNSUPPORTED_CONTENT" as const,
    ),
    areSourcesVerified: fc.boolean(),
    allowUpTo: share,
    isVouched: fc.boolean(),
    areStakesVouched: fc.boolean(),
    vouchedStakesMax: fc.constant(0),
    scoreInternal: fc.constant(500),
    scoreMinimum: fc.constant(510),
  })
  .map(({ onVerification, ...given }): RuleInputs => {
    const whole: LevelPolicy = {
      ...DEFAULT_POLICY.levels.L0,
      ...(given.level as Partial<LevelPolicy>),
    };
    const terms = { ...SHIPPED.terms[given.toolLevel], onVerification };
    return { ...given, level: whole, terms, isThinAllowed: whole.thin === "allow" };
  });

describe("a trace of the rules", () => {
  it("decides by the rule that the policy decides by", () => {
    fc.assert(
      fc.property(inputs, (given) => {
        const steps = traceRules(given);
        const ruled = applyPolicyRules(given);
        const deciding = steps.filter(({ decides }) => decides);
        expect(deciding.map(({ rule, verdict }) => [rule, verdict])).toEqual([
          [ruled.logReason, VERDICTS[ruled.verdictIndex]],
        ]);
        expect(deciding[0]!.holds).toBe(true);
        // What is flagged can be told from the words on the wire alone.
        const words = { verdict: VERDICTS[ruled.verdictIndex]!, log_reason: ruled.logReason };
        expect(isFlaggedVerdict(words)).toBe(ruled.isFlagged);
      }),
      { numRuns: 3000 },
    );
  });

  it("names the member, its bound and the value, and what was not asked", () => {
    const risk = createRisk({ failureProbability: 0.2, failureOptimistic: 0.1 });
    const steps = traceRules({
      ...createRuleInputs("L2", undefined, risk),
      isMinimumMet: false,
      allowUpTo: 0.1,
      scoreInternal: 460,
      scoreMinimum: 507,
    });
    expect(steps.find(({ decides }) => decides)).toEqual({
      rule: "RISK_ABOVE_BOUND",
      verdict: "CHALLENGE",
      member: "allow_up_to",
      bound: 0.1,
      value: 0.2,
      holds: true,
      decides: true,
    });
    const holds = Object.fromEntries(steps.map((each) => [each.rule, each.holds]));
    expect(holds).toMatchObject({
      REFUSE_RULE: false,
      RISK_ABOVE_BORDER: false,
      THIN_FILE: false,
      TRUST_SUFFICIENT: null,
      // It holds too, but is no stricter than the one that decided.
      BELOW_TENANT_MINIMUM: true,
    });
  });
});
