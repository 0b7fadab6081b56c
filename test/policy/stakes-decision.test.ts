// The decision at stakes against a slow reference, its bounds against a slow search, and what holds of both for
// every policy that the parser takes: order in stakes, in risk and between levels, and no matter of units.
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  CATCH_RATES_DEFAULT,
  listStakesFaults,
  resolveStakesTerms,
} from "../../src/contract/stakes-policy.ts";
import type { StakesPolicy, StakesTerms, TermsByLevel } from "../../src/contract/stakes-policy.ts";
import { DECISION } from "../../src/contract/vocabulary.ts";
import {
  computeConnectStakesMax,
  computeDecisionStakesMax,
  computeOpenStakesMax,
  computeRiskBorders,
  computeStakesRisk,
  findStakesCause,
  selectDecisionIndex,
  STANDING,
} from "../../src/policy/stakes-decision.ts";
import type { StakesScore, Standing } from "../../src/policy/stakes-decision.ts";
import { referenceDecision, referenceRisk } from "../reference/stakes.ts";
import { computeLogit, createRisk, stakesPolicies, stakesScores } from "./_connections.ts";

const RUNS = { numRuns: 3000 };
const { clear } = STANDING;
const LEVELS = ["L0", "L1", "L2", "L3", "connect"] as const satisfies (keyof TermsByLevel)[];

/** As fast-check makes them, and with the risk rising with the stakes themselves in half of the cases. */
const scores: fc.Arbitrary<StakesScore> = fc
  .record({
    score: stakesScores,
    stakesNovelty: fc.oneof(fc.constant(0), fc.double({ min: 0.01, max: 1.5, noNaN: true })),
  })
  .map(({ score, stakesNovelty }) => createRisk({ ...score, stakesNovelty }));
const terms = fc
  .tuple(stakesPolicies, fc.constantFrom(...LEVELS))
  .map(([policy, level]) => resolveStakesTerms(policy)[level]);
const standings = fc.constantFrom<Standing>(0, 0, 0, 0, 1, 2);
/** Powers of ten between the smallest amounts and the largest: bounds lie at any size. */
const stakesNamed = fc.oneof(
  fc.double({ min: -3, max: 7, noNaN: true }).map((power) => 10 ** power),
  fc.constantFrom(0, 0, 1, 10, 1e9, 1e12),
);

function decisionAt(
  score: StakesScore,
  own: StakesTerms,
  stakes: number,
  isThinAllowed = false,
  standing: Standing = clear,
): number {
  const question = { terms: own, isThinAllowed, stakes };
  return selectDecisionIndex(findStakesCause(score, question, standing));
}

describe("the decision at stakes", () => {
  it("is that of the reference: the record's rules, then the least expected cost", () => {
    const seen = new Map<number, number>();
    const cases = fc.tuple(scores, terms, stakesNamed, fc.boolean(), standings);
    fc.assert(
      fc.property(cases, ([score, own, stakes, isThinAllowed, standing]) => {
        const question = { score, terms: own, stakes, isThinAllowed, standing };
        const { decision, isClose } = referenceDecision(question);
        if (isClose) return;
        seen.set(decision, (seen.get(decision) ?? 0) + 1);
        expect(decisionAt(score, own, stakes, isThinAllowed, standing)).toBe(decision);
      }),
      RUNS,
    );
    for (const decision of Object.values(DECISION)) {
      expect(seen.get(decision) ?? 0, `decision ${decision}`).toBeGreaterThan(100);
    }
  });

  it("goes by the risk that the parts of the log-odds give", () => {
    fc.assert(
      fc.property(scores, stakesNamed, (score, stakes) => {
        expect(computeStakesRisk(score, stakes)).toBeCloseTo(referenceRisk(score, stakes), 12);
      }),
      RUNS,
    );
  });

  it("is never less strict for more stakes or more risk", () => {
    const cases = fc.tuple(scores, terms, stakesNamed, stakesNamed, fc.boolean(), standings);
    const more = fc.double({ min: 0, max: 8, noNaN: true });
    fc.assert(
      fc.property(cases, more, ([score, own, one, other, isThinAllowed, standing], risk) => {
        const [low, high] = [Math.min(one, other), Math.max(one, other)];
        const at = (given: StakesScore, stakes: number, held: Standing = standing) =>
          decisionAt(given, own, stakes, isThinAllowed, held);
        const base = at(score, low);
        expect(at(score, high)).toBeGreaterThanOrEqual(base);
        const riskier = { ...score, stakesLogit: score.stakesLogit + risk };
        expect(at(riskier, low)).toBeGreaterThanOrEqual(base);
        const untested = { ...score, stakesUntested: score.stakesUntested + risk };
        expect(at(untested, low)).toBeGreaterThanOrEqual(base);
        expect(at({ ...score, isJudged: true }, low)).toBeGreaterThanOrEqual(base);
        expect(at({ ...score, silentDays: 1e6 }, low)).toBeGreaterThanOrEqual(base);
        expect(at({ ...score, isThin: true }, low)).toBeGreaterThanOrEqual(base);
        expect(at(score, low, STANDING.denied)).toBeGreaterThanOrEqual(at(score, low, clear));
        expect(at(score, low, STANDING.refused)).toBe(DECISION.refuse);
      }),
      RUNS,
    );
  });

  it("is at L3 never looser than at L2", () => {
    let stricter = 0;
    fc.assert(
      fc.property(
        scores,
        stakesPolicies,
        stakesNamed,
        fc.boolean(),
        (score, policy, stakes, thin) => {
          const { L2, L3 } = resolveStakesTerms(policy);
          const [l2, l3] = [L2, L3].map((own) => decisionAt(score, own, stakes, thin));
          expect(l3).toBeGreaterThanOrEqual(l2!);
          if (l3! > l2!) stricter += 1;
        },
      ),
      RUNS,
    );
    expect(stricter).toBeGreaterThan(50);
  });

  it("is no matter of the unit in which amounts are written", () => {
    fc.assert(
      fc.property(
        scores,
        stakesPolicies,
        stakesNamed,
        fc.integer({ min: -20, max: 20 }),
        (score, policy, stakes, power) => {
          const factor = 2 ** power;
          const [written, scaled] = [policy, scalePolicy(policy, factor)].map(resolveStakesTerms);
          for (const level of LEVELS) {
            const [own, other] = [written![level], scaled![level]];
            expect(decisionAt(score, other, stakes * factor)).toBe(decisionAt(score, own, stakes));
            for (const bound of [computeConnectStakesMax, computeOpenStakesMax]) {
              const [is, was] = [other, own].map((given) =>
                bound(score, { terms: given, isThinAllowed: true }, clear),
              );
              expectRelative(is!, was! * factor);
            }
          }
        },
      ),
      { numRuns: 1000 },
    );
  });

  it("scales by factors that are no powers of two, to rounding", () => {
    const factor = fc.double({ min: 0.001, max: 1000, noNaN: true });
    fc.assert(
      fc.property(scores, stakesPolicies, factor, (score, policy, by) => {
        const [own, other] = [policy, scalePolicy(policy, by)].map(
          (each) => resolveStakesTerms(each).connect,
        );
        for (const compute of [computeConnectStakesMax, computeOpenStakesMax]) {
          const boundBy = (given: StakesTerms) =>
            compute(score, { terms: given, isThinAllowed: true }, clear);
          const bound = boundBy(own!);
          expectRelative(boundBy(other!), bound * by);
          const between = bound === 0 || bound === Infinity ? 12.34 : bound * 0.99;
          expect(decisionAt(score, other!, between * by)).toBe(decisionAt(score, own!, between));
        }
      }),
      { numRuns: 1000 },
    );
  });
});

/** Every amount times `factor`, and the unit divided by it: the same amounts of the bureau's account. */
function scalePolicy(policy: StakesPolicy, factor: number): StakesPolicy {
  const scale = (amount: number | undefined) =>
    amount === undefined ? undefined : amount * factor;
  const defined = (members: object) =>
    Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined));
  const { L2, L3 } = policy.levels ?? {};
  const levels = defined({
    L2: L2 && defined({ ...L2, assumed: scale(L2.assumed) }),
    L3: L3 && defined({ ...L3, assumed: scale(L3.assumed) }),
  });
  return defined({
    ...policy,
    unit: (policy.unit ?? 1) / factor,
    review_cost: (policy.review_cost ?? 5) * factor,
    verification_cost: scale(policy.verification_cost),
    risk_tolerance: scale(policy.risk_tolerance),
    assumed: scale(policy.assumed),
    levels,
  });
}

function expectRelative(actual: number, expected: number): void {
  if (expected === Infinity || expected === 0) expect(actual).toBe(expected);
  else expect(Math.abs(actual / expected - 1)).toBeLessThan(1e-9);
}

/** Largest stakes at which `holds`, by trying: 0 where it does at none, Infinity where at any. */
function searchLargest(holds: (stakes: number) => boolean): number {
  if (!holds(0)) return 0;
  let [low, high] = [0, 1e-9];
  while (high < 1e18 && holds(high)) [low, high] = [high, high * 2];
  if (high >= 1e18) return Infinity;
  for (let step = 0; step < 200; step += 1) {
    const middle = (low + high) / 2;
    if (holds(middle)) low = middle;
    else high = middle;
  }
  return low;
}

describe("the largest stakes", () => {
  const cases = fc.tuple(scores, terms, fc.boolean(), standings);
  const bounds = [
    { name: "that connect", compute: computeConnectStakesMax, worst: DECISION.connect },
    {
      name: "that connect at all",
      compute: computeOpenStakesMax,
      worst: DECISION.connect_with_verification,
    },
  ] as const;

  it.each(bounds)("$name are those of a slow search", ({ compute, worst }) => {
    const seen = { none: 0, any: 0, inner: 0 };
    fc.assert(
      fc.property(cases, ([score, own, isThinAllowed, standing]) => {
        const at = (stakes: number) => decisionAt(score, own, stakes, isThinAllowed, standing);
        const bound = compute(score, { terms: own, isThinAllowed }, standing);
        const searched = searchLargest((stakes) => at(stakes) <= worst);
        if (bound === Infinity) {
          seen.any += 1;
          // The ceiling of the search by bisection is below that of the slow one.
          expect(at(1e15 / own.unit)).toBeLessThanOrEqual(worst);
          return;
        }
        if (bound === 0) {
          seen.none += 1;
          expect(searched * own.unit).toBeLessThan(1e-12);
          return;
        }
        seen.inner += 1;
        expectRelative(bound, searched);
        expect(at(bound)).toBeLessThanOrEqual(worst);
        const beyond = bound * 1.000001;
        if (beyond * own.unit > own.assumed) expect(at(beyond)).toBeGreaterThan(worst);
      }),
      RUNS,
    );
    expect(seen.none).toBeGreaterThan(100);
    expect(seen.inner).toBeGreaterThan(500);
  });

  it("of a decision are no smaller than the stakes asked, and keep the decision", () => {
    fc.assert(
      fc.property(cases, stakesNamed, ([score, own, isThinAllowed, standing], stakes) => {
        const question = { terms: own, isThinAllowed, stakes };
        const cause = findStakesCause(score, question, standing);
        const decision = selectDecisionIndex(cause);
        const bound = computeDecisionStakesMax(score, question, standing, cause);
        const at = (other: number) => decisionAt(score, own, other, isThinAllowed, standing);
        if (decision >= DECISION.escalate) {
          expect(bound).toBeLessThanOrEqual(stakes);
          if (bound > 0) expect(at(bound)).toBeLessThan(DECISION.escalate);
          return;
        }
        expect(bound).toBeGreaterThanOrEqual(stakes);
        if (bound < Infinity) expect(at(bound)).toBeLessThanOrEqual(decision);
      }),
      RUNS,
    );
  });

  it("lie where the risk meets the borders that are given for an amount", () => {
    let compared = 0;
    fc.assert(
      fc.property(terms, stakesNamed, (own, stakes) => {
        const { connect, verification } = computeRiskBorders(own, CATCH_RATES_DEFAULT, stakes);
        expect(verification).toBeGreaterThanOrEqual(connect);
        const at = (risk: number) => {
          const score = createRisk({ stakesLogit: computeLogit(risk), isJudged: false });
          return decisionAt(score, own, stakes);
        };
        const isInner = (border: number) => border > 1e-9 && border < 0.999;
        if (isInner(connect)) {
          compared += 1;
          expect(at(connect * 0.999999)).toBe(DECISION.connect);
          expect(at(connect * 1.000001)).toBeGreaterThan(DECISION.connect);
        }
        if (isInner(verification)) {
          const isApart = verification > 1.00001 * connect;
          if (isApart) expect(at(verification * 0.999999)).toBe(DECISION.connect_with_verification);
          expect(at(verification * 1.000001)).toBe(DECISION.escalate);
        }
      }),
      RUNS,
    );
    expect(compared).toBeGreaterThan(500);
  });
});

it("holds at its bound also where the terms of the closed form nearly cancel", () => {
  const half = createRisk({ stakesLogit: 0, isJudged: false });
  for (let i = 0; i < 2000; i += 1) {
    const policy = { verification_cost: 0, tolerated_loss_bps: 200, loss_share: 0.0199 - i * 1e-8 };
    const { connect } = resolveStakesTerms({ ...policy, review_cost: 1 });
    const bound = computeConnectStakesMax(half, { terms: connect, isThinAllowed: true }, clear);
    expect(bound).toBeGreaterThan(connect.assumed);
    expect(decisionAt(half, connect, bound), `loss share ${policy.loss_share}`).toBe(0);
    expect(decisionAt(half, connect, bound * 1.000001)).toBe(1);
  }
});

describe("the policies of these tests", () => {
  it("are those that the parser takes", () => {
    fc.assert(
      fc.property(stakesPolicies, (policy) => {
        expect(listStakesFaults(policy, "")).toEqual([]);
      }),
    );
  });
});
