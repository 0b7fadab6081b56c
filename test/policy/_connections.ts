// Scores made up for tests of the decision at stakes, and the decision of check on a score.
import * as fc from "fast-check";
import { DEFAULT_POLICY } from "../../src/contract/policy.ts";
import { listStakesFaults } from "../../src/contract/stakes-policy.ts";
import type { LevelStakesPolicy, StakesPolicy } from "../../src/contract/stakes-policy.ts";
import { createActivePolicy } from "../../src/policy/active-policy.ts";
import type { ActivePolicy } from "../../src/policy/active-policy.ts";
import {
  computeConnectionClear,
  createConnection,
  decideConnection,
} from "../../src/policy/connection.ts";
import type { ConnectionDecision } from "../../src/policy/connection.ts";
import { createRuleInputs } from "../../src/policy/rule-inputs.ts";
import type { PolicyRisk } from "../../src/policy/rule-inputs.ts";

/** Terms of a tenant that sets none. */
export const SHIPPED = createActivePolicy(DEFAULT_POLICY);

/** Log-odds of a probability. */
export function computeLogit(probability: number): number {
  return Math.log(probability / (1 - probability));
}

/** A clear record without risk at any stakes, but for what is `given`. */
export function createRisk(given: Partial<PolicyRisk> = {}): PolicyRisk {
  return { ...createRuleInputs().risk, ...given };
}

/** Stakes at which one agent connects, another is verified and a third waits for a person. */
export const STAKES_OF_ALL = 250;
/** Cautious risks of the three at these stakes: far from both borders, at L2 as at L3. */
const RISKS = { connect: 0.005, connect_with_verification: 0.1, escalate: 0.5 } as const;

/** The part of a score for which the shipped policy gives `decision` at STAKES_OF_ALL. */
export function createRiskAtStakes(decision: keyof typeof RISKS): Pick<PolicyRisk, "stakesLogit"> {
  return { stakesLogit: computeLogit(RISKS[decision]) };
}

const probability = fc.double({ min: 0, max: 1, noNaN: true });
/** Log-odds up to odds of a million, most of them where decisions change. */
const logit = fc.oneof(
  fc.double({ min: -8, max: 3, noNaN: true }),
  fc.double({ min: -14, max: 14, noNaN: true }),
);

/** What the decision at stakes reads of any record, stakes proven and reached included. */
export const stakesScores = fc
  .record({
    stakesLogit: logit,
    stakesUntested: fc.oneof(fc.constant(0), fc.double({ min: 0, max: 6, noNaN: true })),
    stakesProven: fc.double({ min: 0, max: 2000, noNaN: true }),
    reachFactor: fc.constantFrom(1, 3, 10),
    isThin: fc.boolean(),
    hasEvidence: fc.boolean(),
    silentDays: fc.constantFrom(-1, 0, 20, 100, 181, 400, 5000),
  })
  .map(({ reachFactor, hasEvidence, ...score }) => ({
    ...score,
    isJudged: hasEvidence && !score.isThin,
    stakesReach: Math.max(1, reachFactor * score.stakesProven),
  }));

/** Scores of any record: what is held back by the record itself is only of those that may be. */
export const policyRisks: fc.Arbitrary<PolicyRisk> = fc
  .record({
    score: stakesScores,
    failureProbability: probability,
    failureOptimistic: probability,
    isDenied: fc.boolean(),
    isRefused: fc.boolean(),
  })
  .map(({ score, ...given }) => createRisk({ ...score, ...given }));

const bps = fc.integer({ min: 0, max: 2000 });
const share = fc.double({ min: 0.01, max: 5, noNaN: true });
/** From a hundredth to a few thousand, at any size. */
const amount = fc.double({ min: -2, max: 3.5, noNaN: true }).map((power) => 10 ** power);
const days = fc.integer({ min: 1, max: 1000 });
const levelStakes: fc.Arbitrary<LevelStakesPolicy> = fc.record(
  { tolerated_loss_bps: bps, loss_share: share, assumed: amount, stale_after_days: days },
  { requiredKeys: [] },
);

/** Stakes of a policy, in part or whole, that the parser takes. */
export const stakesPolicies: fc.Arbitrary<StakesPolicy> = fc
  .record(
    {
      unit: fc.oneof(fc.constantFrom(1, 0.01, 100), amount),
      review_cost: amount,
      verification_cost: fc.oneof(fc.constant(0), amount),
      risk_tolerance: amount.map((of) => 1000 * of),
      review_friction: fc.double({ min: 0, max: 1, noNaN: true }),
      tolerated_loss_bps: bps,
      loss_share: share,
      assumed: amount,
      stale_after_days: days,
      levels: fc.record({ L2: levelStakes, L3: levelStakes }, { requiredKeys: [] }),
    },
    { requiredKeys: [] },
  )
  .filter((policy) => listStakesFaults(policy, "").length === 0);

/** The decision of check on a score, in an object of its own. */
export function decide(
  reading: PolicyRisk,
  stakes: number,
  active: ActivePolicy = SHIPPED,
): ConnectionDecision & { readonly stakesClear: number } {
  const query = { active, reading, stakes };
  const connection = decideConnection(query, createConnection(active));
  return { ...connection, stakesClear: computeConnectionClear(query, connection) };
}
