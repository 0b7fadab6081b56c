// Rulings of the policy: verdict and label of each rule, and the verdicts for broken or doubtful provenance.
// Shared objects that callers compare by identity.
// Only a ruling for broken provenance is created for a request.
import { isBrokenEvidenceWithheld } from "../contract/policy.ts";
import type { LevelPolicy } from "../contract/policy.ts";
import { VERDICT } from "../contract/vocabulary.ts";
import type { FindingCode, LogReason, ToolLevel } from "../contract/vocabulary.ts";

const { ALLOW, CHALLENGE, QUARANTINE, BLOCK } = VERDICT;

/** One outcome of the policy: the verdict, and the label of the rule that decided it. */
export interface Ruling {
  /** Index into VERDICTS. */
  readonly verdictIndex: number;
  readonly logReason: LogReason;
  /** SPEC §8.2: allowed, but marked in the log for a reviewer. */
  readonly isFlagged: boolean;
}

export function createRuling(
  verdictIndex: number,
  logReason: LogReason,
  isFlagged = false,
): Ruling {
  return Object.freeze({ verdictIndex, logReason, isFlagged });
}

export const SUFFICIENT = createRuling(ALLOW, "TRUST_SUFFICIENT");
export const TOLERATED = createRuling(ALLOW, "RISK_TOLERATED");
export const RISK_FLAGGED = createRuling(ALLOW, "RISK_FLAGGED_FOR_REVIEW", true);
export const THIN_TOLERATED = createRuling(ALLOW, "THIN_FILE_TOLERATED");
export const THIN_FLAGGED = createRuling(ALLOW, "THIN_FILE_FLAGGED", true);
/** A vouching replaces the rule on thin records. */
export const VOUCHED = createRuling(ALLOW, "VOUCHED");
/** Challenged by its record, and allowed by the audit sample (audit-sample.ts). */
export const AUDIT_SAMPLED = createRuling(ALLOW, "AUDIT_SAMPLE", true);
export const DENIED_FLAGGED = createRuling(ALLOW, "DENIAL_FLAGGED_FOR_REVIEW", true);
/** Silent for long: marked at a level that holds nothing back for it, challenged at a sensitive one. */
export const STALE_FLAGGED = createRuling(ALLOW, "STALE_RECORD_FLAGGED", true);
export const STALE_CHALLENGED = createRuling(CHALLENGE, "STALE_RECORD");
export const THIN_RECORD = createRuling(CHALLENGE, "THIN_FILE");
export const RISK_ABOVE_BOUND = createRuling(CHALLENGE, "RISK_ABOVE_BOUND");
export const BELOW_MINIMUM = createRuling(CHALLENGE, "BELOW_TENANT_MINIMUM");
export const SOURCES_REQUIRED = createRuling(CHALLENGE, "VERIFIED_SOURCES_REQUIRED");
export const RISK_ABOVE_BORDER = createRuling(QUARANTINE, "RISK_ABOVE_BORDER");
export const REFUSED = createRuling(BLOCK, "REFUSE_RULE");
/** A reviewer has allowed what was withheld, or has upheld it. */
export const OVERTURNED = createRuling(ALLOW, "REVIEW_OVERTURNED");
export const UPHELD = createRuling(BLOCK, "REVIEW_UPHELD");
/** An operator's condition or stop; see precedence.ts. */
export const SUSPENDED = createRuling(BLOCK, "SUSPENDED");
export const STOPPED = createRuling(BLOCK, "STOPPED");
export const CLEARED = createRuling(ALLOW, "CLEARED");
/** Allowed, and marked because an operator watches the agent. */
export const WATCHED = createRuling(ALLOW, "WATCHED", true);
/** Label of a challenge at stakes at which `check` connects with verification. */
export const STAKES_NEED_VERIFICATION = "STAKES_NEED_VERIFICATION";
export const STAKES_VERIFICATION = createRuling(CHALLENGE, STAKES_NEED_VERIFICATION);
/** The same where the tenant's gateways verify out of band: allowed, and marked for them. */
export const STAKES_MARKED = createRuling(ALLOW, STAKES_NEED_VERIFICATION, true);
const STAKES_APPROVAL = createRuling(CHALLENGE, "STAKES_NEED_APPROVAL");
/** Ruling on the decision at stakes, by its cause (STAKES_CAUSE). */
export const RULING_BY_CAUSE: readonly Ruling[] = [
  SUFFICIENT,
  THIN_RECORD,
  STALE_CHALLENGED,
  STAKES_VERIFICATION,
  STAKES_APPROVAL,
  STAKES_APPROVAL,
  RISK_ABOVE_BORDER,
  REFUSED,
];

/** Verdict by tool level for a hard provenance failure (broken evidence, not missing evidence) that is withheld. */
const HARD_FAILURE_VERDICT_BY_LEVEL: Readonly<Record<ToolLevel, number>> = {
  L0: CHALLENGE,
  L1: CHALLENGE,
  L2: QUARANTINE,
  L3: BLOCK,
};

/**
 * Provenance findings that may be mistaken: a score, a near copy, a source that changed its state.
 * They challenge at sensitive levels; every other code is a hard failure.
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

/** Whether a finding is a doubt, not broken evidence. */
export function isDoubt(failureCode: FindingCode): boolean {
  return DOUBT_CODES.has(failureCode);
}

/** The ruling on broken or doubtful provenance at the level; a plain ALLOW where it has no effect. */
export function createFailureRuling(
  toolLevel: ToolLevel,
  level: LevelPolicy,
  failureCode: FindingCode,
): Ruling {
  if (isDoubt(failureCode)) return createRuling(DOUBT_VERDICT_BY_LEVEL[toolLevel], failureCode);
  return isBrokenEvidenceWithheld(toolLevel, level)
    ? createRuling(HARD_FAILURE_VERDICT_BY_LEVEL[toolLevel], failureCode)
    : createRuling(ALLOW, failureCode, true);
}
