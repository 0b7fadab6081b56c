// Decisions of people as verify, check and handshake go by them, over the real engine: what is let
// through and blocked, what beats a person's word, and how a logged decision is judged again.
import { beforeEach, describe, expect, it } from "vitest";
import { ReviewDecisionCache } from "../../../src/bureau/reviews/decision-cache.ts";
import type { DecisionEntry } from "../../../src/contract/decisions.ts";
import { parsePolicy } from "../../../src/contract/parse/policy.ts";
import { MINIMUM_SCORES_DEFAULT } from "../../../src/contract/policy.ts";
import { formatReviewDay, type ReviewCalls } from "../../../src/contract/reviews/events.ts";
import type { ReviewDecision, ReviewLevel } from "../../../src/contract/vocabulary.ts";
import type { CheckResponse, VerifyResponse } from "../../../src/contract/schemas/scores.ts";
import { createActivePolicy } from "../../../src/policy/active-policy.ts";
import { BROKEN_TEXT, NEWEST_MS, openSampleBureau, principal } from "../_harness.ts";
import { legOf } from "../../store/_decisions.ts";

/** Failures enough for a border of a tenth, none for the refuse rule below certainty. */
const RISKY = "agent://globex/price-scout";
const HOUR_MS = 3_600_000;
const by = { ...principal, minimumScores: MINIMUM_SCORES_DEFAULT };

function open(rules: object = { deny_from: 0.999 }) {
  const active = createActivePolicy(parsePolicy({ levels: { L2: rules }, allow_inverted: true }));
  const time = { nowMs: NEWEST_MS };
  const asked: ReviewCalls[] = [];
  const logged: DecisionEntry[] = [];
  const desk = new ReviewDecisionCache((calls) => void asked.push(...calls));
  const { bureau } = openSampleBureau({
    policies: { findActivePolicy: () => active, findPolicyVersion: () => active.policy },
    clock: () => time.nowMs,
    reviews: desk,
    decisions: {
      admit: (entry) => entry.isKeptFirst,
      record: (entry) => logged.push({ ...entry }),
    },
  });
  const verify = (agent: string, request: object = {}, asker = by) =>
    bureau.verify(
      { agent_id: agent, action: "a.b", tool_level: "L2", context: {}, ...request },
      { requestId: `request-${logged.length}`, principal: asker },
    ) as VerifyResponse;
  const check = (subject: string, stakes: number, asker = by) =>
    bureau.check({ subject, stakes }, { requestId: "check-1", principal: asker }) as CheckResponse;
  const decide = (
    agent: string,
    level: ReviewLevel,
    decision: ReviewDecision,
    max_stakes: number | null = null,
    tenant = by.tenant,
  ) =>
    desk.apply({
      ruling: {
        tenant,
        agent,
        level,
        day: formatReviewDay(time.nowMs),
        round: 0,
        decision,
        until_ms: time.nowMs + HOUR_MS,
        max_stakes,
      },
    });
  return { bureau, verify, check, decide, time, asked, logged, desk };
}

const said = ({ policy_action: { verdict, log_reason: label } }: VerifyResponse) =>
  `${verdict} ${label}`;

/** Stakes at which the engine says `escalate` of the agent. */
function stakesToEscalate(check: ReturnType<typeof open>["check"], agent: string): number {
  for (let stakes = 0.01; stakes < 1e9; stakes *= 1.3) {
    if (check(agent, stakes).decision === "escalate") return stakes;
  }
  throw new Error("no stakes escalate");
}

const GOOD = "agent://acme/procurement-bot";

describe("a check that escalates", () => {
  let world: ReturnType<typeof open>;
  let stakes: number;
  beforeEach(() => {
    world = open();
    stakes = stakesToEscalate(world.check, GOOD);
    world.asked.length = 0;
  });

  it("names its review and where to wait, one for the day however often it asks", () => {
    const first = world.check(GOOD, stakes);
    const again = world.check(GOOD, stakes);
    expect(first.review).toEqual({
      id: expect.stringMatching(/^rv-20260101-[0-9a-f]{24}$/),
      wait: `/v1/reviews/${first.review!.id}?wait=30`,
    });
    expect(again.review).toEqual(first.review);
    world.time.nowMs += 24 * HOUR_MS;
    expect(world.check(GOOD, stakes).review!.id).not.toBe(first.review!.id);
    expect(world.check(GOOD, stakes, { ...by, tenant: "other" }).review!.id).not.toBe(
      first.review!.id,
    );
    expect(world.check(GOOD, stakes, { ...by, isShadow: true }).review).toBeUndefined();
  });

  it("connects once it is overturned, up to the stakes named, and says whose word it is", () => {
    world.decide(GOOD, "connect", "overturned", stakes);
    const answer = world.check(GOOD, stakes);
    expect(answer).toMatchObject({
      decision: "connect",
      allowed: true,
      reason_codes: ["REVIEW_OVERTURNED"],
      reasons: [],
      max_stakes: stakes,
      expires_at: answer.evaluated_at,
    });
    expect(answer.review).toBeUndefined();
    expect(world.logged.at(-1)).toMatchObject({ logReason: "REVIEW_OVERTURNED" });
    // Above: it waits again, for another review.
    const above = world.check(GOOD, stakes * 1.01);
    expect(above.decision).toBe("escalate");
    expect(above.review).toBeDefined();
    expect(world.check(GOOD, stakes, { ...by, tenant: "other" }).decision).toBe("escalate");
  });

  it("refuses once it is upheld, and both end at their expiry", () => {
    world.decide(GOOD, "connect", "upheld");
    const answer = world.check(GOOD, stakes);
    expect(answer).toMatchObject({ decision: "refuse", allowed: false, max_stakes: 0 });
    expect(answer.reason_codes[0]).toBe("REVIEW_UPHELD");
    world.time.nowMs += HOUR_MS;
    expect(world.check(GOOD, stakes).decision).toBe("escalate");
    world.decide(GOOD, "connect", "overturned");
    world.time.nowMs += HOUR_MS - 1;
    expect(world.check(GOOD, stakes).decision).toBe("connect");
    world.time.nowMs += 1;
    expect(world.check(GOOD, stakes).decision).toBe("escalate");
  });

  it("counts in a handshake: the legs are judged by it, and the stricter one wins", () => {
    const call = { requestId: "h", principal: by };
    const shake = () =>
      world.bureau.handshake({ initiator: RISKY, counterparty: GOOD, stakes }, call);
    const before = shake();
    if (before instanceof Promise) throw new Error("not slow");
    world.decide(GOOD, "connect", "overturned");
    world.decide(RISKY, "connect", "overturned");
    const after = shake();
    if (after instanceof Promise) throw new Error("not slow");
    for (const leg of ["a_to_b", "b_to_a"] as const) {
      const was = before[leg].decision;
      expect(after[leg].decision).toBe(was === "escalate" ? "connect" : was);
      if (was === "escalate") expect(after[leg].reason_codes[0]).toBe("REVIEW_OVERTURNED");
    }
  });

  it("is judged again as it was", () => {
    world.decide(GOOD, "connect", "overturned");
    world.check(GOOD, stakes);
    const leg = legOf(world.logged.at(-1)!);
    expect(world.bureau.replayDecision([leg], undefined).differences).toEqual([]);
  });
});

describe("a verify that is held back", () => {
  it("opens a review where a person is asked, and none where it is let through or challenged", () => {
    const { verify, asked } = open({ deny_from: 0.01 });
    expect(said(verify(RISKY, { tool_level: "L1" }))).toMatch(/^ALLOW/);
    expect(said(verify("agent://nobody/new"))).toBe("CHALLENGE THIN_FILE");
    expect(asked).toEqual([]);
  });

  it("is let through when overturned: not a refusal, not a broken text, not a key's minimum", () => {
    const { verify, decide, check } = open();
    const stakes = stakesToEscalate(check, GOOD);
    const held = verify(GOOD, { stakes });
    expect(said(held)).toMatch(/^CHALLENGE /);
    expect(held.review).toBeDefined();
    decide(GOOD, "L2", "overturned", stakes);
    const answer = verify(GOOD, { stakes });
    expect(said(answer)).toBe("ALLOW REVIEW_OVERTURNED");
    expect(answer.reason_codes).toContain("REVIEW_OVERTURNED");
    expect(answer).toMatchObject({ max_stakes: stakes, expires_at: answer.evaluated_at });
    expect(answer.review).toBeUndefined();
    expect(said(verify(GOOD, { stakes: stakes * 1.01 }))).toMatch(/^CHALLENGE/);
    expect(said(verify(GOOD, { stakes, tool_level: "L3" }))).toMatch(/^(CHALLENGE|BLOCK)/);
    const altered = { content: BROKEN_TEXT };
    expect(said(verify(GOOD, { stakes, context: altered }))).toBe(
      "QUARANTINE CONTENT_RECORDED_FALSE",
    );
    const strict = { ...by, minimumScores: { L0: 850, L1: 850, L2: 850, L3: 850 } };
    expect(said(verify(GOOD, { stakes }, strict))).toMatch(/^CHALLENGE/);
    // Refused for its record: no person's word lifts that.
    const refused = open({ deny_from: 0.001 });
    refused.decide(RISKY, "L2", "overturned");
    expect(said(refused.verify(RISKY))).toBe("BLOCK REFUSE_RULE");
  });

  it("is blocked when upheld, only where a person would have been asked", () => {
    const { verify, decide, check, logged, bureau } = open();
    const stakes = stakesToEscalate(check, GOOD);
    decide(GOOD, "L2", "upheld");
    const answer = verify(GOOD, { stakes });
    expect(said(answer)).toBe("BLOCK REVIEW_UPHELD");
    expect(answer.reason_codes).toContain("REVIEW_UPHELD");
    expect(answer.review).toBeUndefined();
    expect(bureau.replayDecision([legOf(logged.at(-1)!)], undefined).differences).toEqual([]);
    expect(said(verify(GOOD))).toBe("CHALLENGE THIN_FILE");
  });

  it("leaves a level that a person decided on out of the answer for all levels", () => {
    const { verify, decide } = open();
    const levels = verify("agent://nobody/new", { levels: true, tool_level: "L3" }).levels!;
    expect(levels["L2"]).toMatchObject({ verdict: "CHALLENGE" });
    decide("agent://nobody/new", "L2", "overturned");
    const after = verify("agent://nobody/new", { levels: true, tool_level: "L3" }).levels!;
    expect(after["L2"]).toBeUndefined();
  });

  it("gives a reserved agent's answer whatever people decide", () => {
    const { verify, decide, asked } = open({});
    const held = verify("agent://test/escalate");
    expect(said(held)).toBe("QUARANTINE RISK_ABOVE_BORDER");
    expect(asked).toHaveLength(1);
    decide("agent://test/escalate", "L2", "overturned");
    const after = verify("agent://test/escalate");
    expect(said(after)).toBe("QUARANTINE RISK_ABOVE_BORDER");
    expect(after.review!.id).not.toBe(held.review!.id);
    expect(asked).toHaveLength(2);
  });
});
