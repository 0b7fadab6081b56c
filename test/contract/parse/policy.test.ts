// Policy documents: filled in from the shipped policy, each fault with its pointer, and no level
// looser than a less sensitive one.
import { expect, it } from "vitest";
import { ServiceFault } from "../../../src/contract/faults.ts";
import { fillPolicyDefaults } from "../../../src/contract/complete-policy.ts";
import { parsePolicy } from "../../../src/contract/parse/policy.ts";
import { DEFAULT_POLICY } from "../../../src/contract/policy.ts";
import { createActivePolicy } from "../../../src/policy/active-policy.ts";

function faultsOf(value: unknown): string[] {
  try {
    parsePolicy(value);
  } catch (thrown) {
    if (!(thrown instanceof ServiceFault)) throw thrown;
    return thrown.errors.map((error) => `${error.pointer} ${error.code}`);
  }
  return [];
}

const WORD = { namespace: "agent://a/*", until: "2027-01-31T00:00:00Z" };
const OTHER = { ...WORD, namespace: "agent://a/b/*", up_to: "L3" };

it("takes the shipped rule wherever a document names none", () => {
  expect(parsePolicy({})).toEqual(DEFAULT_POLICY);
  const { levels, allow_inverted: isInverted } = parsePolicy({
    levels: { L3: { allow_up_to: 0.02, minimum_score: 700 } },
  });
  expect(levels).toEqual({
    ...DEFAULT_POLICY.levels,
    L3: { ...DEFAULT_POLICY.levels.L3, allow_up_to: 0.02, minimum_score: 700 },
  });
  expect(isInverted).toBe(false);
});

it("accepts its own complete form, and changes no shipped rule", () => {
  const whole = parsePolicy(structuredClone(DEFAULT_POLICY));
  expect(whole).toEqual(DEFAULT_POLICY);
  expect(fillPolicyDefaults({ levels: { L0: { shadow: true } } }).levels.L0.shadow).toBe(true);
  expect(DEFAULT_POLICY.levels.L0.shadow).toBe(false);
});

it.each([
  [[], " type"],
  [{ level: {} }, "/level unknown"],
  [{ levels: { L4: {} } }, "/levels/L4 unknown"],
  [{ levels: { L2: { allow: 1 } } }, "/levels/L2/allow unknown"],
  [{ levels: { L2: { allow_up_to: 1.1 } } }, "/levels/L2/allow_up_to range"],
  [{ levels: { L2: { allow_handshake_up_to: "0" } } }, "/levels/L2/allow_handshake_up_to type"],
  [{ levels: { L2: { flag_above: -1 } } }, "/levels/L2/flag_above range"],
  [{ levels: { L2: { thin: "deny" } } }, "/levels/L2/thin enum"],
  [{ levels: { L2: { enforce: 1 } } }, "/levels/L2/enforce type"],
  [{ levels: { L2: { deny_from: 2 } } }, "/levels/L2/deny_from range"],
  [{ levels: { L2: { deny_from: "always" } } }, "/levels/L2/deny_from type"],
  [{ levels: { L2: { minimum_score: 299 } } }, "/levels/L2/minimum_score range"],
  [{ levels: { L2: { minimum_score: "300" } } }, "/levels/L2/minimum_score type"],
  [{ levels: { L2: { counts_stakes: null } } }, "/levels/L2/counts_stakes type"],
  [{ levels: { L2: { shadow: "yes" } } }, "/levels/L2/shadow type"],
  [{ levels: { L1: { broken_evidence: "allow" } } }, "/levels/L1/broken_evidence enum"],
  [{ allow_inverted: "yes" }, "/allow_inverted type"],
  [{ vouched: {} }, "/vouched type"],
  [{ actions: {} }, "/actions type"],
  [
    { actions: Array.from({ length: 201 }, () => ({ match: "*", level: "L1" })) },
    "/actions length",
  ],
  [{ actions: [{ match: "a.b" }] }, "/actions/0/level required"],
  [{ actions: [{ match: "a.b", level: "L4" }] }, "/actions/0/level enum"],
  [{ actions: [{ match: "a", level: "L1" }] }, "/actions/0/match format"],
  [{ actions: [{ match: "a*", level: "L1" }] }, "/actions/0/match format"],
  [{ actions: [{ match: "a.b*", level: "L1" }] }, "/actions/0/match format"],
  [{ actions: [{ match: "*.b", level: "L1" }] }, "/actions/0/match format"],
  [{ actions: [{ match: ".*", level: "L1" }] }, "/actions/0/match format"],
  [{ actions: [{ match: "*", resource: "a*", level: "L1" }] }, "/actions/0/resource format"],
  [{ actions: [{ match: "*", resource: "*/a", level: "L1" }] }, "/actions/0/resource format"],
  [{ actions: [{ match: "*", resource: "", level: "L1" }] }, "/actions/0/resource format"],
  [{ actions: [{ match: "*", when: {}, level: "L1" }] }, "/actions/0/when length"],
  [{ actions: [{ match: "*", when: [], level: "L1" }] }, "/actions/0/when type"],
  [{ actions: [{ match: "*", when: { "/a": 1 }, level: "L1" }] }, "/actions/0/when/~1a format"],
  [
    { actions: [{ match: "*", when: { "/context/a": null }, level: "L1" }] },
    "/actions/0/when/~1context~1a type",
  ],
  [
    { actions: [{ match: "*", when: { "/context/a~2": 1 }, level: "L1" }] },
    "/actions/0/when/~1context~1a~02 format",
  ],
  [{ actions: [{ match: "*", level: "L1", stakes: "/stakes" }] }, "/actions/0/stakes format"],
  [{ actions: [{ match: "*", level: "L1", mode: "log" }] }, "/actions/0/mode unknown"],
  [
    {
      actions: [
        { match: "*", when: { "/context/a": 1, "/context/b": 2 }, level: "L1" },
        { match: "*", when: { "/context/b": 2, "/context/a": 1 }, level: "L2" },
      ],
    },
    "/actions/1 duplicate",
  ],
  [{ vouched: Array.from({ length: 101 }, () => WORD) }, "/vouched length"],
  [{ vouched: [5] }, "/vouched/0 type"],
  [{ vouched: [WORD, { ...WORD, namespace: "agent://a/x" }] }, "/vouched/1/namespace format"],
  [{ vouched: [{ ...WORD, namespace: "agent://*" }] }, "/vouched/0/namespace format"],
  [{ vouched: [{ ...WORD, namespace: "agent://a*" }] }, "/vouched/0/namespace format"],
  [{ vouched: [{ ...WORD, namespace: "agent://a/*/*" }] }, "/vouched/0/namespace format"],
  [{ vouched: [{ ...WORD, namespace: "agent://a//*" }] }, "/vouched/0/namespace format"],
  [{ vouched: [{ ...WORD, namespace: 5 }] }, "/vouched/0/namespace type"],
  [{ vouched: [{ ...WORD, until: "2027-01-31" }] }, "/vouched/0/until format"],
  [{ vouched: [{ ...WORD, until: 1e12 }] }, "/vouched/0/until type"],
  [{ vouched: [{ namespace: "agent://a/*" }] }, "/vouched/0/until required"],
  [{ vouched: [{ ...WORD, up_to: "L1" }] }, "/vouched/0/up_to enum"],
  [{ vouched: [{ ...WORD, upto: "L2" }] }, "/vouched/0/upto unknown"],
  [{ vouched: [{ ...WORD, max_stakes: -1 }] }, "/vouched/0/max_stakes range"],
  [{ vouched: [{ ...WORD, max_stakes: "5" }] }, "/vouched/0/max_stakes type"],
  [{ vouched: [WORD, OTHER, WORD] }, "/vouched/2/namespace duplicate"],
])("refuses %j at the member that is wrong", (value, fault) => {
  expect(faultsOf(value)).toEqual([fault]);
});

it.each([
  [{ L3: { allow_up_to: 0.2 } }, "/levels/L3/allow_up_to"],
  [{ L3: { allow_handshake_up_to: 0.25 } }, "/levels/L3/allow_handshake_up_to"],
  [{ L3: { thin: "flag" } }, "/levels/L3/thin"],
  [{ L3: { enforce: false } }, "/levels/L3/enforce"],
  [{ L3: { deny_from: "never" } }, "/levels/L3/deny_from"],
  [{ L2: { deny_from: 0.3 }, L3: { deny_from: 0.4 } }, "/levels/L3/deny_from"],
  [{ L2: { minimum_score: 650 } }, "/levels/L3/minimum_score"],
  [{ L2: { minimum_score: 650 }, L3: { minimum_score: 640 } }, "/levels/L3/minimum_score"],
  [{ L3: { counts_stakes: false } }, "/levels/L3/counts_stakes"],
  [{ L2: { require_verified_sources: true } }, "/levels/L3/require_verified_sources"],
  [{ L0: { broken_evidence: "withhold" } }, "/levels/L1/broken_evidence"],
  [{ L3: { broken_evidence: "flag" } }, "/levels/L3/broken_evidence"],
])("refuses %j as looser than a less sensitive level, unless it is meant", (levels, pointer) => {
  expect(faultsOf({ levels })).toEqual([`${pointer} inverted`]);
  expect(faultsOf({ levels, allow_inverted: true })).toEqual([]);
});

it("sees past a level whose border cannot be compared", () => {
  const levels = { L1: { deny_from: 0.3 }, L3: { deny_from: 0.9 } };
  expect(faultsOf({ levels })).toEqual(["/levels/L3/deny_from inverted"]);
  expect(faultsOf({ levels: { L0: { deny_from: "never" }, L3: { deny_from: 0.5 } } })).toEqual([]);
});

it("keeps stakes as they were written, and its version without any", () => {
  const stakes = { review_cost: 12, levels: { L3: { assumed: 30 } } };
  const whole = parsePolicy({ stakes });
  expect(whole).toEqual({ ...DEFAULT_POLICY, stakes });
  expect(parsePolicy(structuredClone(whole))).toEqual(whole);
  expect(parsePolicy({ stakes: {} })).toEqual(DEFAULT_POLICY);
  // The document that GET answers may be sent back: its terms in force are no part of it.
  const inForce = { stakes_in_force: { unit: 1 }, minimum_scores_in_force: { L2: {} } };
  expect(parsePolicy({ policy: whole, ...inForce })).toEqual(whole);
  expect(faultsOf({ policy: whole, stakes })).toEqual(["/stakes doubled"]);
});

it.each([
  [{ stakes: { review_costs: 5 } }, "/stakes/review_costs unknown"],
  [{ stakes: { levels: { L0: {} } } }, "/stakes/levels/L0 unknown"],
  [{ stakes: { levels: { L3: { assumed: 1 } } } }, "/stakes/levels/L3/assumed inverted"],
  [{ policy: { stakes: { verification_cost: 6 } } }, "/policy/stakes/verification_cost range"],
])("refuses %j, also where a looser level is permitted", (value, fault) => {
  expect(faultsOf(value)).toEqual([fault]);
  if (!("policy" in value)) expect(faultsOf({ ...value, allow_inverted: true })).toEqual([fault]);
});

it("spells one moment in one way, and keeps the version of a policy that vouches for nobody", () => {
  const at = (until: string) => parsePolicy({ vouched: [{ ...WORD, until }] });
  const [word] = at("2027-01-31T01:30:00.0009+01:30").vouched!;
  expect(word).toEqual({ ...WORD, until: "2027-01-31T00:00:00.000Z", up_to: "L2", max_stakes: 0 });
  expect(createActivePolicy(at(WORD.until)).version).toBe(
    createActivePolicy(at("2027-01-31T00:00:00.000+00:00")).version,
  );
  expect(parsePolicy({ vouched: [] })).toEqual(DEFAULT_POLICY);
  expect(createActivePolicy(parsePolicy({ vouched: [] })).version).toBe(
    createActivePolicy(DEFAULT_POLICY).version,
  );
  const whole = at(WORD.until);
  expect(parsePolicy(structuredClone(whole))).toEqual(whole);
});
