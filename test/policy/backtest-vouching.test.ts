// The back-test of a policy that vouches: the word counts as it stood when each outcome was asked about.
import { describe, expect, it } from "vitest";
import { DEFAULT_POLICY } from "../../src/contract/policy.ts";
import { createActivePolicy } from "../../src/policy/active-policy.ts";
import { PolicyBacktest } from "../../src/policy/backtest.ts";
import { computeLogit, createRisk } from "./_connections.ts";

describe("a back-test of a policy that vouches", () => {
  const reading = {
    ...createRisk({
      failureProbability: 0.11,
      failureOptimistic: 0.02,
      stakesLogit: computeLogit(0.2),
      isThin: true,
      isJudged: false,
    }),
    scoreInternal: 500,
    reasonIndexes: [],
    reasonCount: 0,
  };
  const untilMs = Date.parse("2026-06-01T00:00:00Z");

  it("takes the word for its namespace, until it expires, and up to its stakes", () => {
    const until = new Date(untilMs).toISOString();
    const word = { namespace: "agent://a/*", until, up_to: "L2", max_stakes: 10 } as const;
    const backtest = new PolicyBacktest({
      live: createActivePolicy(DEFAULT_POLICY),
      given: createActivePolicy({ ...DEFAULT_POLICY, vouched: [word] }),
      agentCount: 2,
    });
    const names = ["agent://a/new", "agent://b/new"];
    for (const [agent, agentId] of names.entries()) {
      for (const nowMs of [untilMs - 1, untilMs]) {
        for (const stakes of [10, 11]) {
          for (const question of [0, 1]) {
            backtest.add(question, { reading, agent, agentId, nowMs, isBad: false, stakes });
          }
        }
      }
    }
    const { rows } = backtest.buildFindings(names);
    const allowed = (question: string, name: string) =>
      ["live", "given"].map(
        (policy) =>
          rows.find((r) => r.policy === policy && r.question === question && r.level === name)!
            .good_allowed,
      );
    // Where no stakes are named, the word is asked at none, and covers that.
    expect(allowed("verify", "L2")).toEqual([0, 2]);
    expect(allowed("verify_with_stakes", "L2")).toEqual([0, 1]);
    expect(allowed("verify_with_stakes", "L3")).toEqual([0, 0]);
  });
});
