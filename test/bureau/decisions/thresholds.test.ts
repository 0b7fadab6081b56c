// SPEC §2.3 `threshold_met` on every agent of the sample history and the reserved ones, at every level.
import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import type { VerifyResponse } from "../../../src/contract/schemas/scores.ts";
import { DEFAULT_POLICY, MINIMUM_SCORES_DEFAULT } from "../../../src/contract/policy.ts";
import { parsePolicy } from "../../../src/contract/parse/policy.ts";
import { computeInternalScore } from "../../../src/contract/units.ts";
import { TOOL_LEVELS } from "../../../src/contract/vocabulary.ts";
import type { ToolLevel } from "../../../src/contract/vocabulary.ts";
import { createActivePolicy } from "../../../src/policy/active-policy.ts";
import { NEWEST_MS, openSampleBureau, principal } from "../_harness.ts";

const call = {
  requestId: "request-1",
  principal: { ...principal, minimumScores: MINIMUM_SCORES_DEFAULT },
};
const SAMPLE = new URL("../../../data/sample/outcomes.ndjson", import.meta.url);
const AGENTS = [
  ...new Set(
    readFileSync(SAMPLE, "utf8")
      .trim()
      .split("\n")
      .map((line) => (JSON.parse(line) as { subject: string }).subject),
  ),
  "agent://nobody/heard-of",
  ...["connect", "verify", "escalate", "refuse"].map((name) => `agent://test/${name}`),
];
/** The risk up to which a level of that policy neither withholds nor flags. */
const SHIPPED = { L0: 0.4, L1: 0.15, L2: 0.1, L3: 0.05 };
const LENIENT = { L0: 0.4, L1: 0.15, L2: 0.3, L3: 0.2 };
const LEVELS = { L2: { allow_up_to: LENIENT.L2 }, L3: { allow_up_to: LENIENT.L3 } };

it.each([
  ["shipped", DEFAULT_POLICY, SHIPPED],
  ["lenient", parsePolicy({ levels: LEVELS }), LENIENT],
])("says of a %s policy whether the risk is within the level's bound", (_, policy, bounds) => {
  const active = createActivePolicy(policy);
  const policies = { findActivePolicy: () => active, findPolicyVersion: () => policy };
  const { bureau, engine } = openSampleBureau({ policies });
  const verify = (agent: string, level: ToolLevel) =>
    bureau.verify(
      { agent_id: agent, action: "order.place", tool_level: level, context: {} },
      call,
    ) as VerifyResponse;
  const seen = new Set<string>();
  for (const agent of AGENTS) {
    for (const level of TOOL_LEVELS) {
      const { trust_evaluation: trust, policy_action: action } = verify(agent, level);
      const least = Math.round(computeInternalScore(bounds[level]));
      expect(trust.threshold_met, `${agent} at ${level}`).toBe(trust.internal_score >= least);
      if (!agent.startsWith("agent://test/")) {
        const { failureProbability: risk, isThin } = engine.check(agent, 0, NEWEST_MS);
        // Nobody who is allowed for the risk alone is told of a minimum that was missed.
        if (risk <= bounds[level]) expect(trust.threshold_met, agent).toBe(true);
        const isWithheldForRisk = action.log_reason === "RISK_ABOVE_BOUND" && !isThin;
        if (isWithheldForRisk) expect(risk, agent).toBeGreaterThan(bounds[level]);
      }
      seen.add(`${level} ${trust.threshold_met}`);
    }
  }
  // Every level is met by some of them and missed by others.
  expect([...seen].toSorted()).toEqual(
    TOOL_LEVELS.flatMap((name) => [`${name} false`, `${name} true`]),
  );
});
