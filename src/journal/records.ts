// Values that the journal keeps: an outcome, and a batch under one signature.
import type { Attester, Signature } from "../contract/vocabulary.ts";

interface Signer {
  /** RFC 7638 thumbprint of the key that signed. */
  kid: string;
  /** The signed id, a lower-case UUID. */
  jti: string;
}

/** A reporter's signature, and how to verify it again: on its own, or as one row of a batch. */
export type OutcomeProof =
  | (Signer & { kind: "own"; protectedText: string; signature: Uint8Array })
  | (Signer & { kind: "batch"; evidenceId: string; index: number });

/** A verified attestation of the transaction that an outcome settles. */
export interface RecordedAttestation {
  attester: Attester;
  /** 1 to 128 token characters; one outcome of a reporter on a subject has it. */
  transactionId: string;
}

/** A batch under one signature; its rows name it by `evidenceId`. */
export interface BatchEvidence extends Signer {
  evidenceId: string;
  protectedText: string;
  signature: Uint8Array;
  recordedAtMs: number;
  /** The exact received bytes. */
  body: Uint8Array;
}

/** One outcome as the journal keeps it: parsed members plus the exact bytes received. */
export interface OutcomeRecord {
  /** UUIDv7, made by the bureau. */
  outcomeId: string;
  /** Replay identity, scoped by tenant or key; empty when the caller gave none. */
  idempotencyKey: string;
  subject: string;
  reporter: string;
  outcome: 0 | 1;
  /** In the bureau's unit of account. */
  stakes: number;
  /** The stakes as reported, where the tenant's unit is another. */
  reportedStakes?: number;
  /** The incident that it belongs to, as its tenant names it. */
  incidentId?: string;
  /** Index into GRADES of what it weighs as; in older records as claimed. */
  gradeIndex: number;
  /** The grade as claimed, where the outcome weighs as another: unproved, or attested. */
  claimedGradeIndex?: number;
  /** Who signed the transaction beside the reporter. */
  attestation?: RecordedAttestation;
  signature: Signature;
  settledAtMs: number;
  /** True when the sender named `settledAtMs`; else it is the time of recording. */
  isTimeGiven?: boolean;
  recordedAtMs: number;
  /** False: stored, not folded (the tool failed, not the agent). */
  isAgentFault: boolean;
  tenant: string;
  action: string;
  /** Number of the sending tenant (hashTenantToVoice); kept where no reporter signed. */
  voice?: number;
  /**
   * Of a signed one whose reporter nobody vouches for, and of an import that is a tenant's own report: number
   * of the tenant that it counts as.
   */
  signerVoice?: number;
  /** True when an admin has marked that key as first-party, or the operator imported it. */
  isFirstParty?: boolean;
  /** The verdict this settles, or empty. */
  requestId: string;
  /** Origin of the record: `api`, `import:<file>` or `ratings:<file>` (RATINGS_SOURCE). */
  source: string;
  /** The exact received bytes; empty where the members above or a signed batch hold them. */
  body: Uint8Array;
  /** The reporter's signature, for `signature: "reporter"`. */
  proof?: OutcomeProof;
}
