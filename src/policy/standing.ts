// Standing of a record under a policy: whether it is denied or refused, at a tool level or without one, and
// the decision at stakes that follows from it by the level's terms.
import type { Policy } from "../contract/policy.ts";
import type { PolicyRisk, RuleInputs } from "./rule-inputs.ts";
import {
  computeConnectStakesMax,
  computeDecisionStakesMax,
  computeOpenStakesMax,
  findStakesCause,
  selectDecisionIndex,
  STANDING,
} from "./stakes-decision.ts";
import type { StakesCause, Standing } from "./stakes-decision.ts";

/** Whether a probability is at or above the level's denial threshold: the config's own, the tenant's, or none. */
function isAboveDenialThreshold(
  { level, risk }: RuleInputs,
  probability: number,
  isAboveConfigThreshold: boolean,
): boolean {
  if (level.deny_from === "fitted") return isAboveConfigThreshold;
  return level.deny_from !== "never" && !risk.isThin && probability >= level.deny_from;
}

/** Rules on a record itself (a fraud flag, a revoked key) refuse under any threshold. */
export function isRefused(rules: RuleInputs): boolean {
  const { failureOptimistic, isRefused: isRecordRefused } = rules.risk;
  return isAboveDenialThreshold(rules, failureOptimistic, isRecordRefused) || isRecordRefused;
}

export function isDenied(rules: RuleInputs): boolean {
  return isAboveDenialThreshold(rules, rules.risk.failureProbability, rules.risk.isDenied);
}

/** Whether the level denies or refuses the record, whatever the stakes. */
export function selectStanding(rules: RuleInputs): Standing {
  if (isRefused(rules)) return STANDING.refused;
  return isDenied(rules) ? STANDING.denied : STANDING.clear;
}

export function findLevelCause(rules: RuleInputs): StakesCause {
  return findStakesCause(rules.risk, rules, selectStanding(rules));
}

/** Index into DECISIONS: the decision at the stakes by the level's own terms. */
export function findLevelDecisionIndex(rules: RuleInputs): number {
  return selectDecisionIndex(findLevelCause(rules));
}

/** Largest stakes, in the tenant's unit, at which the level's terms let the agent through as it is. */
export function computeLevelStakesClear(rules: RuleInputs): number {
  return rules.terms.onVerification === "allow_marked"
    ? computeLevelStakesOpen(rules)
    : computeLevelStakesConnect(rules);
}

/** Largest stakes, in the tenant's unit, that the level's terms allow without verification. */
export function computeLevelStakesConnect(rules: RuleInputs): number {
  return computeConnectStakesMax(rules.risk, rules, selectStanding(rules));
}

/** Largest stakes, in the tenant's unit, with a decision at stakes no stricter by the level's terms. */
export function computeLevelStakesMax(rules: RuleInputs): number {
  const standing = selectStanding(rules);
  return computeDecisionStakesMax(rules.risk, rules, standing, findLevelCause(rules));
}

/** Largest stakes, in the tenant's unit, that the level's terms allow with verification. */
export function computeLevelStakesOpen(rules: RuleInputs): number {
  return computeOpenStakesMax(rules.risk, rules, selectStanding(rules));
}

/**
 * Whether a record is denied or refused where no level is named (check, handshake): by the stricter border of L2
 * and L3, and by the record as verify reads it as well as by the score itself.
 */
export function selectConnectStanding({ levels }: Policy, risk: PolicyRisk): Standing {
  if (risk.isRefused || risk.isRecordRefused) return STANDING.refused;
  let standing: Standing = STANDING.clear;
  for (const { deny_from: border } of [levels.L2, levels.L3]) {
    if (border === "never") continue;
    if (border === "fitted") {
      if (risk.isDenied || risk.isRecordDenied) standing = STANDING.denied;
      continue;
    }
    const isAbove = (own: number, record: number) =>
      (!risk.isThin && own >= border) || (!risk.isRecordThin && record >= border);
    if (isAbove(risk.failureOptimistic, risk.recordOptimistic)) return STANDING.refused;
    if (isAbove(risk.failureProbability, risk.recordProbability)) standing = STANDING.denied;
  }
  return standing;
}
