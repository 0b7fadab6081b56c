// The operator's word: which agents it covers, to the segment and to the millisecond, and that it
// loosens nothing but what rests on a thin record alone.
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parsePolicy } from "../../src/contract/parse/policy.ts";
import { THIN_RULES, VOUCHED_LEVELS } from "../../src/contract/policy.ts";
import { REASON_CODES, TOOL_LEVELS } from "../../src/contract/vocabulary.ts";
import type { FindingCode, ToolLevel } from "../../src/contract/vocabulary.ts";
import { createActivePolicy } from "../../src/policy/active-policy.ts";
import { fillRuleInputs, findHighestAllowedLevel } from "../../src/policy/policy-query.ts";
import type { PolicyQuery, PolicyScore } from "../../src/policy/policy-query.ts";
import { DEFAULT_POLICY, MINIMUM_SCORES_DEFAULT } from "../../src/contract/policy.ts";
import type { LevelPolicy } from "../../src/contract/policy.ts";
import { applyPolicyRules } from "../../src/policy/rules.ts";
import { createRuleInputs } from "../../src/policy/rule-inputs.ts";
import { VOUCHED } from "../../src/policy/rulings.ts";
import type { PolicyRisk, RuleInputs } from "../../src/policy/rule-inputs.ts";
import { buildVouchedNamespaces, findVouching } from "../../src/policy/vouching.ts";
import type { VouchableRecord } from "../../src/policy/vouching.ts";
import { computeLogit, createRisk, policyRisks, SHIPPED } from "./_connections.ts";

const UNTIL_MS = Date.UTC(2027, 0, 31);
const THIN: VouchableRecord = {
  isThin: true,
  failureProbability: 0.1,
  reasonIndexes: [REASON_CODES.indexOf("THIN_FILE"), REASON_CODES.indexOf("FAILURE_HISTORY")],
  reasonCount: 1,
};

/** Its decision at stakes, by the shipped terms: to verify, up to a few hundred. */
const UNKNOWN: PolicyScore = {
  ...createRisk({ ...THIN, failureOptimistic: 0.02, stakesLogit: computeLogit(0.2) }),
  ...THIN,
  isJudged: false,
  scoreInternal: 500,
};

function queryAt(more: Partial<PolicyQuery>): PolicyQuery {
  return {
    active: createActivePolicy(DEFAULT_POLICY),
    reading: UNKNOWN,
    agentId: "agent://a/b/c/d",
    stakes: 0,
    minimumScores: MINIMUM_SCORES_DEFAULT,
    nowMs: 0,
    rules: createRuleInputs(),
    ...more,
  };
}

function found(namespaces: readonly string[], agent: string, nowMs = 0, risk = THIN) {
  const until = new Date(UNTIL_MS).toISOString();
  const policy = parsePolicy({
    vouched: namespaces.map((namespace) => ({ namespace, until })),
  });
  const active = { vouched: buildVouchedNamespaces(policy), terms: SHIPPED.terms };
  const query = { active, reading: risk, agentId: agent, nowMs };
  return findVouching(query, "L2")?.vouching.namespace;
}

describe("a namespace", () => {
  it.each([
    ["agent://mycompany/x", true],
    ["agent://mycompany/x/y", true],
    ["agent://mycompany/*", false],
    ["agent://mycompany", false],
    ["agent://mycompany/", false],
    ["agent://mycompany//x", false],
    ["agent://mycompany/x y", false],
    ["agent://mycompany-evil/x", false],
    ["agent://mycompanyx/x", false],
    ["agent://my/x", false],
    ["agent://MyCompany/x", false],
    ["plain:agent://mycompany/x", false],
    ["mycompany/x", false],
  ])("of mycompany and %s: %s", (agent, isCovered) => {
    expect(found(["agent://mycompany/*"], agent) !== undefined).toBe(isCovered);
  });

  it("covers whole segments, however deep", () => {
    const segment = fc.constantFrom("a", "ab", "b", "a.b", "~");
    const path = fc.array(segment, { minLength: 1, maxLength: 4 });
    fc.assert(
      fc.property(path, fc.array(segment, { minLength: 2, maxLength: 5 }), (prefix, name) => {
        const isBelow =
          name.length > prefix.length && prefix.every((each, index) => each === name[index]);
        const namespace = `agent://${prefix.join("/")}/*`;
        expect(found([namespace], `agent://${name.join("/")}`) !== undefined).toBe(isBelow);
      }),
      { numRuns: 2000 },
    );
  });

  it("counts until the last millisecond before its time", () => {
    const at = (nowMs: number) => found(["agent://a/*"], "agent://a/x", nowMs) !== undefined;
    expect([at(UNTIL_MS - 1), at(UNTIL_MS), at(UNTIL_MS + 1)]).toEqual([true, false, false]);
  });

  it("covers a thin record alone, and none that speaks against the agent", () => {
    const agent = "agent://a/x";
    expect(found(["agent://a/*"], agent, 0, { ...THIN, isThin: false })).toBeUndefined();
    const isCovered = (failureProbability: number, reasonCount: number) =>
      found(["agent://a/*"], agent, 0, { ...THIN, failureProbability, reasonCount }) !== undefined;
    // A market in which a third of all dealings fail: nothing is known of the agent itself.
    expect([0.1, 0.15, 0.35, 0.4, 0.401].map((p) => isCovered(p, 1))).toEqual([
      true,
      true,
      true,
      true,
      false,
    ]);
    // A failure on file: at the risk of many an unknown agent, and above it.
    expect([0.1, 0.15, 0.151, 0.4, 0.9].map((p) => isCovered(p, 2))).toEqual([
      true,
      true,
      false,
      false,
      false,
    ]);
  });

  it("is the entry of the largest stakes among those that count at the level", () => {
    const entry = (namespace: string, untilMs: number, up_to: string, max_stakes: number) => ({
      namespace: `agent://${namespace}/*`,
      until: new Date(untilMs).toISOString(),
      up_to,
      max_stakes,
    });
    const active = createActivePolicy(
      parsePolicy({
        vouched: [
          entry("a", UNTIL_MS, "L2", 30),
          entry("a/b", UNTIL_MS - 1, "L3", 15),
          entry("a/b/c", UNTIL_MS + 1, "L2", 0),
        ],
      }),
    );
    const at = (level: ToolLevel, nowMs: number) =>
      findVouching({ active, reading: THIN, agentId: "agent://a/b/c/d", nowMs }, level);
    const namespaces = (nowMs: number) =>
      TOOL_LEVELS.map((level) => at(level, nowMs)?.vouching.namespace);
    const [a, b, c] = ["agent://a/*", "agent://a/b/*", "agent://a/b/c/*"];
    expect(namespaces(0)).toEqual([a, a, a, b]);
    expect(namespaces(UNTIL_MS - 1)).toEqual([a, a, a, undefined]);
    expect(namespaces(UNTIL_MS)).toEqual([c, c, c, undefined]);
    expect(namespaces(UNTIL_MS + 1)).toEqual([undefined, undefined, undefined, undefined]);
    const stakes = (level: ToolLevel) =>
      [0, 10, 15, 15.01, 30, 30.01].map(
        (each) => fillRuleInputs(queryAt({ active, stakes: each }), level).areStakesVouched,
      );
    expect(stakes("L2")).toEqual([true, true, true, true, true, false]);
    expect(stakes("L3")).toEqual([true, true, true, false, false, false]);
    const unvouched = queryAt({ active, agentId: "agent://b/c" });
    expect(fillRuleInputs(unvouched, "L2")).toMatchObject({
      isVouched: false,
      areStakesVouched: false,
      vouchedStakesMax: 0,
    });
  });
});

type Facts = [
  ToolLevel,
  LevelPolicy,
  PolicyRisk,
  number,
  boolean,
  FindingCode | "",
  boolean,
  number,
];

function ruleOf(facts: Facts, more: Partial<RuleInputs> = {}) {
  const [toolLevel, level, risk, stakes, isMinimumMet, failureCode, areSourcesVerified] = facts;
  const allowUpTo = facts[7];
  const inputs = { stakes, isMinimumMet, failureCode, areSourcesVerified, allowUpTo, ...more };
  return applyPolicyRules({ ...createRuleInputs(toolLevel, level, risk), ...inputs });
}

function activeOf(word: { up_to: (typeof VOUCHED_LEVELS)[number]; max_stakes: number }) {
  const until = new Date(UNTIL_MS).toISOString();
  return createActivePolicy(
    parsePolicy({ vouched: [{ namespace: "agent://a/*", until, ...word }] }),
  );
}

/** The highest level that is allowed in a check and in a handshake. */
function reachOf(word: Parameters<typeof activeOf>[0]) {
  const active = activeOf(word);
  return (agentId: string, stakes: number, nowMs: number) =>
    [false, true].map((isHandshake) =>
      findHighestAllowedLevel(queryAt({ active, agentId, stakes, nowMs }), isHandshake),
    );
}

describe("the verdict", () => {
  const probability = fc.double({ min: 0, max: 1, noNaN: true });
  const levels = fc.record({
    allow_up_to: probability,
    allow_handshake_up_to: probability,
    flag_above: probability,
    thin: fc.constantFrom(...THIN_RULES),
    enforce: fc.boolean(),
    deny_from: fc.oneof(fc.constantFrom("fitted" as const, "never" as const), probability),
    minimum_score: fc.constant(null),
    counts_stakes: fc.boolean(),
    require_verified_sources: fc.boolean(),
    shadow: fc.boolean(),
  });
  const facts = fc.tuple(
    fc.constantFrom(...TOOL_LEVELS),
    levels,
    policyRisks,
    fc.constantFrom(0, 1, 20, 250, 1e4),
    fc.boolean(),
    fc.constantFrom("", "HASH_MISMATCH", "UNSUPPORTED_CONTENT"),
    fc.boolean(),
    probability,
  );

  it("loosens nothing that rests on anything but a thin record", () => {
    let loosened = 0;
    fc.assert(
      fc.property(facts, (given) => {
        const [toolLevel, level, risk, ...rest] = given;
        const without = ruleOf(given);
        const withWord = ruleOf(given, { isVouched: true });
        if (!["THIN_FILE", "THIN_FILE_FLAGGED"].includes(without.logReason)) {
          expect(withWord).toEqual(without);
          return;
        }
        expect(risk.isThin).toBe(true);
        // What all other rules say where a thin record costs nothing but at stakes beyond the word's.
        const others = ruleOf([toolLevel, { ...level, thin: "allow" }, risk, ...rest], {
          isThinAllowed: false,
        });
        if (others.verdictIndex > 0) expect(withWord).toEqual(others);
        else expect(withWord).toBe(VOUCHED);
        if (withWord === VOUCHED) loosened += 1;
      }),
      { numRuns: 5000 },
    );
    expect(loosened).toBeGreaterThan(20);
  });

  it("holds to a minimum that somebody named, and to none that follows from a level's bound", () => {
    const score = fc.integer({ min: 300, max: 850 });
    const cases = fc.tuple(fc.constantFrom(...TOOL_LEVELS), score, score, fc.option(score));
    fc.assert(
      fc.property(cases, ([name, own, keyMinimum, minimum]) => {
        const level = { ...DEFAULT_POLICY.levels[name], minimum_score: minimum };
        const isMet = own >= Math.max(keyMinimum, minimum ?? 300);
        const policyLevels = { ...DEFAULT_POLICY.levels, [name]: level };
        const isMetBy = (minimums: number) => {
          const query = queryAt({
            active: createActivePolicy({ ...DEFAULT_POLICY, levels: policyLevels }),
            reading: { ...UNKNOWN, scoreInternal: own },
            minimumScores: { L0: minimums, L1: minimums, L2: minimums, L3: minimums },
          });
          return fillRuleInputs(query, name).isMinimumMet;
        };
        expect(isMetBy(keyMinimum)).toBe(isMet);
        expect(isMetBy(MINIMUM_SCORES_DEFAULT[name])).toBe(own >= (minimum ?? 300));
      }),
    );
  });

  it("speaks for stakes only where it names them, and never against a refusal", () => {
    let loosened = 0;
    fc.assert(
      fc.property(facts, (given) => {
        const [toolLevel, level, risk, ...rest] = given;
        const withStakes = ruleOf(given, { isVouched: true, areStakesVouched: true });
        const free = risk.isRefused || !risk.isThin ? level : { ...level, counts_stakes: false };
        const word = { isVouched: true };
        expect(withStakes).toEqual(ruleOf([toolLevel, free, risk, ...rest], word));
        if (withStakes.verdictIndex < ruleOf(given, word).verdictIndex) {
          loosened += 1;
        }
      }),
      { numRuns: 5000 },
    );
    expect(loosened).toBeGreaterThan(3);
  });

  it("reaches up to the level and the stakes that the word names", () => {
    for (const level of VOUCHED_LEVELS) {
      const reach = reachOf({ up_to: level, max_stakes: 15 });
      expect(reach("agent://a/x", 15, UNTIL_MS - 1)).toEqual([level, level]);
      expect(reach("agent://a/x", 15.01, UNTIL_MS - 1)).toEqual(["L1", "L1"]);
      expect(reach("agent://a/x", 15, UNTIL_MS)).toEqual(["L1", "L1"]);
      expect(reach("agent://b/x", 0, 0)).toEqual(["L1", "L1"]);
    }
  });

  it("covers what a request without stakes counts for where the word names no amount", () => {
    for (const level of VOUCHED_LEVELS) {
      const { assumed } = SHIPPED.terms[level];
      const reach = reachOf({ up_to: level, max_stakes: 0 });
      for (const stakes of [0, assumed]) {
        expect(reach("agent://a/x", stakes, 0)).toEqual([level, level]);
      }
      expect(reach("agent://a/x", 1.01 * assumed, 0)[0]).not.toBe(level);
    }
  });

  it("covers nothing at an amount below what a request without stakes counts for", () => {
    const { assumed } = SHIPPED.terms.L2;
    const word = { up_to: "L2", max_stakes: 0.9 * assumed } as const;
    for (const stakes of [0, 1, 0.9 * assumed]) {
      expect(reachOf(word)("agent://a/x", stakes, 0)).toEqual(["L1", "L1"]);
    }
    const rules = fillRuleInputs(queryAt({ active: activeOf(word), agentId: "agent://a/x" }), "L2");
    expect(rules).toMatchObject({ areStakesVouched: false, vouchedStakesMax: 0 });
  });

  it("takes an entry without an amount for what it covers beside one with a smaller amount", () => {
    const { assumed } = SHIPPED.terms.L2;
    const until = new Date(UNTIL_MS).toISOString();
    const small = { namespace: "agent://a/*", until, max_stakes: 0.5 * assumed };
    const unnamed = { namespace: "agent://a/b/*", until };
    for (const vouched of [
      [small, unnamed],
      [unnamed, small],
    ]) {
      const query = queryAt({ active: createActivePolicy(parsePolicy({ vouched })) });
      const rules = fillRuleInputs(query, "L2");
      expect([rules.areStakesVouched, rules.vouchedStakesMax]).toEqual([true, assumed]);
    }
  });
});
