// Audit sampling: allows a random share of the challenges that only the record causes, at low stakes.
// Denied calls produce no outcomes; sampled ones do, and their outcomes measure how often denials are wrong.
import { VERDICT } from "../contract/vocabulary.ts";
import { isReviewRequired } from "./rules.ts";
import type { RuleInputs } from "./rule-inputs.ts";
import type { Ruling } from "./rulings.ts";
import { isWithinStakesCap } from "./stakes-decision.ts";

/** Rules on risk or uncertainty alone: an outcome can prove them wrong. */
const RECORD_LABELS: ReadonlySet<string> = new Set([
  "THIN_FILE",
  "STALE_RECORD",
  "RISK_ABOVE_BOUND",
  "STAKES_NEED_VERIFICATION",
]);

/**
 * Whether a ruling may be sampled at its level: a challenge by the record, at stakes that are low enough,
 * and not one that waits for a reviewer. The caller checks that nothing else would withhold the request.
 */
export function isEligibleForAuditSample(rules: RuleInputs, ruling: Ruling): boolean {
  const { level, terms, stakes } = rules;
  if (level.audit_one_in === undefined || isReviewRequired(ruling, rules)) return false;
  if (!isWithinStakesCap(terms, stakes, level.audit_max_stakes ?? 0)) return false;
  return ruling.verdictIndex === VERDICT.CHALLENGE && RECORD_LABELS.has(ruling.logReason);
}

/**
 * Whether a request is sampled: one in `oneIn`, by a hash of its id. The id's random bits are the service's
 * own, so that the sample can be verified from the log.
 */
export function isInAuditSample(requestId: string, oneIn: number): boolean {
  let hash = 0x811c9dc5;
  for (let i = 0; i < requestId.length; i += 1) {
    hash = Math.imul(hash ^ requestId.charCodeAt(i), 0x01000193);
  }
  // Ids of one millisecond count up: without the last steps their hashes would, too.
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return ((hash ^ (hash >>> 16)) >>> 0) % oneIn === 0;
}
