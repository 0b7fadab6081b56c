// The policy verdict of verify (SPEC §2.3, §3, §8.2): risk against the bounds of a level, doubt apart
// from it, then the rules that can only make it stricter, combined by `max` of restriction. Pure and
// allocation-free but for provenance codes; knows no agent, no clock, no wire.
import { MINIMUM_SCORES_DEFAULT } from "../contract/policy.ts";
import type { LevelPolicy, Policy } from "../contract/policy.ts";
import { DECISIONS, VERDICTS } from "../contract/vocabulary.ts";
import type { FindingCode, LogReason, ToolLevel } from "../contract/vocabulary.ts";

/** One outcome of the policy: the verdict, and the label of the rule that decided it. */
export interface Ruling {
  /** Index into VERDICTS. */
  readonly verdictIndex: number;
  readonly logReason: LogReason;
  /** SPEC §8.2: allowed, but an anomaly for the log or for a person. */
  readonly isFlagged: boolean;
}

/** The part of a reading that the policy goes by. */
export interface PolicyRisk {
  /** 0 to 1, expected. */
  readonly failureProbability: number;
  readonly failureOptimistic: number;
  readonly isThin: boolean;
  readonly isDenied: boolean;
  readonly isRefused: boolean;
  /** Index into DECISIONS: what `check` says at the stakes given; connect without stakes. */
  readonly decisionIndex: number;
}

const ESCALATE = DECISIONS.indexOf("escalate");
const REFUSE = DECISIONS.indexOf("refuse");
const ALLOW = VERDICTS.indexOf("ALLOW");
const CHALLENGE = VERDICTS.indexOf("CHALLENGE");
const QUARANTINE = VERDICTS.indexOf("QUARANTINE");
const BLOCK = VERDICTS.indexOf("BLOCK");

function createRuling(verdictIndex: number, logReason: LogReason, isFlagged = false): Ruling {
  return Object.freeze({ verdictIndex, logReason, isFlagged });
}

const SUFFICIENT = createRuling(ALLOW, "TRUST_SUFFICIENT");
const TOLERATED = createRuling(ALLOW, "RISK_TOLERATED");
const RISK_FLAGGED = createRuling(ALLOW, "RISK_FLAGGED_FOR_REVIEW", true);
export const THIN_TOLERATED = createRuling(ALLOW, "THIN_FILE_TOLERATED");
export const THIN_FLAGGED = createRuling(ALLOW, "THIN_FILE_FLAGGED", true);
/** The operator's word stands in for a thin record. */
export const VOUCHED = createRuling(ALLOW, "VOUCHED");
/** Held back by its record, and let through by lot (audit.ts). */
export const AUDIT_SAMPLED = createRuling(ALLOW, "AUDIT_SAMPLE", true);
const DENIED_FLAGGED = createRuling(ALLOW, "DENIAL_FLAGGED_FOR_REVIEW", true);
const THIN_RECORD = createRuling(CHALLENGE, "THIN_FILE");
const RISK_ABOVE_BOUND = createRuling(CHALLENGE, "RISK_ABOVE_BOUND");
const BELOW_MINIMUM = createRuling(CHALLENGE, "BELOW_TENANT_MINIMUM");
const SOURCES_REQUIRED = createRuling(CHALLENGE, "VERIFIED_SOURCES_REQUIRED");
const RISK_ABOVE_BORDER = createRuling(QUARANTINE, "RISK_ABOVE_BORDER");
const REFUSED = createRuling(BLOCK, "REFUSE_RULE");
/** A person has let through what was held back; or has said that it stays so. */
export const OVERTURNED = createRuling(ALLOW, "REVIEW_OVERTURNED");
export const UPHELD = createRuling(BLOCK, "REVIEW_UPHELD");
/** Label of stakes at which the connection would open with verification. */
export const STAKES_NEED_VERIFICATION = "STAKES_NEED_VERIFICATION";
/** What the decision of `check` at the stakes given draws, by its index. */
const RULING_BY_DECISION: readonly Ruling[] = DECISIONS.map((decision) => {
  if (decision === "connect") return SUFFICIENT;
  if (decision === "refuse") return REFUSED;
  const isVerified = decision === "connect_with_verification";
  return createRuling(CHALLENGE, isVerified ? STAKES_NEED_VERIFICATION : "STAKES_NEED_APPROVAL");
});

/**
 * Whether a ruling holds the request back until a person has looked: above the border, or challenged
 * at stakes at which `check` would escalate, whatever rule named the challenge.
 */
export function isReviewRequired(
  ruled: Ruling,
  level: LevelPolicy,
  { decisionIndex }: PolicyRisk,
): boolean {
  if (ruled === RISK_ABOVE_BORDER) return true;
  const doStakesCount = level.enforce && level.counts_stakes && decisionIndex === ESCALATE;
  return doStakesCount && ruled.verdictIndex === CHALLENGE;
}

/** Upper bounds (inclusive) of the failure probability; above the last: CRITICAL. */
export const RISK_BOUNDS = [0.05, 0.15, 0.4] as const;

/** Verdict by tool level for a hard provenance failure (broken evidence, not missing evidence). */
const HARD_FAILURE_VERDICT_BY_LEVEL: Readonly<Record<ToolLevel, number>> = {
  L0: CHALLENGE,
  L1: CHALLENGE,
  L2: QUARANTINE,
  L3: BLOCK,
};

/**
 * Provenance that leaves room for a mistake: a score, a near copy, a source that changed its state.
 * These ask for a second look where the tool is sensitive; every other code is a hard failure.
 */
const DOUBT_CODES: ReadonlySet<string> = new Set([
  "CITATION_DOUBTFUL",
  "CITATIONS_CHANGED",
  "CONTENT_NEAR_RECORDED_FALSE",
  "MIXED_SCRIPTS",
  "SOME_SOURCES_UNKNOWN",
  "SOURCE_RETRACTED",
  "SOURCE_REVOKED",
  "UNSUPPORTED_CONTENT",
]);
const DOUBT_VERDICT_BY_LEVEL: Readonly<Record<ToolLevel, number>> = {
  L0: ALLOW,
  L1: ALLOW,
  L2: CHALLENGE,
  L3: CHALLENGE,
};

/** Index into RISK_LEVELS of a failure probability: 5, 15 and 40 % part the levels. */
export function computeRiskIndex(failureProbability: number): number {
  let index = 0;
  while (index < RISK_BOUNDS.length && failureProbability > RISK_BOUNDS[index]!) index += 1;
  return index;
}

/** Whether the record denies under a level: by the fitted border, by the tenant's own, or never. */
export function isAboveDenialThreshold(
  level: LevelPolicy,
  risk: PolicyRisk,
  probability: number,
  fitted: boolean,
) {
  if (level.deny_from === "fitted") return fitted;
  return level.deny_from !== "never" && !risk.isThin && probability >= level.deny_from;
}

/** Risk and doubt alone: bounds, thin record, border. */
function decideRecordRuling(
  level: LevelPolicy,
  risk: PolicyRisk,
  allowUpTo: number,
  isVouched: boolean,
): Ruling {
  const isDenied = isAboveDenialThreshold(level, risk, risk.failureProbability, risk.isDenied);
  if (!level.enforce) {
    if (isDenied || risk.isRefused) return DENIED_FLAGGED;
    if (risk.isThin && level.thin !== "challenge") return decideThinRecordRuling(level, isVouched);
    if (risk.failureProbability > level.flag_above) return RISK_FLAGGED;
    return risk.failureProbability > allowUpTo || risk.failureProbability > RISK_BOUNDS[0]
      ? TOLERATED
      : SUFFICIENT;
  }
  // Rules that hold of a record itself (a fraud flag, a revoked key) refuse under any border.
  const isOptimisticDenied = isAboveDenialThreshold(
    level,
    risk,
    risk.failureOptimistic,
    risk.isRefused,
  );
  if (isOptimisticDenied || risk.isRefused) return REFUSED;
  if (isDenied) return RISK_ABOVE_BORDER;
  if (risk.isThin) return decideThinRecordRuling(level, isVouched);
  if (risk.failureProbability > allowUpTo) return RISK_ABOVE_BOUND;
  return risk.failureProbability > level.flag_above ? RISK_FLAGGED : SUFFICIENT;
}

/** Doubt alone. Where it costs nothing the operator's word has nothing to stand in for. */
export function decideThinRecordRuling({ thin }: LevelPolicy, isVouched: boolean): Ruling {
  if (thin === "allow") return THIN_TOLERATED;
  if (isVouched) return VOUCHED;
  return thin === "flag" ? THIN_FLAGGED : THIN_RECORD;
}

/** Minimum internal score at a level: the key's or the policy's, the higher counts. */
export function selectMinimumScore(level: LevelPolicy, keyMinimum: number): number {
  return Math.max(keyMinimum, level.minimum_score ?? 0);
}

/**
 * Whether a score reaches the minimum that the key or the policy asks for. The shipped score, which
 * a key asks for that names none, follows from the shipped bounds: a policy with bounds of its own
 * would change nothing for such a key, so it is told (`threshold_met`) and holds nobody back.
 */
export function isMinimumMet(
  toolLevel: ToolLevel,
  level: LevelPolicy,
  scoreInternal: number,
  keyMinimum: number,
): boolean {
  const named = keyMinimum === MINIMUM_SCORES_DEFAULT[toolLevel] ? 0 : keyMinimum;
  return Math.round(scoreInternal) >= selectMinimumScore(level, named);
}

/**
 * The verdict of one verify request. Starts from the record; the tenant's minimum, the stakes and
 * broken provenance can each only make it stricter, and the last rule that did names it.
 * `failureCode` is empty when provenance holds or was not assessed. `isVouched`: the operator's word
 * stands in for the record where that is thin (vouching.ts); `areStakesVouched`: at these stakes too.
 */
export function applyPolicyRules(
  toolLevel: ToolLevel,
  level: LevelPolicy,
  risk: PolicyRisk,
  isThresholdMet: boolean,
  failureCode: FindingCode | "",
  isSourced = true,
  allowUpTo = level.allow_up_to,
  isVouched = false,
  areStakesVouched = false,
): Ruling {
  let decided = decideRecordRuling(level, risk, allowUpTo, isVouched);
  if (level.enforce) {
    if (!isThresholdMet) decided = selectStricterRuling(decided, BELOW_MINIMUM);
    const isWordEnough = areStakesVouched && risk.isThin && risk.decisionIndex < REFUSE;
    if (level.counts_stakes && !isWordEnough) {
      decided = selectStricterRuling(decided, selectStakesRuling(risk.decisionIndex));
    }
    if (level.require_verified_sources && !isSourced)
      decided = selectStricterRuling(decided, SOURCES_REQUIRED);
  }
  if (failureCode === "") return decided;
  const verdictIndex = selectFailureVerdictIndex(toolLevel, failureCode);
  return verdictIndex > decided.verdictIndex ? createRuling(verdictIndex, failureCode) : decided;
}

/** Index of the verdict that broken provenance draws at a level. */
export function selectFailureVerdictIndex(toolLevel: ToolLevel, failureCode: FindingCode): number {
  return (DOUBT_CODES.has(failureCode) ? DOUBT_VERDICT_BY_LEVEL : HARD_FAILURE_VERDICT_BY_LEVEL)[
    toolLevel
  ];
}

/** What the decision of `check` draws where stakes count. */
export function selectStakesRuling(decisionIndex: number): Ruling {
  return RULING_BY_DECISION[decisionIndex]!;
}

/**
 * Whether the policy only watches what names no tool level (check, handshake): both levels that are
 * held back as shipped, L2 and L3, are in shadow mode.
 */
export function isInShadowMode({ levels }: Policy): boolean {
  return levels.L2.shadow && levels.L3.shadow;
}

function selectStricterRuling(current: Ruling, candidate: Ruling): Ruling {
  return candidate.verdictIndex > current.verdictIndex ? candidate : current;
}
