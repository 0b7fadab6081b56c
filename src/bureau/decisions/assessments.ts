// Assessments that verdicts leave behind: a certain finding on a text that the operator's own keys
// asked about tells on the agent. Others' requests are answered and leave no trace: asking is no vote,
// else anyone could lower an agent by asking about inventions in its name.
import { createHash } from "node:crypto";

import type { Assessment } from "../../contract/assessments.ts";
import type { Principal } from "../../contract/principal.ts";
import type { VerifyRequest } from "../../contract/schemas/scores.ts";
import type { ProvenanceFinding } from "./provenance.ts";

const HALLUCINATION_KIND = 0;
const UNVERIFIED_KIND = 1;

/** Port of the journal's queue: takes assessments without making the verdict wait. */
export interface AssessmentLog {
  /** Never throws for want of room: what cannot be kept is dropped and counted. */
  enqueue(assessment: Assessment): void;
}

/** For bureaus that journal nothing. */
export const discardingAssessmentLog: AssessmentLog = { enqueue: () => undefined };

/**
 * Notes the finding where it is certain (hard, or hallucinated), the text itself was sent, and the key
 * is first-party. Doubts, unknown sources and clean texts count nothing.
 */
export function recordCertainFinding(
  log: AssessmentLog,
  { agent_id, context: { content } }: VerifyRequest,
  { isFirstParty, tenant, keyId }: Principal,
  { hardFailureCode, reasonCode, data }: ProvenanceFinding,
  nowMs: number,
): void {
  if (!isFirstParty || content === undefined) return;
  if (hardFailureCode === "" && !data.is_hallucinated) return;
  log.enqueue({
    agent: agent_id,
    tenant,
    keyId,
    code: reasonCode,
    kindIndex: data.is_hallucinated ? HALLUCINATION_KIND : UNVERIFIED_KIND,
    digest: createHash("sha256").update(content, "utf8").digest("hex"),
    assessedAtMs: nowMs,
  });
}
