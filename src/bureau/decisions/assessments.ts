// Assessments of verify: a certain finding on a text counts against the agent if the operator's own (first-party)
// keys sent it. Other keys' requests leave none: otherwise anyone could lower an agent's score by sending
// invented texts in its name.
import { createHash } from "node:crypto";

import type { AssessmentLog } from "../../contract/assessments.ts";
import type { VerifyRequest } from "../../contract/schemas/scores.ts";
import type { VerdictContext } from "./verdict-context.ts";

const HALLUCINATION_KIND = 0;
const UNVERIFIED_KIND = 1;

/** Discards all assessments. */
export const discardingAssessmentLog: AssessmentLog = { enqueue: () => undefined };

/**
 * Records the finding where it is certain (hard, or hallucinated), the request has the text itself, and the key
 * is first-party. Doubts, unknown sources and clean texts are not recorded.
 */
export function recordCertainFinding(
  { services, call, finding, nowMs }: VerdictContext,
  { agent_id, context: { content } }: VerifyRequest,
): void {
  const { isFirstParty, tenant, keyId } = call.principal;
  const { hardFailureCode, reasonCode, data } = finding;
  if (!isFirstParty || content === undefined) return;
  if (hardFailureCode === "" && !data.is_hallucinated) return;
  services.assessments.enqueue({
    agent: agent_id,
    tenant,
    keyId,
    code: reasonCode,
    kindIndex: data.is_hallucinated ? HALLUCINATION_KIND : UNVERIFIED_KIND,
    digest: createHash("sha256").update(content, "utf8").digest("hex"),
    assessedAtMs: nowMs,
  });
}
