// Inputs of the policy's rules: the part of a score that they read, and what the policy and the request say
// beside it.
import { DEFAULT_POLICY } from "../contract/policy.ts";
import type { LevelPolicy } from "../contract/policy.ts";
import { CATCH_RATES_DEFAULT, resolveStakesTerms } from "../contract/stakes-policy.ts";
import type { StakesTerms } from "../contract/stakes-policy.ts";
import type { FindingCode, ToolLevel } from "../contract/vocabulary.ts";
import type { StakesScore } from "./stakes-decision.ts";

/** The part of a score that the rules read. */
export interface PolicyRisk extends StakesScore {
  /** 0 to 1, expected. */
  readonly failureProbability: number;
  readonly failureOptimistic: number;
  readonly isThin: boolean;
  readonly isDenied: boolean;
  readonly isRefused: boolean;
  /** The same of the agent's record as verify reads it: in a handshake, of its own dealings. */
  readonly recordProbability: number;
  readonly recordOptimistic: number;
  readonly isRecordThin: boolean;
  readonly isRecordDenied: boolean;
  readonly isRecordRefused: boolean;
}

/** Everything that the rules of one tool level look at. Reused on the hot path: filled again for each level. */
export interface RuleInputs {
  toolLevel: ToolLevel;
  level: LevelPolicy;
  risk: PolicyRisk;
  /** Terms of the decision at stakes, and the stakes, in the tenant's unit. */
  terms: StakesTerms;
  isThinAllowed: boolean;
  stakes: number;
  /** Rounded score of the agent, and the minimum that `threshold_met` compares it with. */
  scoreInternal: number;
  scoreMinimum: number;
  /** Whether the score meets the minimum that the key or the policy names: a default one is not enforced. */
  isMinimumMet: boolean;
  /** Code of broken or doubtful provenance; empty where it holds or was not assessed. */
  failureCode: FindingCode | "";
  areSourcesVerified: boolean;
  /** Failure probability, inclusive. */
  allowUpTo: number;
  /** Whether the operator vouches for the agent (vouching.ts), at these stakes, and up to which. */
  isVouched: boolean;
  areStakesVouched: boolean;
  vouchedStakesMax: number;
}

const NEUTRAL_RISK: PolicyRisk = {
  failureProbability: 0,
  failureOptimistic: 0,
  isThin: false,
  isDenied: false,
  isRefused: false,
  recordProbability: 0,
  recordOptimistic: 0,
  isRecordThin: false,
  isRecordDenied: false,
  isRecordRefused: false,
  ...CATCH_RATES_DEFAULT,
  stakesLogit: Number.NEGATIVE_INFINITY,
  stakesNovelty: 0,
  stakesUntested: 0,
  stakesProven: 0,
  stakesReach: 0,
  isJudged: true,
  silentDays: 0,
  fixedDecisionIndex: -1,
};

const TERMS_DEFAULT = resolveStakesTerms();

/** Inputs at which no rule beyond the record's holds; by default of a clear record. */
export function createRuleInputs(
  toolLevel: ToolLevel = "L0",
  level: LevelPolicy = DEFAULT_POLICY.levels[toolLevel],
  risk: PolicyRisk = NEUTRAL_RISK,
): RuleInputs {
  return {
    toolLevel,
    level,
    risk,
    terms: TERMS_DEFAULT[toolLevel],
    isThinAllowed: level.thin === "allow",
    stakes: 0,
    scoreInternal: 0,
    scoreMinimum: 0,
    isMinimumMet: true,
    failureCode: "",
    areSourcesVerified: true,
    allowUpTo: level.allow_up_to,
    isVouched: false,
    areStakesVouched: false,
    vouchedStakesMax: 0,
  };
}
