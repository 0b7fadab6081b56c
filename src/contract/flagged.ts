// Flagged verdicts (SPEC §8.2): allowed, with the anomaly marked for review by a person. The label of the rule
// says so, on the wire as in the decision log.
import { LIMIT_CODES } from "./activity/codes.ts";
import { FINDING_CODES } from "./vocabulary.ts";
import type { LogReason, Verdict } from "./vocabulary.ts";

/** Labels that flag what they allow. A finding names an ALLOW only where broken evidence is flagged. */
const FLAGGING_LABELS: ReadonlySet<LogReason> = new Set<LogReason>([
  "RISK_FLAGGED_FOR_REVIEW",
  "THIN_FILE_FLAGGED",
  "DENIAL_FLAGGED_FOR_REVIEW",
  "STALE_RECORD_FLAGGED",
  "AUDIT_SAMPLE",
  "WATCHED",
  "STAKES_NEED_VERIFICATION",
  ...LIMIT_CODES,
  ...FINDING_CODES,
]);

/** Whether a verdict allows the request and flags it for review. */
export function isFlaggedVerdict(policyAction: {
  verdict: Verdict;
  log_reason: LogReason;
}): boolean {
  return policyAction.verdict === "ALLOW" && FLAGGING_LABELS.has(policyAction.log_reason);
}
