// The part of provenance in a verdict: a certain finding never weighs less than a doubt, in score,
// risk and ruling, and what is merely unknown weighs nothing.
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";

import type { ProvenanceFinding } from "../../../src/bureau/decisions/provenance.ts";
import type { VerifyResponse } from "../../../src/contract/schemas/scores.ts";
import { RISK_LEVELS, TOOL_LEVELS, VERDICTS } from "../../../src/contract/vocabulary.ts";
import type { ToolLevel } from "../../../src/contract/vocabulary.ts";
import { call, openSampleBureau } from "../_harness.ts";

const AGENTS = [
  "agent://acme/ledger-sync",
  "agent://globex/price-scout",
  "agent://quickcash/loan-broker",
  "agent://hooli/new-hire",
  "agent://nowhere/nobody",
];
/** Codes of docs/reference/reason-codes.md that are hard, and those that are doubts. */
const CERTAIN = [
  "HASH_MISMATCH",
  "SOURCE_RECORDED_FALSE",
  "SOURCE_MALFORMED",
  "CITATION_MISMATCH",
  "CONTENT_RECORDED_FALSE",
  "CONTENT_RETRACTED",
  "CONTENT_HALLUCINATED",
] as const;
const DOUBTFUL = [
  "CITATION_DOUBTFUL",
  "CITATIONS_CHANGED",
  "CONTENT_NEAR_RECORDED_FALSE",
  "MIXED_SCRIPTS",
  "SOURCE_RETRACTED",
  "SOURCE_REVOKED",
  "UNSUPPORTED_CONTENT",
] as const;

function findingOf(parts: Partial<ProvenanceFinding>): ProvenanceFinding {
  const data = { is_hallucinated: false, source_verified: false, reason: "" };
  return { data, reasonCode: "", hardFailureCode: "", ...parts };
}

let given = findingOf({});
const { bureau } = openSampleBureau({ provenance: { assess: () => given } });

function verify(agentId: string, tool_level: ToolLevel, finding: ProvenanceFinding) {
  given = finding;
  const request = { agent_id: agentId, action: "a.b", tool_level, context: {} };
  const { trust_evaluation, policy_action } = bureau.verify(request, call) as VerifyResponse;
  return {
    score: trust_evaluation.internal_score,
    risk: RISK_LEVELS.indexOf(trust_evaluation.risk_level),
    verdict: VERDICTS.indexOf(policy_action.verdict),
  };
}

const agent = fc.constantFrom(...AGENTS);
const level = fc.constantFrom(...TOOL_LEVELS);
const penalty = fc.double({ min: 0, max: 1, noNaN: true });

describe("a certain finding", () => {
  it.each(CERTAIN)("%s weighs no less than a doubt", (code) => {
    fc.assert(
      fc.property(agent, level, fc.constantFrom(...DOUBTFUL), penalty, (...parts) => {
        const [agentId, toolLevel, doubt, doubtPenalty] = parts;
        const hard = findingOf({ reasonCode: code, hardFailureCode: code });
        const soft = findingOf({
          reasonCode: doubt,
          softFailureCode: doubt,
          penalty: doubtPenalty,
        });
        const certain = verify(agentId, toolLevel, hard);
        const doubtful = verify(agentId, toolLevel, soft);
        expect(certain.score).toBeLessThanOrEqual(doubtful.score);
        expect(certain.risk).toBeGreaterThanOrEqual(doubtful.risk);
        expect(certain.verdict).toBeGreaterThanOrEqual(doubtful.verdict);
      }),
    );
  });

  it.each(CERTAIN)("%s lowers the score and sets the risk to HIGH at least", (code) => {
    for (const agentId of AGENTS) {
      const before = verify(agentId, "L1", findingOf({}));
      const after = verify(agentId, "L1", findingOf({ hardFailureCode: code }));
      expect(after.score).toBe(Math.max(300, before.score - 55));
      expect(after.risk).toBe(Math.max(before.risk, RISK_LEVELS.indexOf("HIGH")));
    }
  });
});

describe("an unknown source", () => {
  it("leaves score, risk and verdict as they are", () => {
    const unknown = findingOf({ reasonCode: "SOURCE_UNKNOWN" });
    for (const agentId of AGENTS) {
      for (const toolLevel of TOOL_LEVELS) {
        expect(verify(agentId, toolLevel, unknown)).toEqual(
          verify(agentId, toolLevel, findingOf({})),
        );
      }
    }
  });
});
