// An unknown agent whose namespace the operator vouches for, as verify, check, handshake and explain
// answer it over the real engine.
import { describe, expect, it } from "vitest";
import { parsePolicy } from "../../../src/contract/parse/policy.ts";
import type { Vouching } from "../../../src/contract/policy.ts";
import { MINIMUM_SCORES_DEFAULT } from "../../../src/contract/policy.ts";
import type { VerifyResponse } from "../../../src/contract/schemas/scores.ts";
import type { ToolLevel } from "../../../src/contract/vocabulary.ts";
import { createActivePolicy } from "../../../src/policy/active-policy.ts";
import { BROKEN_TEXT, NEWEST_MS, openSampleBureau, principal } from "../_harness.ts";

const NEW = "agent://mycompany/new";
const UNTIL_MS = NEWEST_MS + 86_400_000;
const call = {
  requestId: "request-1",
  principal: { ...principal, minimumScores: MINIMUM_SCORES_DEFAULT },
};

function open(more: Partial<Vouching> = {}, rules: object = {}) {
  const until = new Date(UNTIL_MS).toISOString();
  const namespace = "agent://mycompany/*";
  const active = createActivePolicy(
    parsePolicy({ ...rules, vouched: [{ namespace, until, ...more }] }),
  );
  const time = { nowMs: NEWEST_MS };
  const policies = { findActivePolicy: () => active, findPolicyVersion: () => active.policy };
  const { bureau } = openSampleBureau({ policies, clock: () => time.nowMs });
  const verify = (agent: string, level: ToolLevel, request: object = {}, by = call) =>
    bureau.verify(
      { agent_id: agent, action: "a.b", tool_level: level, context: {}, ...request },
      by,
    ) as VerifyResponse;
  return { bureau, verify, time };
}

const said = ({ policy_action: { verdict, log_reason: label } }: VerifyResponse) =>
  `${verdict} ${label}`;

describe("verify", () => {
  it("lets the unknown agent in up to the level of the word, and says why", () => {
    const { verify } = open();
    const levels = ["L0", "L1", "L2", "L3"] as const;
    expect(levels.map((level) => said(verify(NEW, level)))).toEqual([
      "ALLOW THIN_FILE_TOLERATED",
      "ALLOW VOUCHED",
      "ALLOW VOUCHED",
      "CHALLENGE THIN_FILE",
    ]);
    const answer = verify(NEW, "L2");
    expect(answer.reason_codes).toEqual(["VOUCHED", "PROVENANCE_NOT_ASSESSED"]);
    expect(answer.trust_evaluation).toMatchObject({ tier: "REVIEW" });
    expect(verify(NEW, "L3").reason_codes).toContain("THIN_FILE");
    expect(said(open({ up_to: "L3" }).verify(NEW, "L3"))).toBe("ALLOW VOUCHED");
  });

  it("says of other unknown agents what it says without the word", () => {
    const { verify } = open();
    for (const agent of ["agent://mycompany-evil/x", "agent://other/new", "mycompany", "plain"]) {
      expect(said(verify(agent, "L2"))).toBe("CHALLENGE THIN_FILE");
      expect(verify(agent, "L2").reason_codes).not.toContain("VOUCHED");
    }
  });

  it("holds the word until it expires, to the millisecond", () => {
    const { verify, time } = open();
    time.nowMs = UNTIL_MS - 1;
    expect(said(verify(NEW, "L2"))).toBe("ALLOW VOUCHED");
    time.nowMs = UNTIL_MS;
    expect(said(verify(NEW, "L2"))).toBe("CHALLENGE THIN_FILE");
  });

  it("leaves a known agent to its record", () => {
    const { bureau, verify } = open({ namespace: "agent://globex/*" });
    const bad = verify("agent://globex/price-scout", "L2");
    expect(said(bad)).toBe("CHALLENGE RISK_ABOVE_BOUND");
    expect(bad.reason_codes).not.toContain("VOUCHED");
    expect(bureau.explainScore("agent://globex/price-scout", call).vouched).toBeNull();
  });

  it("never speaks for stakes, for broken evidence or for a minimum above the shipped one", () => {
    const { verify } = open();
    expect(said(verify(NEW, "L2", { stakes: 1e6 }))).toBe("CHALLENGE STAKES_NEED_APPROVAL");
    const altered = { content: BROKEN_TEXT };
    expect(said(verify(NEW, "L2", { context: altered }))).toBe("QUARANTINE CONTENT_RECORDED_FALSE");
    const picky = { ...call, principal };
    expect(principal.minimumScores.L2).toBeGreaterThan(MINIMUM_SCORES_DEFAULT.L2);
    expect(said(verify(NEW, "L2", {}, picky))).toBe("CHALLENGE BELOW_TENANT_MINIMUM");
    const strict = open({}, { levels: { L2: { minimum_score: 600 }, L3: { minimum_score: 600 } } });
    expect(said(strict.verify(NEW, "L2"))).toBe("CHALLENGE BELOW_TENANT_MINIMUM");
  });

  it("speaks for the stakes that it names", async () => {
    const { bureau, verify } = open({ max_stakes: 250 });
    expect(said(verify(NEW, "L2", { stakes: 250 }))).toBe("ALLOW VOUCHED");
    expect(verify(NEW, "L2", { stakes: 250 }).max_stakes).toBe(250);
    const above = verify(NEW, "L2", { stakes: 250.01 });
    expect(said(above)).toMatch(/^CHALLENGE STAKES_/);
    expect(above).toMatchObject({ max_stakes: 250 });
    expect(said(verify(NEW, "L3", { stakes: 5 }))).toBe("CHALLENGE THIN_FILE");
    const reach = async (stakes: number) =>
      (await bureau.check({ subject: NEW, stakes }, call)).tool_level_max;
    expect([await reach(250), await reach(251)]).toEqual(["L2", "L1"]);
  });

  it("names the stakes up to which it lets in", () => {
    const { verify } = open();
    const { max_stakes: stakesMax } = verify(NEW, "L2");
    expect(stakesMax).toBeGreaterThan(0);
    expect(said(verify(NEW, "L2", { stakes: stakesMax }))).toBe("ALLOW VOUCHED");
    expect(said(verify(NEW, "L2", { stakes: stakesMax! + 0.01 }))).toMatch(/^CHALLENGE STAKES_/);
  });

  it("is answered in shadow mode, not enforced", () => {
    const { verify } = open({}, { levels: { L2: { shadow: true } } });
    expect(verify(NEW, "L2")).toMatchObject({
      enforced: false,
      policy_action: { verdict: "ALLOW", log_reason: "VOUCHED" },
    });
  });
});

describe("what names no level", () => {
  it("has the level up to which the word reaches", async () => {
    for (const level of ["L2", "L3"] as const) {
      const { bureau, time } = open({ up_to: level });
      const reach = async (agent: string) => {
        const { tool_level_max: byCheck } = await bureau.check({ subject: agent, stakes: 0 }, call);
        const parties = { initiator: "agent://acme/ledger-sync", counterparty: agent, stakes: 0 };
        const { a_to_b: leg } = await bureau.handshake(parties, call);
        const explained = bureau.explainScore(agent, call).tool_level_max;
        return [byCheck, leg.tool_level_max, explained];
      };
      expect(await reach(NEW)).toEqual([level, level, level]);
      expect(await reach("agent://other/new")).toEqual(["L1", "L1", "L1"]);
      time.nowMs = UNTIL_MS;
      expect(await reach(NEW)).toEqual(["L1", "L1", "L1"]);
    }
  });

  it("shows the entry of the policy in an explanation", () => {
    const { bureau } = open();
    expect(bureau.explainScore(NEW, call).vouched).toEqual({
      namespace: "agent://mycompany/*",
      until: new Date(UNTIL_MS).toISOString(),
      up_to: "L2",
      max_stakes: 0,
    });
    expect(bureau.explainScore("agent://other/new", call).vouched).toBeNull();
  });
});
