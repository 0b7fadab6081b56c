// The value sets of the specification, as ordered arrays from least to most restrictive. The order
// IS the algebra: combining two decisions is `max` of their indexes (SPEC §2.5 rule 1).
// The engine speaks in these indexes; only this file turns them into words.

import { LIMIT_CODES } from "./activity/codes.ts";

/** Index of each word of an ordered list. */
function indexWords<Word extends string>(words: readonly Word[]): Readonly<Record<Word, number>> {
  const entries = words.map((word, index) => [word, index]);
  return Object.freeze(Object.fromEntries(entries) as Record<Word, number>);
}

/** Connect decisions, SPEC §3. */
export const DECISIONS = ["connect", "connect_with_verification", "escalate", "refuse"] as const;
export type Decision = (typeof DECISIONS)[number];
/** Index into DECISIONS. */
export const DECISION = indexWords(DECISIONS);

/** Policy verdicts, SPEC §3; the specification lists them unordered, we order by restriction. */
export const VERDICTS = ["ALLOW", "CHALLENGE", "QUARANTINE", "BLOCK"] as const;
export type Verdict = (typeof VERDICTS)[number];
/** Index into VERDICTS. */
export const VERDICT = indexWords(VERDICTS);

/** Risk levels, SPEC §3. */
export const RISK_LEVELS = ["LOW", "MEDIUM", "HIGH", "CRITICAL"] as const;
export type RiskLevel = (typeof RISK_LEVELS)[number];

/** Tool levels, SPEC §3: public, info, sensitive, critical. */
export const TOOL_LEVELS = ["L0", "L1", "L2", "L3"] as const;
export type ToolLevel = (typeof TOOL_LEVELS)[number];

/** SPEC §2.8 leaves tiers open: A (best) to D by effective score, REVIEW when the file is thin. */
export const TIERS = ["A", "B", "C", "D", "REVIEW"] as const;
export type Tier = (typeof TIERS)[number];

/** SPEC §2.8 leaves regimes open. Absent from a leg when the agent has no history. */
export const REGIMES = ["stable", "drifting", "shock"] as const;
export type Regime = (typeof REGIMES)[number];

/**
 * Evidence grades of an outcome. SPEC §4.4 names only `counterparty`; the others are ours, from
 * strongest to weakest. The engine maps the index to an evidence weight.
 */
export const GRADES = ["onchain", "escrow", "mediator", "counterparty", "self"] as const;
/** What an outcome weighs as where nothing proves a higher grade. */
export const UNPROVED_GRADE_INDEX: number = GRADES.indexOf("counterparty");
export type Grade = (typeof GRADES)[number];

/**
 * Who signed the transaction beside the reporter: the owner of the subject's namespace (`cosigned`), or
 * a mediator that the operator named.
 */
export const ATTESTERS = ["cosigned", "mediator"] as const;
export type Attester = (typeof ATTESTERS)[number];
/** What an attested outcome weighs as at least: the lowest grade above `counterparty`. */
export const ATTESTED_GRADE_INDEX: number = GRADES.indexOf("mediator");

/** How the origin of an outcome was proved. `bureau`: imported by the operator. */
export const SIGNATURES = ["none", "bureau", "reporter"] as const;
export type Signature = (typeof SIGNATURES)[number];

/**
 * Who signed an outcome that may teach the weights: its reporter with a key of its own, the bureau for
 * a first-party API key that named the reporter, or the operator by an import.
 */
export const EVIDENCE_KINDS = ["reporter", "bureau", "import"] as const;
export type EvidenceKind = (typeof EVIDENCE_KINDS)[number];

/**
 * How the `source` of imported ratings begins. Their stakes are the rating's magnitude: told with
 * the outcome, unknown before it, and so no feature to learn from.
 */
export const RATINGS_SOURCE = "ratings:";

/**
 * Reasons a decision is not clear, in engine code order. At most four are given, by weight
 * (scoring 3: points of deficit against the reference).
 */
export const REASON_CODES = [
  "THIN_FILE",
  "FAILURE_HISTORY",
  "RECENT_FAILURE",
  "NEGATIVE_TREND",
  "STAKE_ABOVE_PROVEN",
  "LOW_CREDIBILITY_EVIDENCE",
  "CONCENTRATED_REPORTERS",
  "RING_PATTERN",
  "UNVERIFIED_SOURCES",
  "HALLUCINATION_SIGNAL",
  "VIEWER_CAUTIOUS",
  "FRAUD_FLAG",
  "KEY_REVOKED",
  "BASE_RATE",
  // From here on the policy's, never the engine's.
  "STALE_RECORD",
  "STAKES_NEED_VERIFICATION",
  "STAKES_NEED_APPROVAL",
] as const;
export type ReasonCode = (typeof REASON_CODES)[number];

/** Status of a cited source, from harmless to grave: the order is the order of reasons. */
export const SOURCE_STATUSES = [
  "SOURCE_VERIFIED",
  "SOURCE_UNKNOWN",
  "SOURCE_DOUBTFUL",
  "SOURCE_REVOKED",
  "SOURCE_RETRACTED",
  "CITATION_MISMATCH",
  "SOURCE_RECORDED_FALSE",
  "SOURCE_MALFORMED",
] as const;
export type SourceStatus = (typeof SOURCE_STATUSES)[number];

/** Findings about content and sources; the statuses of sources are findings, too. */
export const FINDING_CODES = [
  ...SOURCE_STATUSES,
  "PROVENANCE_NOT_ASSESSED",
  "NO_SOURCES",
  "GROUNDING_NOT_EVALUATED",
  "SOURCE_NEWER",
  "CITATION_DOUBTFUL",
  "CITATIONS_CHANGED",
  "UNSUPPORTED_CONTENT",
  "MIXED_SCRIPTS",
  "HASH_MISMATCH",
  "CONTENT_RECORDED_FALSE",
  "CONTENT_RETRACTED",
  "CONTENT_NEAR_RECORDED_FALSE",
  "CONTENT_HALLUCINATED",
] as const;
export type FindingCode = (typeof FINDING_CODES)[number];

/** Names of the rules of the policy (policy/rules.ts), as `log_reason` gives them. */
export const POLICY_LABELS = [
  "TRUST_SUFFICIENT",
  "RISK_TOLERATED",
  "RISK_FLAGGED_FOR_REVIEW",
  "THIN_FILE_TOLERATED",
  "THIN_FILE_FLAGGED",
  "VOUCHED",
  "AUDIT_SAMPLE",
  "DENIAL_FLAGGED_FOR_REVIEW",
  "STALE_RECORD_FLAGGED",
  "THIN_FILE",
  "STALE_RECORD",
  "RISK_ABOVE_BOUND",
  "BELOW_TENANT_MINIMUM",
  "VERIFIED_SOURCES_REQUIRED",
  "STAKES_NEED_VERIFICATION",
  "STAKES_NEED_APPROVAL",
  "RISK_ABOVE_BORDER",
  "REFUSE_RULE",
  "REVIEW_OVERTURNED",
  "REVIEW_UPHELD",
  "SUSPENDED",
  "STOPPED",
  "WATCHED",
  "CLEARED",
  ...LIMIT_CODES,
] as const;
export type PolicyLabel = (typeof POLICY_LABELS)[number];

/** Codes of what people have decided on an agent that was held back. */
export const REVIEW_CODES = ["REVIEW_OVERTURNED", "REVIEW_UPHELD"] as const;
export type ReviewCode = (typeof REVIEW_CODES)[number];
/** Codes of conditions and stops that an operator has set. */
export const CONDITION_CODES = ["SUSPENDED", "STOPPED", "WATCHED", "CLEARED"] as const;
export type ConditionCode = (typeof CONDITION_CODES)[number];
/** Code of stakes that count with earlier ones which no outcome has settled. */
export const EXPOSURE_CODE = "EXPOSURE_ABOVE_CAP" satisfies (typeof LIMIT_CODES)[number];
/** Code of what replaced, or only marked, the measured decision of a leg. */
export type OverrideCode = ReviewCode | ConditionCode | typeof EXPOSURE_CODE | "";
/** All that `reason_codes` of a leg may hold; `CLEARED` is in the log alone. */
export const LEG_CODES = [
  ...REASON_CODES,
  ...REVIEW_CODES,
  ...CONDITION_CODES,
  EXPOSURE_CODE,
] as const;
export type LegCode = (typeof LEG_CODES)[number];

/** All that `reason_codes` of a verify answer may hold, and all that its `log_reason` may be. */
export const ANSWER_CODES = [
  ...REASON_CODES,
  ...FINDING_CODES,
  "VOUCHED",
  "AUDIT_SAMPLE",
  ...REVIEW_CODES,
  ...CONDITION_CODES,
  ...LIMIT_CODES,
] as const;
export type AnswerCode = (typeof ANSWER_CODES)[number];
export const LOG_REASONS = [...POLICY_LABELS, ...FINDING_CODES] as const;
export type LogReason = (typeof LOG_REASONS)[number];

/**
 * Kinds of text. `qa`: answers a question; `summary`: several sentences about a text; `data`: prose
 * made from JSON; `claim`: one sentence; `dialogue`: a turn of a conversation, never inferred, only
 * named.
 */
export const TEXT_KINDS = ["qa", "summary", "data", "claim", "dialogue"] as const;
export type TextKind = (typeof TEXT_KINDS)[number];

/** States of a source, from least to most suspect. Only `active` verifies; the last two taint. */
export const EVIDENCE_STATES = ["active", "revoked", "retracted", "recorded_false"] as const;
export type EvidenceState = (typeof EVIDENCE_STATES)[number];

/** Who may cite a source: its own tenant, or everyone (registered by an administrator). */
export const VISIBILITIES = ["tenant", "public"] as const;
export type Visibility = (typeof VISIBILITIES)[number];

/** What people find of a text against the sources it cites. */
export const TEXT_LABELS = ["supported", "unsupported"] as const;

/** What an API key may do. `admin` implies every other scope. */
export const SCOPES = [
  "score:read",
  "outcomes:write",
  "evidence:write",
  "keys:write",
  "kaizen:run",
  "analytics:read",
  "metrics:read",
  "reviews:decide",
  "conditions:restrict",
  "conditions:clear",
  "signals:write",
  "admin",
] as const;
export type Scope = (typeof SCOPES)[number];

/** What was asked: verify at a tool level, or a connection (check, handshake), which names none. */
export const REVIEW_LEVELS = [...TOOL_LEVELS, "connect"] as const;
export type ReviewLevel = (typeof REVIEW_LEVELS)[number];

/** What opened a review: calls that were held back, or somebody who disputes. */
export const REVIEW_KINDS = ["held", "dispute"] as const;

/** `claimed`: a person is at it, for as long as the lease runs. */
export const REVIEW_STATES = ["open", "claimed", "decided"] as const;
export type ReviewState = (typeof REVIEW_STATES)[number];

/** `upheld`: it stays held back. `overturned`: it is let through. Both until an expiry. */
export const REVIEW_DECISIONS = ["overturned", "upheld"] as const;
export type ReviewDecision = (typeof REVIEW_DECISIONS)[number];

/** Feature names in engine order (FEATURE_* of assembly/layout.ts). */
export const FEATURES = [
  "momentum",
  "recent_failure",
  "viewer_short",
  "reciprocal_failure",
  "reciprocal_success",
  "stakes_novelty",
  "evidence",
  "age",
  "hallucination",
  "unverified",
  "beta",
  "latest_failures",
  "broken_record",
  "praise_strength",
  "viewer_latest",
  "viewer_record",
  "stakes_untested",
] as const;

/** Sign every weight must have: 1 raises, -1 lowers the log-odds of failure. */
export const FEATURE_SIGNS: readonly number[] = [
  1, 1, 1, 1, -1, 1, -1, -1, 1, 1, 1, 1, 1, -1, 1, 1, 1,
];

/** Classes of the reason of a verdict: few, because each is a time series of its own. */
export const REASON_CLASSES = [
  "sufficient",
  "risk",
  "thin_file",
  "stakes",
  "minimum",
  "vouched",
  "audit",
  "refusal",
  "provenance",
  "review",
  "condition",
  "limit",
] as const;
