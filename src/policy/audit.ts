// Audit sample of a policy: challenges that the record alone draws, let through by lot at low stakes.
// What is held back never settles; these do, and say how right it was to hold the others back.
import type { LevelPolicy } from "../contract/policy.ts";
import { VERDICTS } from "../contract/vocabulary.ts";
import type { Ruling } from "./rules.ts";

const CHALLENGE = VERDICTS.indexOf("CHALLENGE");
/** Rules by which risk or doubt alone holds back: an outcome can prove them wrong. */
const RECORD_LABELS: ReadonlySet<string> = new Set([
  "THIN_FILE",
  "RISK_ABOVE_BOUND",
  "STAKES_NEED_VERIFICATION",
  "STAKES_NEED_APPROVAL",
]);

/**
 * Whether a verdict takes part in the lot of its level: a challenge by the record, at stakes that are
 * low enough. Where anything else would hold the request back as well, the caller must not ask.
 */
export function isEligibleForAuditSample(
  level: LevelPolicy,
  ruling: Ruling,
  stakes: number,
): boolean {
  if (level.audit_one_in === undefined || stakes > (level.audit_max_stakes ?? 0)) return false;
  return ruling.verdictIndex === CHALLENGE && RECORD_LABELS.has(ruling.logReason);
}

/**
 * The lot of one request: true for one in `oneIn`. It follows from the request's id, whose random bits
 * are the service's own, so that anybody can draw it again from the log.
 */
export function isInAuditSample(requestId: string, oneIn: number): boolean {
  let hash = 0x811c9dc5;
  for (let i = 0; i < requestId.length; i += 1) {
    hash = Math.imul(hash ^ requestId.charCodeAt(i), 0x01000193);
  }
  // Ids of one millisecond count up: without the last steps their lots would be drawn in turn.
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return ((hash ^ (hash >>> 16)) >>> 0) % oneIn === 0;
}
