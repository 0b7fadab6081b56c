// Port for the record under an id that a reporter signed, read when a signed body is older than the
// replay guard remembers.
import { createHash } from "node:crypto";

/** Who signed what, and when it was signed by the id's own time (epoch ms). */
export interface SignedId {
  kid: string;
  /** A lower-case UUID. */
  jti: string;
  jtiMs: number;
}

/** An outcome on record. */
export interface SignedOutcomeEntry {
  outcomeId: string;
  /** Position in the evidence journal. */
  position: number;
  recordedAtMs: number;
}

/** Under one signed id there is at most one of the two; neither: nothing was recorded. */
export interface SignedRecords {
  /** An outcome signed alone. */
  alone?: SignedOutcomeEntry & { bodyDigest: string };
  /** A batch under one signature, and the rows that were recorded of it, by their index. */
  batch?: {
    evidenceId: string;
    position: number;
    bodyDigest: string;
    rows: Map<number, SignedOutcomeEntry>;
  };
}

/** Half a SHA-256, hex: tells one signed body from another. */
export function digestSignedBody(body: Uint8Array): string {
  return createHash("sha256").update(body).digest("hex").slice(0, 32);
}
