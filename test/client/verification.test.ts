// The weaker leg of a verdict and the callback that verifies it: whose leg it is for any two legs, when
// verification is due, and that nothing but `true` passes.
import fc from "fast-check";
import { expect, it } from "vitest";
import {
  findWeakerLeg,
  isVerificationDue,
  type VerificationCallback,
  verifyWeakerLeg,
} from "../../src/client/verification.ts";
import type { HandshakeResponse, Leg } from "../../src/client/messages.ts";
import { DECISION, DECISIONS, LOG_REASONS, VERDICTS } from "../../src/contract/vocabulary.ts";
import { checkReply, verifyReply } from "./_replies.ts";

const legs = (subject: string): fc.Arbitrary<Leg> =>
  fc
    .record({ decision: fc.constantFrom(...DECISIONS), score: fc.integer({ min: 300, max: 303 }) })
    .map(({ decision, score }) => ({
      ...checkReply(subject, 1, decision),
      effective_score: score,
    }));

function handshakeReply(counterparty: Leg, initiator: Leg): HandshakeResponse {
  const index = Math.max(DECISION[counterparty.decision], DECISION[initiator.decision]);
  const { request_id, config_version, evaluated_at, expires_at } = checkReply("agent://a/b", 1);
  return {
    request_id,
    config_version,
    evaluated_at,
    expires_at,
    initiator: initiator.subject,
    counterparty: counterparty.subject,
    stakes: 1,
    a_to_b: counterparty,
    b_to_a: initiator,
    decision: DECISIONS[index]!,
    connected: index < 2,
    reasons: [],
    enforced: true,
  };
}

it("is the leg that caused the decision, of equal ones the lower score, then the initiator's", () => {
  fc.assert(
    fc.property(legs("agent://a/counterparty"), legs("agent://a/initiator"), (theirs, own) => {
      const verdict = handshakeReply(theirs, own);
      const weaker = findWeakerLeg(verdict);
      const other = weaker === own ? theirs : own;
      expect([own, theirs]).toContain(weaker);
      expect(weaker.decision).toBe(verdict.decision);
      if (other.decision !== weaker.decision) return;
      expect(weaker.effective_score).toBeLessThanOrEqual(other.effective_score);
      if (other.effective_score === weaker.effective_score) expect(weaker).toBe(own);
    }),
  );
});

it("is the agent that was asked about, of a check and of a verify", () => {
  const check = checkReply("agent://a/b", 1, "connect_with_verification");
  expect(findWeakerLeg(check)).toBe(check);
  expect(
    findWeakerLeg(verifyReply("CHALLENGE", { reason_codes: ["THIN_FILE"] }), "agent://a/b"),
  ).toEqual({
    subject: "agent://a/b",
    effective_score: 640,
    tier: "B",
    reason_codes: ["THIN_FILE"],
  });
});

it("is due for a connection with verification, a marked ALLOW, and a challenge without a person", () => {
  const due = DECISIONS.filter((each) => isVerificationDue(checkReply("agent://a/b", 1, each)));
  expect(due).toEqual(["connect_with_verification"]);
  const words = VERDICTS.flatMap((verdict) =>
    LOG_REASONS.map((log_reason) => ({ verdict, log_reason })),
  );
  for (const policy_action of words) {
    const { verdict, log_reason: reason } = policy_action;
    const isMarked = verdict === "ALLOW" && reason === "STAKES_NEED_VERIFICATION";
    const isPlain = verdict === "CHALLENGE" && reason !== "STAKES_NEED_APPROVAL";
    expect(isVerificationDue(verifyReply(verdict, { policy_action }))).toBe(isMarked || isPlain);
    const review = { id: "rv-1", wait: "/v1/reviews/rv-1?wait=30" };
    expect(isVerificationDue(verifyReply(verdict, { policy_action, review }))).toBe(isMarked);
  }
});

it("passes by `true` alone, and never rejects", async () => {
  const verdict = checkReply("agent://a/b", 1, "connect_with_verification");
  const run = (callback: unknown) =>
    verifyWeakerLeg(callback as VerificationCallback<string>, verdict, "agent://a/b", "the call");
  const seen: unknown[] = [];
  expect(await run((...given: unknown[]) => seen.push(...given) > 0)).toBe(true);
  expect(seen).toEqual([verdict, verdict, "the call"]);
  expect(await run(() => Promise.resolve(true))).toBe(true);
  const refusing = [
    () => false,
    () => 1,
    () => "true",
    () => undefined,
    () => Promise.resolve({}),
    () => Promise.reject(new Error("no second factor")),
    () => {
      throw new Error("no second factor");
    },
    "not a function",
  ];
  for (const callback of refusing) expect(await run(callback)).toBe(false);
});
