// The rules of a policy one by one, as a verdict went through them: which bound stood against which value,
// which of them held, and which decided. For people who ask why; the verdict itself is rules.ts, and a
// test holds that both say the same. Pure.
import type { LevelPolicy } from "../contract/policy.ts";
import { DECISIONS, VERDICTS } from "../contract/vocabulary.ts";
import type { FindingCode, LogReason, ToolLevel, Verdict } from "../contract/vocabulary.ts";
import {
  isAboveDenialThreshold,
  type PolicyRisk,
  RISK_BOUNDS,
  decideThinRecordRuling,
  selectStakesRuling,
  selectFailureVerdictIndex,
} from "./rules.ts";

/** One rule: its bound, the value it was held against, what it would say. */
export interface RuleStep {
  rule: LogReason;
  verdict: Verdict;
  /** Member of the policy's level that sets the bound; null where none does. */
  member: keyof LevelPolicy | null;
  bound: unknown;
  value: unknown;
  /** Null: not reached, because a rule before it has settled the matter. */
  holds: boolean | null;
  /** True of the one that decided. */
  decides: boolean;
}

/** What `decidePolicy` is given. */
export interface RuleInputs {
  readonly toolLevel: ToolLevel;
  readonly level: LevelPolicy;
  readonly risk: PolicyRisk;
  readonly isMinimumMet: boolean;
  readonly failureCode: FindingCode | "";
  readonly areSourcesVerified: boolean;
  readonly allowUpTo: number;
  readonly isVouched: boolean;
  readonly areStakesVouched: boolean;
  /** What `isThresholdMet` compares: the score and the minimum that counted. */
  readonly scoreInternal: number;
  readonly scoreMinimum: number;
}

const REFUSE = DECISIONS.indexOf("refuse");

/** Every rule that applies at the level, in the order in which they are asked. */
export function traceRules(inputs: RuleInputs): RuleStep[] {
  const { level } = inputs;
  const onRecord = level.enforce
    ? traceEnforcedRecordRules(inputs)
    : traceUnenforcedRecordRules(inputs);
  // Of the rules on the record the first that holds settles it; those behind it are not asked.
  const first = onRecord.findIndex(({ holds }) => holds);
  for (const behind of onRecord.slice(first + 1)) behind.holds = null;
  const steps = [
    ...onRecord,
    ...(level.enforce ? traceStricterRules(inputs) : []),
    ...traceProvenanceFailure(inputs),
  ];
  const strictness = ({ holds, verdict }: RuleStep) => (holds ? VERDICTS.indexOf(verdict) : -1);
  const decided = steps.reduce((best, each) => (strictness(each) > strictness(best) ? each : best));
  decided.decides = true;
  return steps;
}

function createRuleStep(
  rule: LogReason,
  verdict: Verdict,
  member: RuleStep["member"],
  bound: unknown,
  value: unknown,
  holds: boolean,
): RuleStep {
  return { rule, verdict, member, bound, value, holds, decides: false };
}

function traceEnforcedRecordRules({ level, risk, allowUpTo, isVouched }: RuleInputs): RuleStep[] {
  const { failureProbability: expected, failureOptimistic: optimistic } = risk;
  const border = level.deny_from;
  const isRefused =
    isAboveDenialThreshold(level, risk, optimistic, risk.isRefused) || risk.isRefused;
  const isDenied = isAboveDenialThreshold(level, risk, expected, risk.isDenied);
  const thin = decideThinRecordRuling(level, isVouched);
  return [
    createRuleStep("REFUSE_RULE", "BLOCK", "deny_from", border, optimistic, isRefused),
    createRuleStep("RISK_ABOVE_BORDER", "QUARANTINE", "deny_from", border, expected, isDenied),
    createRuleStep(
      thin.logReason,
      VERDICTS[thin.verdictIndex]!,
      "thin",
      level.thin,
      risk.isThin,
      risk.isThin,
    ),
    createRuleStep(
      "RISK_ABOVE_BOUND",
      "CHALLENGE",
      "allow_up_to",
      allowUpTo,
      expected,
      expected > allowUpTo,
    ),
    ...traceFlagRule(level, expected),
    createRuleStep("TRUST_SUFFICIENT", "ALLOW", null, null, null, true),
  ];
}

function traceUnenforcedRecordRules({ level, risk, allowUpTo, isVouched }: RuleInputs): RuleStep[] {
  const { failureProbability: expected } = risk;
  const isDenied = isAboveDenialThreshold(level, risk, expected, risk.isDenied) || risk.isRefused;
  const thin = decideThinRecordRuling(level, isVouched);
  const isThin = risk.isThin && level.thin !== "challenge";
  const bound = Math.min(allowUpTo, RISK_BOUNDS[0]);
  const { deny_from: border } = level;
  return [
    createRuleStep("DENIAL_FLAGGED_FOR_REVIEW", "ALLOW", "deny_from", border, expected, isDenied),
    createRuleStep(
      thin.logReason,
      VERDICTS[thin.verdictIndex]!,
      "thin",
      level.thin,
      risk.isThin,
      isThin,
    ),
    ...traceFlagRule(level, expected),
    createRuleStep("RISK_TOLERATED", "ALLOW", "allow_up_to", bound, expected, expected > bound),
    createRuleStep("TRUST_SUFFICIENT", "ALLOW", null, null, null, true),
  ];
}

function traceFlagRule({ flag_above: bound }: LevelPolicy, expected: number): RuleStep[] {
  const isAbove = expected > bound;
  return [
    createRuleStep("RISK_FLAGGED_FOR_REVIEW", "ALLOW", "flag_above", bound, expected, isAbove),
  ];
}

/** Rules that can only make it stricter. */
function traceStricterRules(inputs: RuleInputs): RuleStep[] {
  const { level, risk, isMinimumMet, areSourcesVerified } = inputs;
  const isWordEnough = inputs.areStakesVouched && risk.isThin && risk.decisionIndex < REFUSE;
  const atStakes = selectStakesRuling(risk.decisionIndex);
  const doStakesCount = level.counts_stakes && !isWordEnough && atStakes.verdictIndex > 0;
  const areSourcesMissed = level.require_verified_sources && !areSourcesVerified;
  return [
    createRuleStep(
      "BELOW_TENANT_MINIMUM",
      "CHALLENGE",
      "minimum_score",
      inputs.scoreMinimum,
      inputs.scoreInternal,
      !isMinimumMet,
    ),
    createRuleStep(
      atStakes.verdictIndex > 0 ? atStakes.logReason : "STAKES_NEED_VERIFICATION",
      atStakes.verdictIndex > 0 ? VERDICTS[atStakes.verdictIndex]! : "CHALLENGE",
      "counts_stakes",
      level.counts_stakes,
      DECISIONS[risk.decisionIndex],
      doStakesCount,
    ),
    createRuleStep(
      "VERIFIED_SOURCES_REQUIRED",
      "CHALLENGE",
      "require_verified_sources",
      level.require_verified_sources,
      areSourcesVerified,
      areSourcesMissed,
    ),
  ];
}

function traceProvenanceFailure({ toolLevel, failureCode }: RuleInputs): RuleStep[] {
  if (failureCode === "") return [];
  const verdict = VERDICTS[selectFailureVerdictIndex(toolLevel, failureCode)]!;
  return [createRuleStep(failureCode, verdict, null, toolLevel, failureCode, verdict !== "ALLOW")];
}
