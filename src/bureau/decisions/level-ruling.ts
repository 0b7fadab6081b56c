// Ruling of one tool level on an agent's score and its content's findings, the stakes up to which it holds, and
// its reason codes. Shared by the requested level and the others (levels.ts). Hot path: allocates only reasons.
import { REASON_CODES, VERDICT } from "../../contract/vocabulary.ts";
import type { AnswerCode, ReasonCode, ToolLevel } from "../../contract/vocabulary.ts";
import { isEligibleForAuditSample } from "../../policy/audit-sample.ts";
import type { LimitCode } from "../../contract/activity/codes.ts";
import { isLimitRuling } from "../../policy/limits.ts";
import { fillRuleInputs } from "../../policy/policy-query.ts";
import { applyPolicyRules, areSourcesMissing } from "../../policy/rules.ts";
import { computeLevelStakesClear } from "../../policy/standing.ts";
import type { RuleInputs } from "../../policy/rule-inputs.ts";
import {
  AUDIT_SAMPLED,
  CLEARED,
  OVERTURNED,
  STOPPED,
  SUSPENDED,
  THIN_RECORD,
  UPHELD,
  VOUCHED,
} from "../../policy/rulings.ts";
import type { Ruling } from "../../policy/rulings.ts";
import { selectStakesCap } from "../../policy/stakes-decision.ts";
import { isSuspendedForFraud } from "../../policy/conditions.ts";
import { selectFailureCode } from "./provenance.ts";
import { REASONS_PER_ANSWER } from "./reasons.ts";
import type { VerdictContext } from "./verdict-context.ts";

/** Makes a level the one that `context.rules` describe, the request's provenance included. */
export function fillLevelRules(context: VerdictContext, toolLevel: ToolLevel): RuleInputs {
  const { finding } = context;
  const rules = fillRuleInputs(context, toolLevel);
  // The rules see the agent's own score: a finding counts by its failure code.
  rules.failureCode = selectFailureCode(finding);
  rules.areSourcesVerified =
    finding.data.source_verified ||
    finding.reasonCode === "PROVENANCE_NOT_ASSESSED" ||
    finding.reasonCode === "NO_SOURCES";
  return rules;
}

/** The policy's ruling of one level at the context's stakes. */
export function decideLevelRuling(context: VerdictContext, toolLevel: ToolLevel): Ruling {
  return applyPolicyRules(fillLevelRules(context, toolLevel));
}

/**
 * Whether audit sampling may overturn a ruling of the level in `context.rules`: an enforced challenge at low
 * stakes that only the record causes.
 */
export function isAuditSampleCandidate({ rules, call }: VerdictContext, ruling: Ruling): boolean {
  if (!isEligibleForAuditSample(rules, ruling)) return false;
  return !rules.level.shadow && !call.principal.isShadow && canOnlyRecordDeny(rules);
}

/** Whether only the agent's record and the stakes can deny a request. */
export function canOnlyRecordDeny(rules: RuleInputs): boolean {
  return rules.failureCode === "" && !areSourcesMissing(rules) && rules.isMinimumMet;
}

/** An agent has one eligible challenge a day with every tenant. */
export function buildAuditSampleKey({ call, agentId }: VerdictContext): string {
  return `${call.principal.tenant} ${agentId}`;
}

/** Whether the stakes cause a challenge. */
export function isDecidedByStakes({ logReason }: Ruling): boolean {
  return logReason.startsWith("STAKES_");
}

/**
 * Largest stakes at which the level in `context.rules` would allow, as far as stakes alone decide: Infinity
 * for any, 0 where another rule denies. Beyond the score's `stakesTo` the probability is another one, and the
 * level has to be judged there.
 */
export function computeStakesBound(
  { rules, conditionFacts }: VerdictContext,
  ruling: Ruling,
): number {
  const { level, vouchedStakesMax, terms } = rules;
  if (ruling === CLEARED) return conditionFacts.clearedStakesMax;
  if (ruling === AUDIT_SAMPLED) return selectStakesCap(terms, level.audit_max_stakes ?? 0);
  if (ruling.verdictIndex > VERDICT.ALLOW && !isDecidedByStakes(ruling)) return 0;
  if (!level.enforce || !level.counts_stakes) return Number.POSITIVE_INFINITY;
  return Math.max(computeLevelStakesClear(rules), vouchedStakesMax);
}

/**
 * At most four reason codes by weight: broken provenance, then the engine's, then doubtful provenance. As in
 * SPEC §2.5 rule 2, an allowed request gets no reasons against the agent; one that is allowed by a vouching or
 * an audit sample says so.
 */
export function selectVerdictReasonCodes(context: VerdictContext, ruling: Ruling): AnswerCode[] {
  const { reading, finding } = context;
  const codes: AnswerCode[] = [];
  const isHard = finding.hardFailureCode !== "";
  if (isHard && finding.reasonCode !== "") codes.push(finding.reasonCode);
  if (ruling === VOUCHED) codes.push("VOUCHED");
  if (ruling === AUDIT_SAMPLED) codes.push("AUDIT_SAMPLE");
  if (ruling === OVERTURNED) codes.push("REVIEW_OVERTURNED");
  if (ruling === UPHELD) codes.push("REVIEW_UPHELD");
  if (context.conditions !== undefined) addConditionCodes(context, ruling, codes);
  if (ruling.verdictIndex > 0 || ruling.isFlagged) {
    if (isLimitRuling(ruling)) codes.push(ruling.logReason as LimitCode);
    const isOwn = REASON_CODES.includes(ruling.logReason as ReasonCode);
    if (isOwn && ruling !== THIN_RECORD) codes.push(ruling.logReason as ReasonCode);
    const own = codes.length - (isHard && finding.reasonCode !== "" ? 1 : 0);
    const countMax = REASONS_PER_ANSWER - own - (finding.reasonCode === "" ? 0 : 1);
    for (let i = 0; i < reading.reasonCount && i < countMax; i += 1) {
      const code = REASON_CODES[reading.reasonIndexes[i]!]!;
      if (code !== finding.reasonCode) codes.push(code);
    }
  }
  if (!isHard && finding.reasonCode !== "") codes.push(finding.reasonCode);
  // A denial always has a reason: at least the base rate of failure.
  if (ruling.verdictIndex > 0 && codes.length === 0) codes.push("BASE_RATE");
  return codes;
}

function addConditionCodes(context: VerdictContext, ruling: Ruling, codes: AnswerCode[]): void {
  if (ruling === SUSPENDED) codes.push("SUSPENDED");
  if (ruling === SUSPENDED && isSuspendedForFraud(context.conditionFacts)) codes.push("FRAUD_FLAG");
  if (ruling === STOPPED) codes.push("STOPPED");
  if (ruling === CLEARED) codes.push("CLEARED");
  if (context.isWatched) codes.push("WATCHED");
}
