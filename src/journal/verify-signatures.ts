// Verifies reporters' signatures again from stored bytes alone: the keys the journal registered,
// the protected headers and bodies as received. The members that the fold used must be those that
// were signed. Reads only; one verification per signed outcome or batch.
import { createPublicKey, type KeyObject, verify } from "node:crypto";
import { ServiceFault } from "../contract/faults.ts";
import { decodeAgentKey } from "../contract/identifiers.ts";
import { parseAttestation, parseDetachedJws } from "../contract/jws.ts";
import { isObject } from "../contract/parse/json-object.ts";
import { parseJson } from "../contract/parse/json.ts";
import { parseOutcomeRequest, parseTransaction } from "../contract/parse/requests.ts";
import { computeKeyThumbprint } from "../contract/public-key.ts";
import { GRADES } from "../contract/vocabulary.ts";
import { FRAME_HEAD_BYTES, FRAME_KINDS, readFrameKind, readPayloadLength } from "./format.ts";
import { decodeOutcome, readOutcomeProofBytes } from "./outcome.ts";
import { decodeBatchEvidence, buildSigningInput } from "./proof.ts";
import type { BatchEvidence, OutcomeProof, OutcomeRecord } from "./records.ts";

const NEWLINE = 0x0a;
/** Batches whose rows are kept parsed: rows follow their batch closely. */
const BATCHES_MAX = 64;

export class EvidenceVerifier {
  /** Number of signatures that hold. */
  validSignatureCount = 0;
  /** Positions of records that differ from the signed bytes. */
  readonly invalidLsns: number[] = [];
  readonly #keys = new Map<string, KeyObject>();
  /** Rows of signed batches by evidence id; undefined for one that does not hold. */
  readonly #batches = new Map<string, readonly unknown[] | undefined>();

  /** Checks the next record of the journal. */
  checkRecord(bytes: Buffer, at: number, lsn: number): void {
    const kind = readFrameKind(bytes, at);
    if (kind === FRAME_KINDS.key) this.#registerKey(bytes, at);
    else if (kind === FRAME_KINDS.evidence) this.#checkBatch(bytes, at, lsn);
    else if (kind === FRAME_KINDS.outcome && readOutcomeProofBytes(bytes, at) !== undefined) {
      const record = decodeOutcome(bytes, at);
      if (!this.#hasSignedMembers(record, record.proof as OutcomeProof)) this.invalidLsns.push(lsn);
    }
  }

  #registerKey(bytes: Buffer, at: number): void {
    const start = at + FRAME_HEAD_BYTES;
    const text = bytes.toString("utf8", start, start + readPayloadLength(bytes, at));
    const { event, kid, x } = JSON.parse(text) as { event: string; kid: string; x: string };
    if (event !== "registered" || computeKeyThumbprint(x) !== kid) return;
    const jwk = { kty: "OKP", crv: "Ed25519", x };
    this.#keys.set(kid, createPublicKey({ key: jwk, format: "jwk" }));
  }

  #checkBatch(bytes: Buffer, at: number, lsn: number): void {
    const batch = decodeBatchEvidence(bytes, at);
    if (batch === undefined) return;
    const isSigned = this.#verifySignature(batch);
    if (!isSigned) this.invalidLsns.push(lsn);
    const oldest = this.#batches.size < BATCHES_MAX ? undefined : this.#batches.keys().next().value;
    if (oldest !== undefined) this.#batches.delete(oldest);
    this.#batches.set(batch.evidenceId, isSigned ? parseBatchRows(batch.body) : undefined);
  }

  #hasSignedMembers(record: OutcomeRecord, proof: OutcomeProof): boolean {
    if (proof.kind === "own") {
      return (
        this.#verifySignature({ ...proof, body: record.body }) &&
        this.#isSameOutcome(parseJsonOrUndefined(record.body), record)
      );
    }
    // A row far after its batch is covered by the batch's own check and the chain.
    if (!this.#batches.has(proof.evidenceId)) return true;
    return this.#isSameOutcome(this.#batches.get(proof.evidenceId)?.[proof.index], record);
  }

  /** Whether the signed outcome has the same members as the record, and the attestation that it says. */
  #isSameOutcome(value: unknown, record: OutcomeRecord): boolean {
    try {
      return hasSameMembers(value, record) && this.#hasSameAttestation(value, record);
    } catch (thrown) {
      if (thrown instanceof ServiceFault) return false;
      throw thrown;
    }
  }

  #hasSameAttestation(outcome: Record<string, unknown>, record: OutcomeRecord): boolean {
    const { attestation } = outcome;
    // A release that knew of no attestations has ignored it.
    if (record.attestation === undefined || typeof attestation !== "string")
      return record.attestation === undefined;
    const { kid, signingInput, signature, payload } = parseAttestation(attestation);
    const key = this.#keys.get(kid);
    const attested = parseTransaction(parseJson(payload));
    return (
      key !== undefined &&
      verify(null, Buffer.from(signingInput, "latin1"), key, signature) &&
      attested.transaction_id === record.attestation.transactionId &&
      ATTESTED_MEMBERS.every((name) => attested[name] === outcome[name]) &&
      attested.settled_at === record.settledAtMs
    );
  }

  #verifySignature(signed: Omit<BatchEvidence, "evidenceId" | "recordedAtMs">): boolean {
    const key = this.#keys.get(signed.kid);
    const signature = Buffer.from(signed.signature);
    const text = `${signed.protectedText}..${signature.toString("base64url")}`;
    try {
      const { kid, jti } = parseDetachedJws(text);
      if (key === undefined || kid !== signed.kid || jti !== signed.jti) return false;
    } catch {
      return false;
    }
    if (!verify(null, buildSigningInput(signed.protectedText, signed.body), key, signature))
      return false;
    this.validSignatureCount++;
    return true;
  }
}

/** Compared as they are written; a time may be written in two ways. */
const ATTESTED_MEMBERS = ["subject", "reporter", "outcome", "stakes"] as const;
/** Stand for the names of a signed outcome, which may be of a form that is refused by now. */
const NAMES = { subject: "agent://a/subject", reporter: "agent://a/reporter" };

/** @throws ServiceFault when the value is no outcome. */
function hasSameMembers(value: unknown, record: OutcomeRecord): value is Record<string, unknown> {
  if (!isObject(value)) return false;
  const { subject, reporter } = value;
  if (subject !== decodeAgentKey(record.subject) || reporter !== record.reporter) return false;
  const signed = parseOutcomeRequest({ ...value, ...NAMES });
  return (
    signed.outcome === record.outcome &&
    signed.stakes === (record.reportedStakes ?? record.stakes) &&
    signed.grade === GRADES[record.claimedGradeIndex ?? record.gradeIndex] &&
    (signed.settled_at ?? record.settledAtMs) === record.settledAtMs &&
    (signed.agent_fault ?? true) === record.isAgentFault &&
    signed.incident_id === record.incidentId
  );
}

function parseJsonOrUndefined(bytes: Uint8Array): unknown {
  try {
    return parseJson(bytes);
  } catch {
    return undefined;
  }
}

/** The rows of a batch as it was parsed: an array, or one value per line that is not blank. */
function parseBatchRows(body: Uint8Array): readonly unknown[] {
  const whole = parseJsonOrUndefined(body);
  if (Array.isArray(whole)) return whole as unknown[];
  const rows: unknown[] = [];
  for (let start = 0; start < body.byteLength;) {
    const found = body.indexOf(NEWLINE, start);
    const end = found < 0 ? body.byteLength : found;
    const line = body.subarray(start, end);
    if (Buffer.from(line).toString("latin1").replace(/\r$/, "") !== "")
      rows.push(parseJsonOrUndefined(line));
    start = end + 1;
  }
  return rows;
}
