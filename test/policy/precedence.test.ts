// Precedence of operators' words, rules, reviews and the record: the rows in order, each against every row after it,
// and as a property over all combinations.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { CoveringCondition } from "../../src/contract/conditions/book.ts";
import type { Condition } from "../../src/contract/conditions/events.ts";
import { resolveStakesTerms } from "../../src/contract/stakes-policy.ts";
import { TOOL_LEVELS } from "../../src/contract/vocabulary.ts";
import { createConditionFacts, fillConditionFacts } from "../../src/policy/conditions.ts";
import {
  PRECEDENCE,
  type PrecedenceQuery,
  selectPrecedenceOutcome,
} from "../../src/policy/precedence.ts";

const REASON = { code: "fraud", text: null };
const CONDITION: Condition = {
  state: "suspended",
  levels: null,
  max_stakes: null,
  until_ms: null,
  reason: REASON,
  case: null,
};
const STOP = { above: null, until_ms: null, reason: REASON, case: null };

/** What makes each row hold, in the order that is promised. */
const ROWS = [
  ["bureau suspended", "SUSPENDED", { facts: { bureauSuspended: CONDITION } }],
  ["tenant suspended", "SUSPENDED", { facts: { tenantSuspended: CONDITION } }],
  ["bureau stop", "STOPPED", { facts: { bureauStop: STOP } }],
  ["tenant stop", "STOPPED", { facts: { tenantStop: STOP } }],
  ["revoked key", "rules", { isKeyRevoked: true }],
  ["refuse rule", "rules", { isRefused: true }],
  ["broken provenance", "rules", { isProvenanceBroken: true }],
  ["missed bound", "rules", { isBoundMissed: true }],
  ["newest review", "review", { isReviewed: true }],
  ["tenant cleared", "CLEARED", { facts: { tenantCleared: CONDITION } }],
  ["bureau cleared", "CLEARED", { facts: { bureauCleared: CONDITION } }],
  ["record", "rules", {}],
] as const;

function combine(parts: readonly (typeof ROWS)[number][2][]): PrecedenceQuery {
  const query = {
    facts: createConditionFacts(),
    isKeyRevoked: false,
    isRefused: false,
    isProvenanceBroken: false,
    isBoundMissed: false,
    isReviewed: false,
  };
  for (const part of parts) {
    const { facts = {}, ...flags } = part as { facts?: object };
    Object.assign(query.facts, facts);
    Object.assign(query, flags);
  }
  return query;
}

describe("precedence", () => {
  it("has the rows in the promised order", () => {
    expect(PRECEDENCE.map(({ name, outcome }) => [name, outcome])).toEqual(
      ROWS.map(([name, outcome]) => [name, outcome]),
    );
  });

  it.each(ROWS.map(([name, outcome, part], index) => ({ name, outcome, part, index })))(
    "$name decides before every row after it",
    ({ outcome, part, index }) => {
      for (const [, , later] of ROWS.slice(index))
        expect(selectPrecedenceOutcome(combine([part, later]))).toBe(outcome);
    },
  );

  it("the first row that holds decides, whatever else holds", () => {
    const some = fc.subarray([...ROWS.keys()], { minLength: 1 });
    fc.assert(
      fc.property(some, (held) => {
        const query = combine(held.map((index) => ROWS[index]![2]));
        expect(selectPrecedenceOutcome(query)).toBe(ROWS[Math.min(...held)]![1]);
      }),
    );
  });
});

describe("conditions at a level", () => {
  const terms = resolveStakesTerms();
  const fill = (
    covering: CoveringCondition[],
    level: "connect" | "L0" | "L1" | "L2" | "L3",
    stakes = 0,
  ) =>
    fillConditionFacts(
      createConditionFacts(),
      { covering, bureauStop: undefined, tenantStop: undefined },
      { level, terms: terms[level], stakes },
    );
  const own = (condition: Partial<Condition>): CoveringCondition => ({
    condition: { ...CONDITION, ...condition },
    isOfBureau: false,
  });

  it("a restriction of one level restricts that level and every connection, no other level", () => {
    const covering = [own({ levels: ["L3"] })];
    for (const level of TOOL_LEVELS)
      expect(fill(covering, level).tenantSuspended !== undefined).toBe(level === "L3");
    expect(fill(covering, "connect").tenantSuspended).toBeDefined();
  });

  it("a clearance clears a connection only where it covers both sensitive levels", () => {
    const cleared = (levels: Condition["levels"]) =>
      fill([own({ state: "cleared", levels, max_stakes: 1e6 })], "connect", 5).tenantCleared;
    expect(cleared(null)).toBeDefined();
    expect(cleared(["L2", "L3"])).toBeDefined();
    expect(cleared(["L2"])).toBeUndefined();
  });

  it("a clearance ends at its stakes, and without them at those that a level assumes", () => {
    const at = (maxStakes: number | null, stakes: number) =>
      fill([own({ state: "cleared", max_stakes: maxStakes })], "L2", stakes).tenantCleared;
    expect(at(500, 500)).toBeDefined();
    expect(at(500, 501)).toBeUndefined();
    const assumed = terms.L2.assumed / terms.L2.unit;
    expect(at(null, assumed)).toBeDefined();
    expect(at(null, assumed + 1)).toBeUndefined();
  });

  it("a stop holds above its level, and every connection", () => {
    const stop = { ...STOP, above: "L1" as const };
    const isHeld = (level: "connect" | "L1" | "L2") =>
      fillConditionFacts(
        createConditionFacts(),
        { covering: [], bureauStop: undefined, tenantStop: stop },
        { level, terms: terms[level], stakes: 0 },
      ).tenantStop !== undefined;
    expect([isHeld("L1"), isHeld("L2"), isHeld("connect")]).toEqual([false, true, true]);
  });
});
