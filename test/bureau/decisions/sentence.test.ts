// The sentence of why on top of a decision: there for every rule, reason and finding, one sentence, and never against
// the answer or its own numbers.
import fc from "fast-check";
import { beforeAll, describe, expect, it } from "vitest";
import type { Bureau } from "../../../src/bureau/bureau.ts";
import { describeDecision } from "../../../src/bureau/decisions/sentence.ts";
import { DISPOSITIONS, type Disposition } from "../../../src/contract/decisions.ts";
import type { ReplayableLeg } from "../../../src/contract/schemas/decisions.ts";
import type { DecisionTrace } from "../../../src/contract/schemas/trace.ts";
import {
  ANSWER_CODES,
  DECISIONS,
  LOG_REASONS,
  TOOL_LEVELS,
  VERDICTS,
} from "../../../src/contract/vocabulary.ts";
import { loadDefaultConfig } from "../../../src/engine/config.ts";
import { legOf, openTable, principalOf } from "../../store/_decisions.ts";

type Trace = Omit<DecisionTrace, "why">;
type TracedLeg = Trace["legs"][number];

const HEADS: Readonly<Record<Disposition, RegExp>> = {
  allow: /^Allowed( and flagged for review)?: /,
  step_up: /^Step-up required(, but not enforced \(shadow mode\))?: /,
  person: /^Held for a person(, but not enforced \(shadow mode\))?: /,
  refuse: /^Refused( \(quarantined\))?(, but not enforced \(shadow mode\))?: /,
};

const PRICE_SCOUT = "agent://globex/price-scout";

function buildLeg(more: Partial<TracedLeg> = {}): TracedLeg {
  return {
    leg: "a_to_b",
    subject: PRICE_SCOUT,
    viewer: null,
    is_test: false,
    row: {
      known: true,
      outcomes: 60,
      evidence_weight: 20,
      mean: 2,
      mean_variance: 0.1,
      stakes_proven: 40,
      failure_weight: 15,
      base_rate: -2,
      shock_days: null,
      viewer_mean: null,
      viewer_variance: null,
      standing: [],
    },
    features: null,
    score: {
      log_odds: 2.4,
      log_odds_sd: 0.3,
      internal_score: 380,
      effective_score: 360,
      tier: "D",
      regime: "shock",
    },
    risk: {
      expected: 0.92,
      optimistic: 0.85,
      pessimistic: 0.96,
      at_stakes: 0.96,
      thin: false,
      denied: false,
      refused: false,
    },
    provenance: { finding: null, decided: false },
    stakes: {
      stakes: 0,
      max_stakes: 0,
      leg_decision: "escalate",
      borders: { connect: 0.2, connect_with_verification: 0.5, deny: 2 },
    },
    rules: [
      {
        rule: "RISK_ABOVE_BOUND",
        gives: "CHALLENGE",
        pointer: "/levels/L2/allow_up_to",
        bound: 0.1,
        value: 0.92,
        holds: true,
        decides: true,
      },
    ],
    decided_by: "RISK_ABOVE_BOUND",
    reason_codes: ["FAILURE_HISTORY", "RECENT_FAILURE"],
    not_recorded: [],
    ...more,
  };
}

function buildTrace(leg: TracedLeg, more: Partial<Trace> = {}): Trace {
  return {
    request_id: "r-1",
    kind: "verify",
    tenant: "acme",
    key_id: "key-1",
    action: "order.place",
    tool_level: "L2",
    evaluated_at: "2026-05-05T06:07:08.123Z",
    node: null,
    config_version: "c-0123456789abcdef",
    config_in_force: true,
    policy_version: null,
    action_entry: null,
    policy_in_force: true,
    verdict: "CHALLENGE",
    decision: "escalate",
    effective: "deny",
    disposition: "person",
    enforced: true,
    flagged: false,
    legs: [leg],
    ...more,
  };
}

/** Holds for every sentence, whatever the decision. */
function expectSentence(trace: Trace, why: string): void {
  expect(why).toMatch(HEADS[trace.disposition]);
  expect(why.replace(HEADS[trace.disposition], "")).toMatch(/^\S.{4,}\.$/);
  expect(why).not.toMatch(/undefined|null|NaN|Infinity|\. [A-Z]|\.\.$/);
}

describe("the sentence of a decision", () => {
  it("says the share of failures and the bound of the level", () => {
    const trace = buildTrace(buildLeg());
    expect(describeDecision(trace)).toBe(
      "Held for a person: 92 % of the agent's calls are expected to fail; at L2 at most 10 % are allowed (main reason: settled outcomes failed more often than usual).",
    );
  });

  it("is there for every rule, decision, reason and finding", () => {
    const rules = [...LOG_REASONS, ...DECISIONS, "HIGH_RISK", "SOME_SOURCES_UNKNOWN"];
    const said = new Set<string>();
    for (const rule of rules) {
      for (const code of ANSWER_CODES) {
        for (const disposition of DISPOSITIONS) {
          const leg = buildLeg({ decided_by: rule, reason_codes: [code] });
          const trace = buildTrace(leg, { disposition });
          const why = describeDecision(trace);
          expectSentence(trace, why);
          said.add(`${rule}: ${why.replace(HEADS[disposition], "")}`);
        }
      }
    }
    // No two rules say the same, but for those of old entries.
    const plain = [...said].map((each) => each.split(": ").slice(1).join(": "));
    const causes = new Set(plain.map((each) => each.replace(/ \(main reason: .*\)/, "")));
    expect(causes.size).toBeGreaterThanOrEqual(LOG_REASONS.length);
  });

  it("never contradicts its answer nor its own numbers, whatever is recorded", () => {
    const share = fc.double({ min: 0, max: 1, noNaN: true });
    const arbitrary = fc.record({
      rule: fc.constantFrom(...LOG_REASONS, ...DECISIONS),
      codes: fc.array(fc.constantFrom(...ANSWER_CODES), { maxLength: 4 }),
      disposition: fc.constantFrom(...DISPOSITIONS),
      verdict: fc.constantFrom(null, ...VERDICTS),
      decision: fc.constantFrom(...DECISIONS),
      legDecision: fc.constantFrom(...DECISIONS),
      level: fc.constantFrom(...TOOL_LEVELS),
      bound: fc.oneof(share, fc.constantFrom("fitted", null, "never", true)),
      shares: fc.tuple(share, share, share, fc.option(share)),
      borders: fc.option(fc.tuple(share, share, fc.double({ min: 0, max: 2, noNaN: true }))),
      stakes: fc.double({ min: 0, max: 1e6, noNaN: true }),
      outcomes: fc.option(fc.nat(500)),
      standing: fc.subarray(["seed", "fraud", "key_revoked"]),
      hasRules: fc.boolean(),
      flags: fc.record({ enforced: fc.boolean(), flagged: fc.boolean(), thin: fc.boolean() }),
    });
    fc.assert(
      fc.property(arbitrary, (given) => {
        const [expected, optimistic, pessimistic, at_stakes] = given.shares;
        const base = buildLeg();
        const [connect, verified, deny] = given.borders ?? [0, 0, 0];
        const leg = buildLeg({
          decided_by: given.rule,
          reason_codes: given.codes,
          row: { ...base.row, outcomes: given.outcomes, standing: given.standing },
          risk: {
            ...base.risk,
            expected,
            optimistic,
            pessimistic,
            at_stakes,
            thin: given.flags.thin,
          },
          stakes: {
            stakes: given.stakes,
            max_stakes: null,
            leg_decision: given.legDecision,
            borders:
              given.borders === null
                ? null
                : { connect, connect_with_verification: verified, deny },
          },
          rules: given.hasRules
            ? [{ ...base.rules![0]!, rule: given.rule, bound: given.bound, value: expected }]
            : null,
        });
        const { disposition, verdict, decision, level } = given;
        const { enforced, flagged } = given.flags;
        const trace = buildTrace(leg, {
          disposition,
          verdict,
          decision,
          tool_level: level,
          enforced,
          flagged,
        });
        const why = describeDecision(trace);
        expectSentence(trace, why);
        const numbers = [...why.matchAll(/([\d.e-]+) %/g)].map(([, number]) => Number(number));
        const [value, limit] = numbers;
        if (value === undefined || limit === undefined) return;
        const isWithin = /allows up to|up to .*, the agent connects/.test(why);
        if (isWithin) expect(value).toBeLessThanOrEqual(limit);
        else expect(value).toBeGreaterThanOrEqual(limit);
      }),
      { numRuns: 3000 },
    );
  });

  it("tells a value from a bound that is nearly the same", () => {
    const base = buildLeg();
    const leg = buildLeg({ risk: { ...base.risk, expected: 0.100_04 } });
    expect(describeDecision(buildTrace(leg))).toContain("10.004 % of the agent's calls");
  });

  it("leaves out a bound that does not agree, as of a policy that is not the decision's", () => {
    const [rule] = buildLeg().rules!;
    const leg = buildLeg({ rules: [{ ...rule!, bound: 0.95 }] });
    const why = describeDecision(buildTrace(leg));
    expect(why).toContain(
      "92 % of the agent's calls are expected to fail, which is too much for L2",
    );
    expect(why).not.toContain("95 %");
  });
});

describe("the sentence in a trace", () => {
  const config = loadDefaultConfig();
  let bureau: Bureau;
  let legs: ReplayableLeg[] = [];
  beforeAll(() => {
    ({ bureau } = openTable({
      admit: () => true,
      record: (entry) => void legs.push(legOf(entry)),
    }));
  });

  async function trace(ask: () => unknown): Promise<DecisionTrace> {
    legs = [];
    await ask();
    return bureau.traceDecision(legs, config);
  }

  const call = (isShadow = false) => ({
    requestId: "r-1",
    principal: principalOf("acme", isShadow),
  });

  it("agrees with what was answered", async () => {
    const said = new Set<string>();
    for (const subject of ["agent://shop/good", "agent://shop/bad", "agent://nobody/knows"]) {
      for (const stakes of [0, 5, 40, 5000, 1e7]) {
        const parties = { initiator: "agent://acme/r1", counterparty: subject, stakes };
        const traces = [
          await trace(() => bureau.check({ subject, stakes }, call())),
          await trace(() => bureau.handshake(parties, call())),
        ];
        for (const tool_level of TOOL_LEVELS) {
          const asked = { agent_id: subject, action: "a", tool_level, context: {}, stakes };
          traces.push(await trace(() => bureau.verify(asked, call())));
          traces.push(await trace(() => bureau.verify(asked, call(true))));
        }
        for (const { why, ...rest } of traces) {
          expectSentence(rest, why);
          said.add(`${rest.kind} ${rest.tool_level} ${rest.disposition} ${why}`);
        }
      }
    }
    expect(new Set([...said].map((each) => each.split(" ")[2]))).toEqual(
      new Set(["allow", "step_up", "person"]),
    );
  });

  it("of a test agent says that it is one", async () => {
    const subject = "agent://test/refuse";
    const { why } = await trace(() => bureau.check({ subject, stakes: 1 }, call()));
    expect(why).toBe("Refused: a reserved test agent always gets this answer.");
  });
});
