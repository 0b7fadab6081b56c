// The operator's word: which agents it covers, to the segment and to the millisecond, and that it
// loosens nothing but what rests on a thin record alone.
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parsePolicy } from "../../src/contract/parse/policy.ts";
import { DEFAULT_POLICY, THIN_RULES, VOUCHED_LEVELS } from "../../src/contract/policy.ts";
import { DECISIONS, TOOL_LEVELS } from "../../src/contract/vocabulary.ts";
import {
  decidePolicy,
  highestLevelAllowed,
  isMinimumMet,
  VOUCHED,
} from "../../src/policy/rules.ts";
import type { Risk } from "../../src/policy/rules.ts";
import { isVouchedAt, vouchedNamespaces, vouchingFor } from "../../src/policy/vouching.ts";

const UNTIL_MS = Date.UTC(2027, 0, 31);
const THIN = { isThin: true, failureProbability: 0.1 };

function found(namespaces: readonly string[], agent: string, nowMs = 0, risk = THIN) {
  const until = new Date(UNTIL_MS).toISOString();
  const policy = parsePolicy({
    vouched: namespaces.map((namespace) => ({ namespace, until })),
  });
  return vouchingFor(vouchedNamespaces(policy), risk, agent, nowMs)?.vouching.namespace;
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
    expect(found(["agent://a/*"], agent, 0, { ...THIN, failureProbability: 0.4 })).toBeDefined();
    expect(found(["agent://a/*"], agent, 0, { ...THIN, failureProbability: 0.401 })).toBe(
      undefined,
    );
  });

  it("is the entry of the most sensitive level among those that have not expired", () => {
    const time = (ms: number) => new Date(ms).toISOString();
    const { vouched = [] } = parsePolicy({
      vouched: [
        { namespace: "agent://a/*", until: time(UNTIL_MS) },
        { namespace: "agent://a/b/*", until: time(UNTIL_MS - 1), up_to: "L3" },
        { namespace: "agent://a/b/c/*", until: time(UNTIL_MS + 1) },
      ],
    });
    const compiled = vouchedNamespaces({ ...DEFAULT_POLICY, vouched });
    const at = (nowMs: number) =>
      vouchingFor(compiled, THIN, "agent://a/b/c/d", nowMs)?.vouching.namespace;
    expect(at(0)).toBe("agent://a/b/*");
    expect(at(UNTIL_MS - 1)).toBe("agent://a/b/c/*");
    expect(at(UNTIL_MS + 1)).toBeUndefined();
    const upTo = vouchingFor(compiled, THIN, "agent://a/b/c/d", 0);
    expect(TOOL_LEVELS.filter((level) => isVouchedAt(level, upTo))).toEqual(TOOL_LEVELS);
    const early = vouchingFor(compiled, THIN, "agent://a/x", 0);
    expect(TOOL_LEVELS.filter((level) => isVouchedAt(level, early))).toEqual(["L0", "L1", "L2"]);
  });
});

describe("the verdict", () => {
  const probability = fc.double({ min: 0, max: 1, noNaN: true });
  const risks: fc.Arbitrary<Risk> = fc.record({
    failureProbability: probability,
    failureOptimistic: probability,
    isThin: fc.boolean(),
    isDenied: fc.boolean(),
    isRefused: fc.boolean(),
    decisionIndex: fc.nat(DECISIONS.length - 1),
  });
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
    risks,
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
        const without = decidePolicy(...given);
        const withWord = decidePolicy(...given, true);
        if (!["THIN_FILE", "THIN_FILE_FLAGGED"].includes(without.logReason)) {
          expect(withWord).toEqual(without);
          return;
        }
        expect(risk.isThin).toBe(true);
        // What all other rules say where a thin record costs nothing.
        const others = decidePolicy(toolLevel, { ...level, thin: "allow" }, risk, ...rest);
        if (others.verdictIndex > 0) expect(withWord).toEqual(others);
        else expect(withWord).toBe(VOUCHED);
        if (withWord === VOUCHED) loosened += 1;
      }),
      { numRuns: 5000 },
    );
    expect(loosened).toBeGreaterThan(100);
  });

  it("takes the word for the shipped minimum alone, and for none that asks for more", () => {
    const cases = fc.tuple(
      fc.constantFrom(...TOOL_LEVELS),
      fc.integer({ min: 300, max: 850 }),
      fc.integer({ min: 300, max: 850 }),
    );
    const shipped = { L0: 300, L1: 300, L2: 507, L3: 550 };
    fc.assert(
      fc.property(cases, ([level, score, minimum]) => {
        expect(isMinimumMet(level, score, minimum, false)).toBe(score >= minimum);
        expect(isMinimumMet(level, score, minimum, true)).toBe(
          score >= minimum || minimum <= shipped[level],
        );
      }),
    );
  });

  it("reaches up to the level that the word names", () => {
    const unknown: Risk & { scoreInternal: number } = {
      failureProbability: 0.1,
      failureOptimistic: 0.02,
      isThin: true,
      isDenied: false,
      isRefused: false,
      decisionIndex: 0,
      scoreInternal: 500,
    };
    const minimums = { L0: 300, L1: 300, L2: 507, L3: 550 };
    const reach = (index: number) =>
      [false, true].map((isHandshake) =>
        highestLevelAllowed(DEFAULT_POLICY, unknown, minimums, isHandshake, index),
      );
    expect(reach(-1)).toEqual(["L1", "L1"]);
    for (const level of VOUCHED_LEVELS) {
      expect(reach(TOOL_LEVELS.indexOf(level))).toEqual([level, level]);
    }
  });
});
