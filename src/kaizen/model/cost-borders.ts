// Borders of the connect decision by least expected cost (scoring 4), as assembly/decision.ts has
// them: the largest pessimistic probability that still connects at given stakes.
import type { ScoringConfig } from "../../engine/config.ts";

function computeVerifyCost(config: ScoringConfig, stakes: number): number {
  return Math.min(config.verify_cost + config.verify_cost_rate * stakes, config.verify_cost_max);
}

/** Up to here an agent connects unverified. `stakes` above 0. */
export function computeConnectThreshold(config: ScoringConfig, stakes: number): number {
  const saved = config.verify_catch * config.loss * stakes;
  return Math.min(1, computeVerifyCost(config, stakes) / saved);
}

/** Up to here it connects with verification or without. `stakes` above 0. */
export function computeVerifiedConnectThreshold(config: ScoringConfig, stakes: number): number {
  const saved = (config.human_catch - config.verify_catch) * config.loss * stakes;
  const border = (config.human_cost - computeVerifyCost(config, stakes)) / saved;
  return Math.min(1, Math.max(computeConnectThreshold(config, stakes), border));
}
