// The ruling of one tool level on a reading and on the content's findings, the stakes up to which it
// allows, and the reasons in codes. Shared by the level that was asked about and by the
// others (levels.ts), so that one rule book answers for both. Hot path: nothing is kept.
import type { LevelPolicy } from "../../contract/policy.ts";
import type { Principal } from "../../contract/principal.ts";
import { REASON_CODES } from "../../contract/vocabulary.ts";
import type { AnswerCode, FindingCode, ToolLevel } from "../../contract/vocabulary.ts";
import type { AgentScore } from "../../engine/reading.ts";
import type { ActivePolicy } from "../../policy/active-policy.ts";
import { isEligibleForAuditSample } from "../../policy/audit.ts";
import {
  AUDIT_SAMPLED,
  applyPolicyRules,
  isMinimumMet,
  OVERTURNED,
  UPHELD,
  VOUCHED,
} from "../../policy/rules.ts";
import type { Ruling } from "../../policy/rules.ts";
import { areStakesVouched, type VouchedNamespace } from "../../policy/vouching.ts";
import type { CallContext } from "../bureau.ts";
import type { ProvenanceFinding } from "./provenance.ts";

const REASONS_MAX = 4;

/** The ruling of one level at these stakes. */
export function decideLevelRuling(
  { policy }: ActivePolicy,
  { minimumScores }: Principal,
  toolLevel: ToolLevel,
  reading: AgentScore,
  finding: ProvenanceFinding,
  vouching: VouchedNamespace | undefined,
  stakes: number,
): Ruling {
  const level = policy.levels[toolLevel];
  // The policy sees the agent's own score: what its text deserves, the failure code decides.
  return applyPolicyRules(
    toolLevel,
    level,
    reading,
    isMinimumMet(toolLevel, level, reading.scoreInternal, minimumScores[toolLevel]),
    selectFailureCode(finding),
    finding.data.source_verified || hasNothingToVerify(finding),
    level.allow_up_to,
    vouching !== undefined,
    areStakesVouched(vouching, stakes),
  );
}

/**
 * Whether a ruling may be overturned by the lot of the level's audit: a challenge at low stakes that
 * nothing but the record draws, and that is enforced.
 */
export function isAuditSampleCandidate(
  active: ActivePolicy,
  principal: Principal,
  toolLevel: ToolLevel,
  reading: AgentScore,
  finding: ProvenanceFinding,
  ruling: Ruling,
  stakes: number,
): boolean {
  const level = active.policy.levels[toolLevel];
  const { isShadow } = principal;
  if (!isEligibleForAuditSample(level, ruling, stakes) || level.shadow || isShadow) return false;
  return isOnlyRecordInQuestion(active, principal, toolLevel, reading, finding);
}

/** Whether nothing but the agent's record can hold a request back, and the stakes. */
export function isOnlyRecordInQuestion(
  { policy }: ActivePolicy,
  { minimumScores }: Principal,
  toolLevel: ToolLevel,
  reading: AgentScore,
  finding: ProvenanceFinding,
): boolean {
  const level = policy.levels[toolLevel];
  if (selectFailureCode(finding) !== "") return false;
  if (
    level.require_verified_sources &&
    !finding.data.source_verified &&
    !hasNothingToVerify(finding)
  ) {
    return false;
  }
  return isMinimumMet(toolLevel, level, reading.scoreInternal, minimumScores[toolLevel]);
}

/** Whose lot it is: an agent has one a day with every tenant. */
export function buildAuditSampleKey({ principal }: CallContext, agentId: string): string {
  return `${principal.tenant} ${agentId}`;
}

/** The code of what is wrong with the content; empty for nothing. */
export function selectFailureCode(finding: ProvenanceFinding): FindingCode | "" {
  return finding.hardFailureCode || (finding.softFailureCode ?? "");
}

/** Whether the request cited nothing that could have been verified. */
function hasNothingToVerify(finding: ProvenanceFinding): boolean {
  return finding.reasonCode === "PROVENANCE_NOT_ASSESSED" || finding.reasonCode === "NO_SOURCES";
}

/** Whether it is the stakes that hold a request back. */
export function isDecidedByStakes({ logReason }: Ruling): boolean {
  return logReason.startsWith("STAKES_");
}

/**
 * Largest stakes at which the level would allow, as far as stakes alone decide: Infinity for any, 0
 * where another rule holds the request back. Beyond `stakesTo` of the reading the probability is
 * another one, and the level has to be asked there.
 */
export function computeStakesBound(
  level: LevelPolicy,
  reading: AgentScore,
  ruling: Ruling,
  vouching: VouchedNamespace | undefined,
): number {
  if (ruling === AUDIT_SAMPLED) return level.audit_max_stakes ?? 0;
  if (ruling.verdictIndex > 0 && !isDecidedByStakes(ruling)) return 0;
  if (!level.enforce || !level.counts_stakes) return Number.POSITIVE_INFINITY;
  return Math.max(reading.stakesClear, vouching?.stakesMax ?? 0);
}

/**
 * At most four, by weight: broken provenance first, then the engine's, then the open questions of
 * provenance. SPEC §2.5 rule 2 carried over: a clear verdict gives no reasons against the agent; one
 * that rests on the operator's word or on a lot says so.
 */
export function selectVerdictReasonCodes(
  reading: AgentScore,
  ruling: Ruling,
  finding: ProvenanceFinding,
): AnswerCode[] {
  const codes: AnswerCode[] = [];
  const isHard = finding.hardFailureCode !== "";
  if (isHard && finding.reasonCode !== "") codes.push(finding.reasonCode);
  if (ruling === VOUCHED) codes.push("VOUCHED");
  if (ruling === AUDIT_SAMPLED) codes.push("AUDIT_SAMPLE");
  if (ruling === OVERTURNED) codes.push("REVIEW_OVERTURNED");
  if (ruling === UPHELD) codes.push("REVIEW_UPHELD");
  if (ruling.verdictIndex > 0 || ruling.isFlagged) {
    const own = ruling === AUDIT_SAMPLED || ruling === UPHELD ? 1 : 0;
    const room = REASONS_MAX - own - (finding.reasonCode === "" ? 0 : 1);
    for (let i = 0; i < reading.reasonCount && i < room; i += 1) {
      const code = REASON_CODES[reading.reasonIndexes[i]!]!;
      if (code !== finding.reasonCode) codes.push(code);
    }
  }
  if (!isHard && finding.reasonCode !== "") codes.push(finding.reasonCode);
  // A verdict that is not clear never goes without a reason: the general rate of failure is one.
  if (ruling.verdictIndex > 0 && codes.length === 0) codes.push("BASE_RATE");
  return codes;
}
