// Assessments: what a certain provenance finding says about the agent whose text it was, as bureau,
// journal and engine pass it on. Holds no text, only its digest.

/** Features of the scorecard that an assessment counts towards; the index is the engine's. */
export const ASSESSMENT_KINDS = ["hallucination", "unverified"] as const;

export interface Assessment {
  readonly agent: string;
  /** Tenant that asked: the voice of the assessment. */
  readonly tenant: string;
  /** Id of the API key that asked. */
  readonly keyId: string;
  /** Code of the finding, as in `reason_codes`. */
  readonly code: string;
  /** Index into ASSESSMENT_KINDS. */
  readonly kindIndex: number;
  /** SHA-256 of the content, lower-case hex. */
  readonly digest: string;
  /** Time of the verdict, epoch ms. */
  readonly assessedAtMs: number;
}

/** Port of the journal's queue of assessments; the verdict does not wait for it. */
export interface AssessmentLog {
  /** Never throws: an assessment that exceeds the capacity is dropped and counted. */
  enqueue(assessment: Assessment): void;
}
