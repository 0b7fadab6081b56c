// SPEC §2.2 to §2.7, §3, §4.1 to §4.4: what every door answers, and that all doors answer the same.
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { VerifyRequest, VerifyResponse } from "../../src/contract/schemas/scores.ts";
import { DECISIONS, RISK_LEVELS, TOOL_LEVELS, VERDICTS } from "../../src/contract/vocabulary.ts";
import { NOW_MS } from "./_clock.ts";
import { AGENTS, openWorld, principal } from "./_world.ts";
import type { World } from "./_world.ts";

let world: World;
beforeAll(async () => {
  world = await openWorld();
});
afterAll(() => world.close());

const request = (agent: string, level: VerifyRequest["tool_level"]): VerifyRequest => ({
  agent_id: agent,
  action: "payments.transfer",
  tool_level: level,
  context: { session_duration_sec: 30 },
});

/** What a key asks for that names no minimum itself. */
const MINIMUM = { L0: 403, L1: 480, L2: 507, L3: 550 } as const;

/** What may differ between two identical questions: the request's identity. */
function timeless<T extends { request_id: string }>(answer: T): Omit<T, "request_id"> {
  const { request_id: _, ...rest } = answer;
  return rest;
}

/** A thin record is flagged once a day by each thread that decides, so not behind every door. */
function unflagged(answer: VerifyResponse): Omit<VerifyResponse, "request_id"> {
  const { verdict, log_reason: label } = answer.policy_action;
  const same = label === "THIN_FILE_FLAGGED" ? "THIN_FILE_TOLERATED" : label;
  return { ...timeless(answer), policy_action: { verdict, log_reason: same } };
}

describe.each([0, 1, 2, 3, 4])("door %i", (index) => {
  const door = () => world.doors[index]!;

  test("SPEC §2.3: a verify response holds exactly the specified members, in range", async () => {
    for (const agent of Object.values(AGENTS)) {
      for (const level of TOOL_LEVELS) {
        const answer = await door().verify(request(agent, level));
        const { trust_evaluation: trust, policy_action: policy } = answer;
        expect(Number.isInteger(trust.score)).toBe(true);
        expect(trust.score).toBeGreaterThanOrEqual(0);
        expect(trust.score).toBeLessThanOrEqual(100);
        expect(trust.internal_score).toBeGreaterThanOrEqual(300);
        expect(trust.internal_score).toBeLessThanOrEqual(850);
        expect(trust.score).toBe(Math.round((100 * (trust.internal_score - 300)) / 550));
        expect(trust.threshold_met).toBe(trust.internal_score >= MINIMUM[level]);
        expect(RISK_LEVELS).toContain(trust.risk_level);
        expect(VERDICTS).toContain(policy.verdict);
        expect(policy.log_reason).toMatch(/^[A-Z0-9_]+$/);
        expect(answer.provenance_data).toMatchObject({
          is_hallucinated: false,
          source_verified: false,
        });
        const lifetime = Date.parse(answer.expires_at) - Date.parse(answer.evaluated_at);
        expect(lifetime, "SPEC §8.3: five minutes").toBe(300_000);
        expect(answer.config_version).toMatch(/^c-[0-9a-f]{16}$/);
        expect(answer.policy_version).toMatch(/^p-[0-9a-f]{16}$/);
        // No stakes bind where the level counts none; no stakes help an agent held back already.
        const isSensitive = level === "L2" || level === "L3";
        if (!isSensitive) expect(answer.max_stakes).toBeNull();
        else if (policy.verdict !== "ALLOW") expect(answer.max_stakes).toBe(0);
      }
    }
  });

  test("SPEC §8.2: L0 and L1 are allowed whatever the score, L2 and L3 are not", async () => {
    const ruled = async (agent: string, level: VerifyRequest["tool_level"]) => {
      const { policy_action: policy } = await door().verify(request(agent, level));
      return `${policy.verdict} ${policy.log_reason}`;
    };
    expect(await ruled(AGENTS.failing, "L0")).toBe("ALLOW DENIAL_FLAGGED_FOR_REVIEW");
    expect(await ruled(AGENTS.failing, "L1")).toBe("ALLOW DENIAL_FLAGGED_FOR_REVIEW");
    // Failures in a row, above the border even at best.
    expect(await ruled(AGENTS.failing, "L2")).toBe("BLOCK REFUSE_RULE");
    expect(await ruled(AGENTS.failing, "L3")).toBe("BLOCK REFUSE_RULE");
    // Nothing known is no risk known: a second look, never a denial.
    expect(await ruled(AGENTS.newcomer, "L0")).toBe("ALLOW THIN_FILE_TOLERATED");
    expect(await ruled(AGENTS.newcomer, "L2")).toBe("CHALLENGE THIN_FILE");
    expect(await ruled(AGENTS.newcomer, "L3")).toBe("CHALLENGE THIN_FILE");
    expect(await ruled(AGENTS.trusted, "L2")).toBe("ALLOW TRUST_SUFFICIENT");
  });

  test("SPEC §2.3: stakes count in verify as they would in check", async () => {
    const at = (stakes: number) => door().verify({ ...request(AGENTS.trusted, "L2"), stakes });
    const { max_stakes: bound } = await at(0);
    expect(bound).toBeGreaterThan(0);
    expect((await at(bound!)).policy_action.verdict).toBe("ALLOW");
    const above = await at(bound! * 1.01);
    expect(above.policy_action.verdict).toBe("CHALLENGE");
    const { decision } = await door().check(AGENTS.trusted, bound! * 1.01);
    const needs = { connect_with_verification: "VERIFICATION", escalate: "APPROVAL" };
    expect(above.policy_action.log_reason).toBe(
      `STAKES_NEED_${needs[decision as keyof typeof needs]}`,
    );
  });

  test("SPEC §2.5: the most restrictive leg wins, each leg scores the other party", async () => {
    for (const initiator of Object.values(AGENTS)) {
      for (const counterparty of Object.values(AGENTS)) {
        for (const stakes of [0, 5, 500, 50_000]) {
          const answer = await door().handshake(initiator, counterparty, stakes);
          expect(answer).toMatchObject({ initiator, counterparty, stakes });
          expect(answer.a_to_b.subject).toBe(counterparty);
          expect(answer.b_to_a.subject).toBe(initiator);
          const legs = [answer.a_to_b, answer.b_to_a].map((leg) => DECISIONS.indexOf(leg.decision));
          expect(DECISIONS.indexOf(answer.decision)).toBe(Math.max(...legs));
          const isOpen = ["connect", "connect_with_verification"].includes(answer.decision);
          expect(answer.connected).toBe(isOpen);
          for (const leg of [answer.a_to_b, answer.b_to_a]) {
            if (leg.decision === "connect") expect(leg.reasons, "rule 2").toEqual([]);
            else expect(leg.reasons.length).toBeGreaterThan(0);
          }
        }
      }
    }
  });

  test("SPEC §4.3: check says whether to proceed and up to which stakes", async () => {
    const small = await door().check(AGENTS.trusted, 1);
    const huge = await door().check(AGENTS.trusted, 1e9);
    expect(small).toMatchObject({ subject: AGENTS.trusted, decision: "connect", allowed: true });
    expect(small.reasons).toEqual([]);
    expect(huge).toMatchObject({ decision: "escalate", allowed: false });
    const bound = await door().check(AGENTS.trusted, small.max_stakes! * 0.999);
    expect(bound.decision).toBe("connect");
    const failing = await door().check(AGENTS.failing, 500);
    expect(["escalate", "refuse"]).toContain(failing.decision);
    expect(failing.reason_codes).toContain("FAILURE_HISTORY");
  });

  test("SPEC §4.4: an outcome gets a receipt, a repeat gets the first", async () => {
    const outcome = {
      subject: `agent://spec/reported-${index}`,
      reporter: AGENTS.viewer,
      outcome: 1 as const,
      stakes: 10,
      grade: "counterparty" as const,
      id: `spec-${index}`,
      settled_at: NOW_MS - 1000,
    };
    const first = await door().report(outcome);
    expect(first).toMatchObject({ duplicate: false, signature: "none" });
    const again = await door().report(outcome);
    expect(again).toEqual({ ...first, duplicate: true });
    const { evidence } = world.bureau.explainScore(outcome.subject, {
      requestId: "spec",
      principal,
    });
    expect(evidence.outcomes, "counted once").toBe(1);
  });

  test("SPEC §2.1: a plain agent_id is an agent that can be reported about", async () => {
    const name = `support bot ${index}`;
    const before = await door().verify(request(name, "L1"));
    const reporter = `agent://spec/witness-${index}`;
    const body = { reporter, outcome: 1 as const, stakes: 40, grade: "escrow" as const };
    expect(await door().report({ ...body, subject: name })).toMatchObject({ duplicate: false });
    for (const other of world.doors) {
      const after = await other.verify(request(name, "L1"));
      expect(after.trust_evaluation.score).toBeGreaterThan(before.trust_evaluation.score);
      const check = await other.check(name, 5);
      expect(check).toMatchObject({ subject: name, regime: "stable" });
      const both = await other.handshake(AGENTS.viewer, name, 5);
      expect(both).toMatchObject({ counterparty: name, a_to_b: { subject: name } });
      expect(both.a_to_b.regime).toBe("stable");
      // Its name in the table is another agent's.
      expect(await other.check(`plain:${name}`, 5)).not.toHaveProperty("regime");
    }
  });
});

test("all doors give the same answers, but for the request's identity", async () => {
  for (const agent of Object.values(AGENTS)) {
    for (const stakes of [0, 7, 700]) {
      const checks = await Promise.all(world.doors.map((door) => door.check(agent, stakes)));
      const shakes = await Promise.all(
        world.doors.map((door) => door.handshake(AGENTS.viewer, agent, stakes)),
      );
      for (const check of checks) expect(timeless(check)).toEqual(timeless(checks[0]!));
      for (const shake of shakes) expect(timeless(shake)).toEqual(timeless(shakes[0]!));
    }
    for (const level of TOOL_LEVELS) {
      const asked = world.doors.map((door) => door.verify(request(agent, level)));
      const verdicts = await Promise.all(asked);
      for (const verdict of verdicts) expect(unflagged(verdict)).toEqual(unflagged(verdicts[0]!));
    }
  }
});
