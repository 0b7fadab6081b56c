// Proof of a record as journal bytes: the reporter's own signature, or the record's place in a
// batch whose signed bytes are a record of their own. With the body it is all that a later check of
// the signature needs.
import assert from "node:assert/strict";
import { hash } from "node:crypto";
import { FRAME_HEAD_BYTES, readPayloadLength } from "./format.ts";
import type { BatchEvidence, OutcomeProof } from "./records.ts";
import { formatUuid } from "../platform/uuid.ts";

/*
 * Proof of an outcome. It begins with the signer and the signed id: type, kid, jti.
 *
 *   0   1                       33              49                              113
 *   +---+-----------------------+---------------+-------------------------------+- - - -+
 *   | 1 | kid (32)              | jti (16)      | signature (64)                |header |
 *   +---+-----------------------+---------------+---------------+-------+-------+- - - -+
 *   | 2 | kid (32)              | jti (16)      | evidence (16) |index  |
 *   +---+-----------------------+---------------+---------------+-------+
 *
 * header: the protected header as received (base64url). evidence: which batch, see below.
 */
const TYPE_OWN = 1;
const TYPE_BATCH = 2;
const KID_AT = 1;
const JTI_AT = 33;
const SIGNER_END = 49;
const OWN_BYTES = 113;
const BATCH_BYTES = 69;
const INDEX_AT = 65;

/*
 * Payload of a signed batch (frame kind `evidence`). Other evidence may use other types.
 *
 *   0   1                       33              49              65      73              137 139
 *   +---+-----------------------+---------------+---------------+-------+---------------+---+-----
 *   | 1 | kid (32)              | jti (16)      | evidence (16) |ms f64 | signature (64)|len|...
 *   +---+-----------------------+---------------+---------------+-------+---------------+---+-----
 *
 * ...: the protected header, `len` bytes of it, then the body as received. The evidence id is the
 * start of the SHA-256 of what was signed, so a repeat names the same evidence.
 */
export const EVIDENCE_TYPE_BATCH = 1;
const EVIDENCE_ID_AT = 49;
const EVIDENCE_MS_AT = 65;
const EVIDENCE_SIGNATURE_AT = 73;
const EVIDENCE_LENGTH_AT = 137;
const EVIDENCE_HEADER_AT = 139;
const ID_BYTES = 16;

function encodeProof(proof: OutcomeProof): Buffer {
  if (proof.kind === "own") {
    const header = Buffer.from(proof.protectedText, "latin1");
    const bytes = Buffer.alloc(OWN_BYTES + header.byteLength);
    writeSigner(bytes, TYPE_OWN, proof);
    bytes.set(proof.signature, SIGNER_END);
    bytes.set(header, OWN_BYTES);
    return bytes;
  }
  const bytes = Buffer.alloc(BATCH_BYTES);
  writeSigner(bytes, TYPE_BATCH, proof);
  bytes.set(encodeUuid(proof.evidenceId), SIGNER_END);
  bytes.writeUInt32LE(proof.index, INDEX_AT);
  return bytes;
}

/** The last place in a batch that was encoded: rows of a batch differ in their index only. */
let lastBatchProof: { kid: string; jti: string; evidenceId: string } | undefined;
let lastBatchProofBytes: Buffer = Buffer.alloc(0);

/** Writes the proof at `at`; returns its length. */
export function writeProof(proof: OutcomeProof, bytes: Buffer, at: number): number {
  if (proof.kind === "own") {
    const encoded = encodeProof(proof);
    bytes.set(encoded, at);
    return encoded.byteLength;
  }
  const { kid, jti, evidenceId } = proof;
  const isSame =
    lastBatchProof?.evidenceId === evidenceId &&
    lastBatchProof.jti === jti &&
    lastBatchProof.kid === kid;
  if (!isSame) {
    lastBatchProofBytes = encodeProof(proof);
    lastBatchProof = { kid, jti, evidenceId };
  }
  lastBatchProofBytes.copy(bytes, at);
  bytes.writeUInt32LE(proof.index, at + INDEX_AT);
  return BATCH_BYTES;
}

export function decodeProof(bytes: Buffer): OutcomeProof {
  const signer = { kid: readProofKid(bytes), jti: formatUuid(bytes.subarray(JTI_AT, SIGNER_END)) };
  if (bytes[0] === TYPE_OWN) {
    const signature = Buffer.from(bytes.subarray(SIGNER_END, OWN_BYTES));
    const protectedText = bytes.toString("latin1", OWN_BYTES);
    return { kind: "own", ...signer, signature, protectedText };
  }
  assert(bytes[0] === TYPE_BATCH, "a proof is a signature or a place in a batch");
  const evidenceId = formatUuid(bytes.subarray(SIGNER_END, INDEX_AT));
  return { kind: "batch", ...signer, evidenceId, index: bytes.readUInt32LE(INDEX_AT) };
}

/** RFC 7638 thumbprint of the key that signed, for a proof or a signed batch. */
export function readProofKid(bytes: Buffer): string {
  return bytes.toString("base64url", KID_AT, JTI_AT);
}

/** Replay identity of the signed bytes: kid and jti. Undefined for a row of a batch. */
export function readSignedIdentity(bytes: Buffer): Buffer | undefined {
  return bytes[0] === TYPE_OWN ? bytes.subarray(KID_AT, SIGNER_END) : undefined;
}

/** The 16 bytes that name the batch of a row, a view; undefined for a proof of its own. */
export function readBatchEvidenceId(bytes: Buffer): Buffer | undefined {
  return bytes[0] === TYPE_BATCH ? bytes.subarray(SIGNER_END, INDEX_AT) : undefined;
}

/** The evidence with its id: the first half of the SHA-256 of the signed bytes. */
export function addEvidenceId(evidence: Omit<BatchEvidence, "evidenceId">): BatchEvidence {
  const input = buildSigningInput(evidence.protectedText, evidence.body);
  const evidenceId = formatUuid(hash("sha256", input, "buffer").subarray(0, ID_BYTES));
  return { ...evidence, evidenceId };
}

/** Signing input (RFC 7797 §3): the protected header, a dot, the body as it is. */
export function buildSigningInput(protectedText: string, body: Uint8Array): Buffer {
  return Buffer.concat([Buffer.from(`${protectedText}.`, "latin1"), body]);
}

export function encodeBatchEvidence(evidence: BatchEvidence): Buffer {
  const header = Buffer.from(evidence.protectedText, "latin1");
  const bytes = Buffer.alloc(EVIDENCE_HEADER_AT + header.byteLength + evidence.body.byteLength);
  writeSigner(bytes, EVIDENCE_TYPE_BATCH, evidence);
  bytes.set(encodeUuid(evidence.evidenceId), EVIDENCE_ID_AT);
  bytes.writeDoubleLE(evidence.recordedAtMs, EVIDENCE_MS_AT);
  bytes.set(evidence.signature, EVIDENCE_SIGNATURE_AT);
  bytes.writeUInt16LE(header.byteLength, EVIDENCE_LENGTH_AT);
  bytes.set(header, EVIDENCE_HEADER_AT);
  bytes.set(evidence.body, EVIDENCE_HEADER_AT + header.byteLength);
  return bytes;
}

/** Whether the frame at `at`, of kind `evidence`, is a signed batch of outcomes. */
export function isBatchEvidence(frame: Buffer, at: number): boolean {
  return readPayloadLength(frame, at) > 0 && frame[at + FRAME_HEAD_BYTES] === EVIDENCE_TYPE_BATCH;
}

/** The signed batch in the frame at `at`, as views; undefined for evidence of another type. */
export function decodeBatchEvidence(
  frame: Buffer,
  at: number,
): (BatchEvidence & { idBytes: Buffer; identity: Buffer }) | undefined {
  const start = at + FRAME_HEAD_BYTES;
  const bytes = frame.subarray(start, start + readPayloadLength(frame, at));
  if (bytes[0] !== EVIDENCE_TYPE_BATCH) return undefined;
  const bodyAt = EVIDENCE_HEADER_AT + bytes.readUInt16LE(EVIDENCE_LENGTH_AT);
  const idBytes = bytes.subarray(EVIDENCE_ID_AT, EVIDENCE_ID_AT + ID_BYTES);
  return {
    kid: readProofKid(bytes),
    jti: formatUuid(bytes.subarray(JTI_AT, SIGNER_END)),
    evidenceId: formatUuid(idBytes),
    recordedAtMs: bytes.readDoubleLE(EVIDENCE_MS_AT),
    signature: bytes.subarray(EVIDENCE_SIGNATURE_AT, EVIDENCE_LENGTH_AT),
    protectedText: bytes.toString("latin1", EVIDENCE_HEADER_AT, bodyAt),
    body: bytes.subarray(bodyAt),
    idBytes,
    identity: bytes.subarray(KID_AT, SIGNER_END),
  };
}

function writeSigner(bytes: Buffer, type: number, signer: { kid: string; jti: string }): void {
  bytes[0] = type;
  const written = bytes.write(signer.kid, KID_AT, "base64url");
  assert(written === JTI_AT - KID_AT, "a kid is a SHA-256 thumbprint");
  bytes.set(encodeUuid(signer.jti), JTI_AT);
}

function encodeUuid(uuid: string): Buffer {
  const bytes = Buffer.from(uuid.replaceAll("-", ""), "hex");
  assert(bytes.byteLength === ID_BYTES, "an id is a UUID");
  return bytes;
}
