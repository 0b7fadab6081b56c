// Passage that a verdict gives at a tool level: stricter inputs never open more, and nothing opens that the policy
// does not allow.
import * as fc from "fast-check";
import { expect, it } from "vitest";
import { createActionVerdict } from "../../../src/client/gates/action-verdict.ts";
import { type Passage, selectPassage } from "../../../src/client/gates/passage.ts";
import type { HandshakeVerdict } from "../../../src/client/client.ts";
import { DECISIONS, TOOL_LEVELS, VERDICTS } from "../../../src/contract/vocabulary.ts";
import { checkReply, verifyReply } from "../_replies.ts";

const STRICTNESS: readonly Passage[] = ["open", "marked", "verification", "person", "refused"];
const decision = fc.constantFrom(...DECISIONS);
const level = fc.constantFrom(...TOOL_LEVELS);
const leg = fc.record({
  subject: fc.constantFrom("agent://a/one", "agent://a/two"),
  decision,
  effective_score: fc.double({ min: 300, max: 850, noNaN: true }),
  tool_level_max: fc.constantFrom("L1" as const, "L2" as const, "L3" as const),
});
const handshakes = fc.tuple(leg, leg).map(([a, b]) => {
  const index = Math.max(DECISIONS.indexOf(a.decision), DECISIONS.indexOf(b.decision));
  const whole = { a_to_b: a, b_to_a: b, decision: DECISIONS[index]!, enforced: true };
  return whole as unknown as HandshakeVerdict;
});

it("follows the decision of a check, and holds what the level is not allowed for verification", () => {
  fc.assert(
    fc.property(decision, level, level, (decided, highest, asked) => {
      const verdict = checkReply("agent://a/b", 5, decided, { tool_level_max: highest });
      const isAllowed = TOOL_LEVELS.indexOf(highest) >= TOOL_LEVELS.indexOf(asked);
      const passages = { connect: "open", connect_with_verification: "marked" } as const;
      const expected: Passage =
        decided === "refuse"
          ? "refused"
          : decided === "escalate"
            ? "person"
            : isAllowed
              ? passages[decided]
              : "verification";
      expect(selectPassage(verdict, asked)).toBe(expected);
      expect(selectPassage({ ...verdict, enforced: false }, asked)).toBe("open");
    }),
  );
});

it("opens no handshake that either leg does not open at the level", () => {
  fc.assert(
    fc.property(handshakes, level, (verdict, asked) => {
      const strictest = Math.max(
        ...[verdict.a_to_b, verdict.b_to_a].map((each) => {
          const alone = { ...checkReply(each.subject, 5, each.decision), ...each };
          return STRICTNESS.indexOf(selectPassage(alone, asked));
        }),
      );
      const passage = STRICTNESS.indexOf(selectPassage(verdict, asked));
      expect(passage).toBeGreaterThanOrEqual(strictest);
      expect(selectPassage(verdict, asked)).not.toBe("marked");
    }),
  );
});

it("reads a verify on the scale of decisions: only ALLOW opens, a review waits for a person", () => {
  const review = { id: "rv-20260101-000000000000000000000000", wait: "/v1/reviews/x" };
  const read = (...given: Parameters<typeof verifyReply>) => {
    const verdict = createActionVerdict("agent://a/b", verifyReply(...given));
    return [verdict.decision, selectPassage(verdict, "L2"), ...verdict.reasons];
  };
  expect(read("ALLOW")).toEqual(["connect", "open"]);
  expect(
    read("CHALLENGE", { reason_codes: ["THIN_FILE", "BASE_RATE", "PROVENANCE_NOT_ASSESSED"] }),
  ).toEqual(["connect_with_verification", "verification", "REFUSE_RULE", "THIN_FILE", "BASE_RATE"]);
  expect(read("CHALLENGE", { review }).slice(0, 2)).toEqual(["escalate", "person"]);
  const approval = { verdict: "CHALLENGE", log_reason: "STAKES_NEED_APPROVAL" } as const;
  expect(read("CHALLENGE", { policy_action: approval }).slice(0, 2)).toEqual([
    "escalate",
    "person",
  ]);
  expect(read("QUARANTINE").slice(0, 2)).toEqual(["escalate", "person"]);
  expect(read("BLOCK").slice(0, 2)).toEqual(["refuse", "refused"]);
  const marked = { verdict: "ALLOW", log_reason: "STAKES_NEED_VERIFICATION" } as const;
  expect(read("ALLOW", { policy_action: marked })).toEqual([
    "connect_with_verification",
    "marked",
    "STAKES_NEED_VERIFICATION",
  ]);
  for (const verdict of VERDICTS)
    expect(read(verdict, { enforced: false })[1], "shadow mode").toBe("open");
});
