// The back-test's counts and curves against a slow reference that asks the policy again for every
// bound, and the interval of its false alarms.
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { fillPolicyDefaults } from "../../src/contract/complete-policy.ts";
import { DEFAULT_POLICY, THIN_RULES } from "../../src/contract/policy.ts";
import type { Policy } from "../../src/contract/policy.ts";
import { resolveStakesTerms } from "../../src/contract/stakes-policy.ts";
import { BACKTEST_QUESTIONS } from "../../src/contract/schemas/backtest.ts";
import { TOOL_LEVELS, VERDICTS } from "../../src/contract/vocabulary.ts";
import { createActivePolicy } from "../../src/policy/active-policy.ts";
import { PolicyBacktest } from "../../src/policy/backtest.ts";
import {
  computeEffectiveTrials,
  computeWilsonInterval,
} from "../../src/policy/confidence-interval.ts";
import { applyPolicyRules } from "../../src/policy/rules.ts";
import { createRuleInputs } from "../../src/policy/rule-inputs.ts";
import { createRisk, policyRisks } from "./_connections.ts";

const AGENTS = ["agent://a/0", "agent://a/1", "agent://a/2", "agent://a/3"];

const probability = fc.oneof(
  fc.double({ min: 0, max: 1, noNaN: true }),
  fc.constantFrom(0, 0.05, 0.1, 0.15, 0.30000000000000004, 0.3, 1),
);

const judged = fc.record({
  question: fc.nat({ max: BACKTEST_QUESTIONS.length - 1 }),
  reading: fc
    .record({
      risk: policyRisks,
      failureProbability: probability,
      failureOptimistic: probability,
      scoreInternal: fc.double({ min: 300, max: 850, noNaN: true }),
    })
    .map(({ risk, ...given }) => ({ ...risk, ...given, reasonIndexes: [], reasonCount: 0 })),
  agent: fc.nat({ max: AGENTS.length - 1 }),
  isBad: fc.boolean(),
  stakes: fc.nat({ max: 1000 }),
});
type Judged = typeof judged extends fc.Arbitrary<infer T> ? T : never;

const level = fc.record(
  {
    allow_up_to: probability,
    allow_handshake_up_to: probability,
    flag_above: probability,
    thin: fc.constantFrom(...THIN_RULES),
    enforce: fc.boolean(),
    deny_from: fc.oneof(fc.constantFrom("fitted" as const, "never" as const), probability),
    minimum_score: fc.option(fc.integer({ min: 300, max: 850 })),
    counts_stakes: fc.boolean(),
  },
  { requiredKeys: [] },
);
const stakesWritten = fc.record(
  { review_cost: fc.constantFrom(1, 5, 40), unit: fc.constantFrom(0.01, 1, 100) },
  { requiredKeys: [] },
);
const policies: fc.Arbitrary<Policy> = fc
  .record({
    levels: fc.record({ L0: level, L1: level, L2: level, L3: level }),
    stakes: stakesWritten,
  })
  .map(fillPolicyDefaults);

function backtestOf(outcomes: readonly Judged[], live: Policy, given?: Policy) {
  const backtest = new PolicyBacktest({
    live: createActivePolicy(live),
    given: given && createActivePolicy(given),
    agentCount: AGENTS.length,
  });
  for (const { question, ...each } of outcomes) {
    backtest.add(question, { ...each, agentId: AGENTS[each.agent]!, nowMs: 0 });
  }
  return backtest.buildFindings(AGENTS);
}

/** The verdict's name, asked of the policy itself; `bound` in place of the policy's own. */
function verdictOf(
  each: Judged,
  policy: Policy,
  name: (typeof TOOL_LEVELS)[number],
  bound?: number,
) {
  const rules = policy.levels[name];
  const isHandshake = BACKTEST_QUESTIONS[each.question]!.startsWith("handshake");
  const own = isHandshake ? rules.allow_handshake_up_to : rules.allow_up_to;
  const isMinimumMet =
    isHandshake || Math.round(each.reading.scoreInternal) >= (rules.minimum_score ?? 300);
  const areStakesNamed = BACKTEST_QUESTIONS[each.question]!.endsWith("with_stakes");
  const ruling = applyPolicyRules({
    ...createRuleInputs(name, rules, each.reading),
    terms: resolveStakesTerms(policy.stakes)[name],
    stakes: areStakesNamed ? each.stakes / unitOf(policy) : 0,
    isMinimumMet,
    allowUpTo: bound ?? own,
  });
  return VERDICTS[ruling.verdictIndex]!;
}

/** Outcomes have their stakes in the unit of account, figures in the policy's own. */
const unitOf = (policy: Policy) => policy.stakes?.unit ?? 1;
const sumOf = (outcomes: readonly Judged[], policy: Policy) =>
  outcomes.reduce((sum, { stakes }) => sum + stakes, 0) / unitOf(policy);

describe("a back-test", () => {
  it("counts what the policy says of each outcome, for both policies", () => {
    fc.assert(
      fc.property(
        fc.array(judged, { maxLength: 40 }),
        policies,
        policies,
        (outcomes, live, given) => {
          const { rows } = backtestOf(outcomes, live, given);
          expect(rows).toHaveLength(2 * BACKTEST_QUESTIONS.length * TOOL_LEVELS.length);
          for (const row of rows) {
            const policy = row.policy === "live" ? live : given;
            const of = (isBad: boolean, verdict: string) =>
              outcomes.filter(
                (each) =>
                  BACKTEST_QUESTIONS[each.question] === row.question &&
                  each.isBad === isBad &&
                  (verdict === "" || verdictOf(each, policy, row.level) === verdict),
              );
            const count = (isBad: boolean) =>
              ["", ...VERDICTS].map((verdict) => of(isBad, verdict).length);
            expect(count(false)).toEqual([
              row.good,
              row.good_allowed,
              row.good_challenged,
              row.good_quarantined,
              row.good_blocked,
            ]);
            expect(count(true)).toEqual([
              row.bad,
              row.bad_allowed,
              row.bad_challenged,
              row.bad_quarantined,
              row.bad_blocked,
            ]);
            expect(row.stakes_lost).toBeCloseTo(sumOf(of(true, "ALLOW"), policy), 2);
            const kept = sumOf(of(false, "ALLOW"), policy);
            expect(row.stakes_turned_away).toBeCloseTo(sumOf(of(false, ""), policy) - kept, 2);
            expect(row.false_alarms).toBe(row.good_quarantined + row.good_blocked);
            if (row.good === 0) expect(row.false_alarm_rate).toBeNull();
            else {
              expect(row.false_alarm_rate).toBe(row.false_alarms / row.good);
              expect(row.false_alarm_low!).toBeLessThanOrEqual(row.false_alarm_rate!);
              expect(row.false_alarm_high!).toBeGreaterThanOrEqual(row.false_alarm_rate!);
            }
          }
        },
      ),
      { numRuns: 150 },
    );
  });

  it("draws curves that are exact at every bound, with thin records allowed or not", () => {
    fc.assert(
      fc.property(fc.array(judged, { maxLength: 40 }), policies, (outcomes, live) => {
        const { bounds, curves, rows } = backtestOf(outcomes, live);
        expect(bounds).toEqual(bounds.toSorted((a, b) => a - b));
        const enforced = TOOL_LEVELS.filter((name) => live.levels[name].enforce);
        expect(curves).toHaveLength(enforced.length * BACKTEST_QUESTIONS.length);
        for (const curve of curves) {
          const asked = outcomes.filter(
            (each) => BACKTEST_QUESTIONS[each.question] === curve.question,
          );
          const goodStakes = sumOf(
            asked.filter(({ isBad }) => !isBad),
            live,
          );
          for (const [at, bound] of bounds.entries()) {
            const allowed = asked.filter(
              (each) => verdictOf(each, live, curve.level, bound) === "ALLOW",
            );
            const good = allowed.filter(({ isBad }) => !isBad);
            const bad = allowed.filter(({ isBad }) => isBad);
            expect([curve.good_allowed[at], curve.bad_allowed[at]]).toEqual([
              good.length,
              bad.length,
            ]);
            expect(curve.stakes_lost[at]).toBeCloseTo(sumOf(bad, live), 2);
            expect(curve.stakes_turned_away[at]).toBeCloseTo(goodStakes - sumOf(good, live), 2);
          }
          const row = rows.find(
            (each) => each.question === curve.question && each.level === curve.level,
          )!;
          const own = bounds.indexOf(curve.bound);
          expect(curve.good_allowed[own]).toBe(row.good_allowed);
          expect(curve.bad_allowed[own]).toBe(row.bad_allowed);
        }
      }),
      { numRuns: 60 },
    );
  });

  it("says what changes between the policies, and for which agents most", () => {
    fc.assert(
      fc.property(
        fc.array(judged, { maxLength: 40 }),
        policies,
        policies,
        (outcomes, live, given) => {
          const { changes, agents } = backtestOf(outcomes, live, given);
          for (const change of changes) {
            const moved = (isBad: boolean, isAllowed: boolean, agent?: number) =>
              outcomes.filter(
                (each) =>
                  BACKTEST_QUESTIONS[each.question] === change.question &&
                  each.isBad === isBad &&
                  (agent === undefined || each.agent === agent) &&
                  (verdictOf(each, live, change.level) === "ALLOW") !== isAllowed &&
                  (verdictOf(each, given, change.level) === "ALLOW") === isAllowed,
              );
            const counted = (agent?: number) => ({
              good_newly_allowed: moved(false, true, agent).length,
              bad_newly_allowed: moved(true, true, agent).length,
              good_newly_turned_away: moved(false, false, agent).length,
              bad_newly_turned_away: moved(true, false, agent).length,
            });
            expect(change).toMatchObject(counted());
            expect(change.stakes_newly_lost).toBeCloseTo(sumOf(moved(true, true), live), 2);
            expect(change.stakes_newly_saved).toBeCloseTo(sumOf(moved(true, false), live), 2);
            const { question } = change;
            const own = agents.filter(
              (each) => each.question === question && each.level === change.level,
            );
            const isListed = change.level === "L2" || change.level === "L3";
            const affected = AGENTS.flatMap((agent, index) => {
              const counts = counted(index);
              const isAffected = Object.values(counts).some((count) => count > 0);
              return isListed && isAffected
                ? [{ question, level: change.level, agent, ...counts }]
                : [];
            });
            expect(own.toSorted((a, b) => (a.agent < b.agent ? -1 : 1))).toEqual(affected);
          }
        },
      ),
      { numRuns: 100 },
    );
  });

  it("lets all through that is not denied where the bound is 1", () => {
    const open = { allow_up_to: 1, allow_handshake_up_to: 1, thin: "allow", counts_stakes: false };
    const given = fillPolicyDefaults({ levels: { L2: open, L3: open } as Policy["levels"] });
    fc.assert(
      fc.property(fc.array(judged, { minLength: 1, maxLength: 40 }), (outcomes) => {
        const { rows } = backtestOf(outcomes, DEFAULT_POLICY, given);
        for (const row of rows.filter(({ policy }) => policy === "given")) {
          expect(row.good_challenged + row.bad_challenged).toBe(0);
          expect(row.good_allowed).toBe(row.good - row.false_alarms);
        }
      }),
    );
  });

  it("names the rules that held back; the default minimum of keys is none", () => {
    const reading = {
      ...createRisk({ failureProbability: 0.07, failureOptimistic: 0.01 }),
      scoreInternal: 500,
      reasonIndexes: [],
      reasonCount: 0,
    };
    const outcomes = [false, false, true].map((isBad) => ({
      question: 0,
      reading,
      agent: 0,
      isBad,
      stakes: 5,
    }));
    const { reasons, rows } = backtestOf(outcomes, DEFAULT_POLICY);
    const named = { policy: "live", question: "verify", verdict: "CHALLENGE" };
    expect(reasons).toEqual([
      { ...named, level: "L3", log_reason: "RISK_ABOVE_BOUND", good: 2, bad: 1 },
    ]);
    const at = (name: string) =>
      rows.find((row) => row.question === "verify" && row.level === name)!;
    expect(at("L2")).toMatchObject({ good_allowed: 2, bad_allowed: 1 });
    expect(at("L3")).toMatchObject({ good_allowed: 0 });
  });
});

describe("the interval of false alarms", () => {
  it("is Wilson's where every outcome is another agent's", () => {
    const trials = new Uint32Array(1000).fill(1);
    const hits = new Map([[7, 1]]);
    // One degree of freedom is the mean's.
    expect(computeEffectiveTrials({ trials, hits })).toBeCloseTo(999, 6);
    const { low, high } = computeWilsonInterval(0.001, 1000);
    // Newcombe 1998, table: 1 of 1000.
    expect([low.toFixed(6), high.toFixed(6)]).toEqual(["0.000177", "0.005643"]);
    expect(computeWilsonInterval(0, 100)).toEqual({ low: 0, high: expect.closeTo(0.036994, 5) });
    expect(computeWilsonInterval(0, 0)).toEqual({ low: 0, high: 1 });
  });

  it("widens where all the alarms are one agent's", () => {
    const trials = new Uint32Array(100).fill(10);
    const spread = new Map(Array.from({ length: 10 }, (_, agent) => [agent, 1] as const));
    const one = new Map([[0, 10]]);
    expect(computeEffectiveTrials({ trials, hits: spread })).toBe(1000);
    const effective = computeEffectiveTrials({ trials, hits: one });
    expect(effective).toBeGreaterThan(50);
    expect(effective).toBeLessThan(120);
    expect(computeWilsonInterval(0.01, effective).high).toBeGreaterThan(
      computeWilsonInterval(0.01, 1000).high,
    );
  });
});
