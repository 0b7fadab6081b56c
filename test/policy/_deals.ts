// Deals made up for tests of a back-test's money: each is handled in another way, once good and once bad.
import { fillPolicyDefaults } from "../../src/contract/complete-policy.ts";
import { CATCH_RATES_DEFAULT } from "../../src/contract/stakes-policy.ts";
import type { StakesPolicy } from "../../src/contract/stakes-policy.ts";
import { createActivePolicy } from "../../src/policy/active-policy.ts";
import type { ActivePolicy } from "../../src/policy/active-policy.ts";
import type { BacktestCase } from "../../src/policy/backtest-tally.ts";
import { createRuleInputs } from "../../src/policy/rule-inputs.ts";

/** The shipped policy with these stakes. */
export function createPolicyWithStakes(stakes: StakesPolicy): ActivePolicy {
  return createActivePolicy(fillPolicyDefaults({ stakes }));
}

export interface Deal {
  /** Cautious probability of failure at the stakes. */
  readonly risk: number;
  readonly stakes: number;
  readonly isBad: boolean;
  readonly isRefused?: boolean;
}

export function createCase({ risk, stakes, isBad, isRefused = false }: Deal): BacktestCase {
  const reading = {
    ...createRuleInputs().risk,
    ...CATCH_RATES_DEFAULT,
    // Within every bound: what holds back is the decision at stakes.
    failureProbability: 0.01,
    stakesLogit: Math.log(risk / (1 - risk)),
    isRefused,
    isRecordRefused: isRefused,
    scoreInternal: 600,
    reasonIndexes: [],
    reasonCount: 0,
  };
  return { reading, agent: 0, agentId: "agent://a/0", nowMs: 0, isBad, stakes };
}

/**
 * By the shipped numbers (verifying 0.5 and 2 % of a good deal, a person 5 and 5 %, tolerance 5,000) the
 * first is connected, the second verified, the third waits for a person, the fourth is refused.
 */
const KINDS = [
  { risk: 0.005, stakes: 100 },
  { risk: 0.1, stakes: 100 },
  { risk: 0.5, stakes: 1000 },
  { risk: 0.5, stakes: 200, isRefused: true },
];
export const DEALS: readonly Deal[] = KINDS.flatMap((kind) => [
  { ...kind, isBad: false },
  { ...kind, isBad: true },
]);
