// Policy verdict of verify (SPEC §2.3, §3, §8.2) as data: one table, three rules on top of it,
// combined by `max` of restriction. Pure and allocation-free; knows no agent, no clock, no wire.
import { VERDICTS } from "../../contract/vocabulary.ts";
import type { ToolLevel } from "../../contract/vocabulary.ts";

/** One outcome of the policy: the verdict, and the label of the rule that decided it. */
export interface Ruling {
  /** Index into VERDICTS. */
  readonly verdictIndex: number;
  readonly logReason: string;
  /** SPEC §8.2: allowed, but an anomaly for the log or for a person. */
  readonly isFlagged: boolean;
}

const ALLOW = VERDICTS.indexOf("ALLOW");
const CHALLENGE = VERDICTS.indexOf("CHALLENGE");
const QUARANTINE = VERDICTS.indexOf("QUARANTINE");
const BLOCK = VERDICTS.indexOf("BLOCK");

function ruling(verdictIndex: number, logReason: string, isFlagged = false): Ruling {
  return Object.freeze({ verdictIndex, logReason, isFlagged });
}

const SUFFICIENT = ruling(ALLOW, "TRUST_SUFFICIENT");
const TOLERATED = ruling(ALLOW, "RISK_TOLERATED");
const BELOW_MINIMUM = ruling(CHALLENGE, "BELOW_TENANT_MINIMUM");
const REFUSED = ruling(BLOCK, "REFUSE_RULE");

/** Upper bounds (inclusive) of pessimistic failure probability; above the last: CRITICAL. */
const BAND_BOUNDS = [0.01, 0.05, 0.15, 0.4] as const;

/** Band -> index into RISK_LEVELS. The first two bands are both LOW; only L3 distinguishes them. */
const BAND_RISK = [0, 0, 1, 2, 3] as const;

/**
 * Verdict by tool level and risk band; SPEC §3 and §8.2 leave it to the service. Columns: at most 1
 * %, LOW (5 %), MEDIUM (15 %), HIGH (40 %), CRITICAL. test/tables/policy.txt holds it as text.
 */
const TABLE: Readonly<Record<ToolLevel, readonly Ruling[]>> = {
  L0: [SUFFICIENT, SUFFICIENT, TOLERATED, TOLERATED, TOLERATED],
  L1: [
    SUFFICIENT,
    SUFFICIENT,
    TOLERATED,
    ruling(ALLOW, "HIGH_RISK_FLAGGED", true),
    ruling(ALLOW, "CRITICAL_RISK_FLAGGED_FOR_REVIEW", true),
  ],
  L2: [
    SUFFICIENT,
    SUFFICIENT,
    ruling(CHALLENGE, "MEDIUM_RISK"),
    ruling(CHALLENGE, "HIGH_RISK"),
    ruling(QUARANTINE, "CRITICAL_RISK"),
  ],
  L3: [
    SUFFICIENT,
    ruling(CHALLENGE, "LOW_RISK_CRITICAL_TOOL"),
    ruling(CHALLENGE, "MEDIUM_RISK"),
    ruling(QUARANTINE, "HIGH_RISK"),
    ruling(QUARANTINE, "CRITICAL_RISK"),
  ],
};

/** Verdict by tool level for a hard provenance failure (broken evidence, not missing evidence). */
const HARD_FAILURE_VERDICT: Readonly<Record<ToolLevel, number>> = {
  L0: CHALLENGE,
  L1: CHALLENGE,
  L2: QUARANTINE,
  L3: BLOCK,
};

/**
 * Provenance that leaves room for a mistake: a score, a near copy, a source that changed its state.
 * These ask for a second look where the tool is sensitive; every other code is a hard failure.
 */
const DOUBTS: ReadonlySet<string> = new Set([
  "CITATION_DOUBTFUL",
  "CITATIONS_CHANGED",
  "CONTENT_NEAR_RECORDED_FALSE",
  "MIXED_SCRIPTS",
  "SOME_SOURCES_UNKNOWN",
  "SOURCE_RETRACTED",
  "SOURCE_REVOKED",
  "UNSUPPORTED_CONTENT",
]);
const DOUBT_VERDICT: Readonly<Record<ToolLevel, number>> = {
  L0: ALLOW,
  L1: ALLOW,
  L2: CHALLENGE,
  L3: CHALLENGE,
};

function bandIndex(failurePessimistic: number): number {
  let band = 0;
  while (band < BAND_BOUNDS.length && failurePessimistic > BAND_BOUNDS[band]!) band += 1;
  return band;
}

/**
 * Index into RISK_LEVELS of a pessimistic failure probability (0 to 1): 5, 15 and 40 % part the
 * levels.
 */
export function riskIndex(failurePessimistic: number): number {
  return BAND_RISK[bandIndex(failurePessimistic)]!;
}

/**
 * Verdict of one verify request. Starts from the table; the tenant's minimum, the refuse rule and
 * broken provenance can each only make it stricter, and the label is that of the last rule that
 * did. `failureCode` is empty when provenance holds or was not assessed.
 */
export function decidePolicy(
  toolLevel: ToolLevel,
  failurePessimistic: number,
  isThresholdMet: boolean,
  isRefused: boolean,
  failureCode: string,
): Ruling {
  let decided = TABLE[toolLevel][bandIndex(failurePessimistic)]!;
  const isSensitive = toolLevel === "L2" || toolLevel === "L3";
  if (isSensitive) {
    if (!isThresholdMet) decided = stricter(decided, BELOW_MINIMUM);
    if (isRefused) decided = stricter(decided, REFUSED);
  }
  if (failureCode === "") return decided;
  const verdicts = DOUBTS.has(failureCode) ? DOUBT_VERDICT : HARD_FAILURE_VERDICT;
  if (verdicts[toolLevel] > decided.verdictIndex) {
    return ruling(verdicts[toolLevel], failureCode);
  }
  return decided;
}

function stricter(current: Ruling, candidate: Ruling): Ruling {
  return candidate.verdictIndex > current.verdictIndex ? candidate : current;
}
