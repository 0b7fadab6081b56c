// Assessments that verdicts leave behind: a certain finding on a text that the operator's own keys
// asked about tells on the agent. Others' requests are answered and leave no trace: asking is no vote,
// else anyone could lower an agent by asking about inventions in its name.
import { createHash } from "node:crypto";

import type { Assessment } from "../../contract/assessments.ts";
import type { Principal } from "../../contract/principal.ts";
import type { VerifyRequest } from "../../contract/schemas/scores.ts";
import type { ProvenanceFinding } from "./provenance.ts";

const HALLUCINATION = 0;
const UNVERIFIED = 1;

/** Port of the journal's queue: takes assessments without making the verdict wait. */
export interface AssessmentLog {
  /** Never throws for want of room: what cannot be kept is dropped and counted. */
  note(assessment: Assessment): void;
}

/** For bureaus that journal nothing. */
export const withoutAssessments: AssessmentLog = { note: () => undefined };

/**
 * Notes the finding where it is certain (hard, or hallucinated), the text itself was sent, and the key
 * is first-party. Doubts, unknown sources and clean texts count nothing.
 */
export function noteAssessment(
  log: AssessmentLog,
  { agent_id, context: { content } }: VerifyRequest,
  { isFirstParty, tenant, keyId }: Principal,
  { hardFailureCode, reasonCode, data }: ProvenanceFinding,
  nowMs: number,
): void {
  if (!isFirstParty || content === undefined) return;
  if (hardFailureCode === "" && !data.is_hallucinated) return;
  log.note({
    agent: agent_id,
    tenant,
    keyId,
    code: reasonCode,
    kindIndex: data.is_hallucinated ? HALLUCINATION : UNVERIFIED,
    digest: createHash("sha256").update(content, "utf8").digest("hex"),
    assessedAtMs: nowMs,
  });
}
