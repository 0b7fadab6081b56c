// Journal payload of one outcome: a fixed head, the strings, the exact received bytes. The fold and
// the replay guard read single fields without decoding the rest.
import assert from "node:assert/strict";
import { hashIncident } from "./incidents.ts";
import { GRADES, SIGNATURES, type Signature } from "../contract/vocabulary.ts";
import {
  FRAME_HEAD_BYTES,
  FRAME_KINDS,
  FRAME_TIME_AT,
  readPayloadLength,
  writeFrameHead,
} from "./format.ts";
import { decodeProof, writeProof } from "./proof.ts";
import type { OutcomeRecord } from "./records.ts";
import {
  computeRareFlags,
  FLAG_ATTESTATION,
  FLAG_INCIDENT,
  measureRareMembers,
  readAttestation,
  RARE_MEMBER_BYTES_MAX,
  readClaimedGradeIndex,
  readIncidentId,
  readReportedStakes,
  writeRareMembers,
} from "./rare-members.ts";
import { formatUuid, writeUuid } from "../platform/uuid.ts";

/*
 * Payload of an outcome, little-endian. Strings are UTF-8, back to back in the order of their
 * lengths; the body is the rest.
 *
 *   0   1   2   3   4       8               16              24              32
 *   +---+---+---+---+-------+---------------+---------------+---------------+
 *   |ver|flg|grd|sig| voice | stakes f64    | settled ms f64| recorded ms f64|
 *   +---+---+---+---+-------+---------------+---------------+---------------+
 *   32                      48  50  52  54  56  58  60  62  64
 *   +-----------------------+---+---+---+---+---+---+---+---+-- - - - - -+------+
 *   | outcome id (16)       |sub|rep|key|ten|act|req|src|prf| strings    | body |
 *   +-----------------------+---+---+---+---+---+---+---+---+-- - - - - -+------+
 *
 * flg: bit 0 the outcome, bit 1 the agent's fault, bit 2 the sender named the time of settlement
 * (records without it did so where that is not the time of recording), bit 3 it came with a
 * first-party key, bits 4 to 7 rare members (rare-members.ts) between the proof and the body. voice: of an unsigned outcome the number of the
 * sending tenant (of its API key in older records), of a signed one that of the tenant that it counts as, zero where
 * the reporter answers for itself, as in all signed records from before. prf: bytes of a reporter's
 * proof that stand between the strings and the body; zero for records without one.
 */
export const OUTCOME_HEAD_BYTES = 64;
export const OUTCOME_VERSION = 1;
export const FLAG_SUCCESS = 1;
export const FLAG_AGENT_FAULT = 2;
const FLAG_TIME_GIVEN = 4;
export const FLAG_FIRST_PARTY = 8;
export const VOICE_AT = 4;
export const STAKES_AT = 8;
export const SETTLED_MS_AT = 16;
const RECORDED_MS_AT = 24;
const ID_AT = 32;
const ID_BYTES = 16;
export const OUTCOME_LENGTHS_AT = 48;
const PROOF_LENGTH_AT = 62;
const UINT16_MAX = 0xffff;
export const IMPORTED_SIGNATURE_INDEX = SIGNATURES.indexOf("bureau");
/** Larger than any proof: the signature header is at most 1 KiB. */
const PROOF_BYTES_MAX = 1280;

/** String members in the order they are stored. */
const STRINGS = [
  "subject",
  "reporter",
  "idempotencyKey",
  "tenant",
  "action",
  "requestId",
  "source",
] as const;
const IDEMPOTENCY_KEY_INDEX = 2;
const TENANT_INDEX = 3;
const REQUEST_ID_INDEX = 5;
const SOURCE_INDEX = 6;

/** Upper bound of the frame of `record`, in bytes. */
export function computeOutcomeFrameBytesMax(record: OutcomeRecord): number {
  let bytes = FRAME_HEAD_BYTES + OUTCOME_HEAD_BYTES + record.body.byteLength;
  for (const name of STRINGS) bytes += record[name].length * 3;
  if (computeRareFlags(record) !== 0) bytes += RARE_MEMBER_BYTES_MAX;
  return record.proof === undefined ? bytes : bytes + PROOF_BYTES_MAX;
}

/**
 * Writes the frame of an outcome (length, kind and payload; position and checksum are the
 * journal's) at `at`.
 * @returns the offset behind it.
 */
export function writeOutcomeFrame(record: OutcomeRecord, bytes: Buffer, at: number): number {
  const head = at + FRAME_HEAD_BYTES;
  const lengths = head + OUTCOME_LENGTHS_AT;
  let end = head + OUTCOME_HEAD_BYTES;
  // In the order of STRINGS; spelled out, because a member looked up by name costs more than its
  // text.
  end += writeTextAndLength(bytes, lengths, end, record.subject);
  end += writeTextAndLength(bytes, lengths + 2, end, record.reporter);
  end += writeTextAndLength(bytes, lengths + 2 * IDEMPOTENCY_KEY_INDEX, end, record.idempotencyKey);
  end += writeTextAndLength(bytes, lengths + 2 * TENANT_INDEX, end, record.tenant);
  end += writeTextAndLength(bytes, lengths + 8, end, record.action);
  end += writeTextAndLength(bytes, lengths + 2 * REQUEST_ID_INDEX, end, record.requestId);
  end += writeTextAndLength(bytes, lengths + 2 * SOURCE_INDEX, end, record.source);
  const proofLength = record.proof === undefined ? 0 : writeProof(record.proof, bytes, end);
  end += proofLength;
  bytes.writeUInt16LE(proofLength, head + PROOF_LENGTH_AT);
  const rareFlags = computeRareFlags(record);
  if (rareFlags !== 0) end += writeRareMembers(record, bytes, end);
  bytes[head] = OUTCOME_VERSION;
  bytes[head + 1] =
    (record.outcome === 1 ? FLAG_SUCCESS : 0) |
    (record.isAgentFault ? FLAG_AGENT_FAULT : 0) |
    (record.isTimeGiven === true ? FLAG_TIME_GIVEN : 0) |
    (record.isFirstParty === true ? FLAG_FIRST_PARTY : 0) |
    rareFlags;
  bytes[head + 2] = record.gradeIndex;
  bytes[head + 3] = SIGNATURES.indexOf(record.signature);
  bytes.writeUInt32LE(selectRecordedVoice(record), head + VOICE_AT);
  bytes.writeDoubleLE(record.stakes, head + STAKES_AT);
  bytes.writeDoubleLE(record.settledAtMs, head + SETTLED_MS_AT);
  bytes.writeDoubleLE(record.recordedAtMs, head + RECORDED_MS_AT);
  writeUuid(bytes, head + ID_AT, record.outcomeId);
  bytes.set(record.body, end);
  end += record.body.byteLength;
  writeFrameHead(bytes, at, FRAME_KINDS.outcome, end - head);
  // Where the journal will put the time; an import is the operator's own and counted for nobody.
  bytes.writeUInt32LE(record.signature === "bureau" ? 0 : (record.voice ?? 0), at + FRAME_TIME_AT);
  return end;
}

function selectRecordedVoice({ signature, voice = 0, signerVoice = 0 }: OutcomeRecord): number {
  return signature === "none" ? voice : signerVoice;
}

/** Writes a string at `at` and its length at `lengthAt`; returns how many bytes it took. */
function writeTextAndLength(bytes: Buffer, lengthAt: number, at: number, text: string): number {
  const length = writeUtf8(bytes, at, text);
  assert(length <= UINT16_MAX, "a member is too long for the journal");
  bytes.writeUInt16LE(length, lengthAt);
  return length;
}

/** Nearly all text is short and ASCII, and quicker written here than in native code. */
function writeUtf8(bytes: Buffer, at: number, text: string): number {
  const { length } = text;
  for (let index = 0; index < length; index++) {
    const code = text.charCodeAt(index);
    if (code > 0x7f) return bytes.write(text, at, "utf8");
    bytes[at + index] = code;
  }
  return length;
}

/**
 * Number of the tenant that sent an outcome, 0 for an import: a note to the ledger in a frame that
 * the journal has not sealed yet, never on disk.
 */
export function readOutcomeSender(bytes: Buffer, at: number): number {
  return bytes.readUInt32LE(at + FRAME_TIME_AT);
}

/** Index into GRADES of the outcome frame at `at`, as recorded. */
export function readOutcomeGradeIndex(bytes: Buffer, at: number): number {
  return bytes[at + FRAME_HEAD_BYTES + 2]!;
}

/** Index into SIGNATURES of the outcome frame at `at`. */
export function readOutcomeSignatureIndex(bytes: Buffer, at: number): number {
  return bytes[at + FRAME_HEAD_BYTES + 3]!;
}

/** Recording time of the outcome frame at `at`, epoch ms. */
export function readOutcomeRecordedAtMs(bytes: Buffer, at: number): number {
  return bytes.readDoubleLE(at + FRAME_HEAD_BYTES + RECORDED_MS_AT);
}

/** The 16 bytes of the outcome id, a view. */
export function readOutcomeIdBytes(bytes: Buffer, at: number): Buffer {
  const from = at + FRAME_HEAD_BYTES + ID_AT;
  return bytes.subarray(from, from + ID_BYTES);
}

/** Views that make up the replay identity; undefined when the caller gave no key. */
export function readOutcomeReplayParts(
  bytes: Buffer,
  at: number,
): { key: Buffer; tenant: Buffer; content: Buffer } | undefined {
  const head = at + FRAME_HEAD_BYTES;
  if (bytes.readUInt16LE(head + OUTCOME_LENGTHS_AT + IDEMPOTENCY_KEY_INDEX * 2) === 0)
    return undefined;
  const keyAt = computeStringOffset(bytes, head, IDEMPOTENCY_KEY_INDEX);
  const tenantAt = computeStringOffset(bytes, head, TENANT_INDEX);
  return {
    key: bytes.subarray(keyAt, tenantAt),
    tenant: bytes.subarray(tenantAt, computeStringOffset(bytes, head, TENANT_INDEX + 1)),
    content: encodeComparedMembers(bytes, head),
  };
}

/*
 * Content of the outcome as the bureau parsed it, for comparison: not the received bytes, which
 * differ by encoding, and by route (a batch keeps no body of its rows). Made of the frame alone, so
 * that a replay finds the same. The time of settlement is part of it where the sender named one; an
 * import may shift it.
 */
const SETTLEMENT_END = 2 + 8 + 8;
const MEMBERS_FIXED = SETTLEMENT_END + STRINGS.length * 2;

function encodeComparedMembers(bytes: Buffer, head: number): Buffer {
  const from = head + OUTCOME_HEAD_BYTES;
  const stringsEnd = computeStringOffset(bytes, head, STRINGS.length);
  const members = Buffer.allocUnsafe(MEMBERS_FIXED + stringsEnd - from);
  const flags = bytes[head + 1] as number;
  members[0] = flags & (FLAG_SUCCESS | FLAG_AGENT_FAULT);
  const rareAt = computeRareOffset(bytes, head);
  members[1] = readClaimedGradeIndex(bytes, rareAt, flags) ?? (bytes[head + 2] as number);
  // Minus zero is zero.
  const stakes = readReportedStakes(bytes, rareAt, flags) ?? bytes.readDoubleLE(head + STAKES_AT);
  members.writeDoubleLE(stakes + 0, 2);
  const isImported = bytes[head + 3] === IMPORTED_SIGNATURE_INDEX;
  members.writeDoubleLE(
    isImported ? NO_SETTLEMENT_TIME : readNamedSettlementMs(bytes, head, flags),
    10,
  );
  bytes.copy(members, SETTLEMENT_END, head + OUTCOME_LENGTHS_AT, head + PROOF_LENGTH_AT);
  bytes.copy(members, MEMBERS_FIXED, from, stringsEnd);
  const incidentId = readIncidentId(bytes, rareAt, flags);
  return incidentId === undefined
    ? members
    : Buffer.concat([members, Buffer.from(`\n${incidentId}`)]);
}

/**
 * What makes an attested transaction the same, and what is said of it; undefined for an outcome that
 * only its reporter vouches for. Both parties are part of the key: each may report on the other.
 */
export function readTransactionReplayParts(
  bytes: Buffer,
  at: number,
): { key: Buffer; content: Buffer } | undefined {
  const head = at + FRAME_HEAD_BYTES;
  const flags = bytes[head + 1] as number;
  if ((flags & FLAG_ATTESTATION) === 0) return undefined;
  const rareAt = computeRareOffset(bytes, head);
  const { transactionId } = readAttestation(bytes, rareAt, flags)!;
  const from = head + OUTCOME_HEAD_BYTES;
  const parties = bytes.subarray(from, computeStringOffset(bytes, head, 2));
  // No identifier has a line feed.
  const subjectBytes = bytes.readUInt16LE(head + OUTCOME_LENGTHS_AT);
  const suffix = Buffer.from(`\n${subjectBytes}\n${transactionId}`);
  const content = encodeComparedMembers(bytes, head).subarray(0, SETTLEMENT_END);
  // The claimed grade is no part of what was attested.
  content[1] = 0;
  return { key: Buffer.concat([parties, suffix]), content };
}

/** No time of settlement was named. */
const NO_SETTLEMENT_TIME = -1;

function readNamedSettlementMs(bytes: Buffer, head: number, flags: number): number {
  const settledAtMs = bytes.readDoubleLE(head + SETTLED_MS_AT);
  const isNamed =
    (flags & FLAG_TIME_GIVEN) !== 0 || settledAtMs !== bytes.readDoubleLE(head + RECORDED_MS_AT);
  return isNamed ? settledAtMs : NO_SETTLEMENT_TIME;
}

/** The reporter that the outcome frame at `at` names. */
export function readOutcomeReporter(bytes: Buffer, at: number): string {
  const head = at + FRAME_HEAD_BYTES;
  const from = computeStringOffset(bytes, head, 1);
  return bytes.toString("utf8", from, computeStringOffset(bytes, head, 2));
}

/** The reporter's proof in the outcome frame at `at`, a view; undefined without one. */
export function readOutcomeProofBytes(bytes: Buffer, at: number): Buffer | undefined {
  const head = at + FRAME_HEAD_BYTES;
  const length = bytes.readUInt16LE(head + PROOF_LENGTH_AT);
  if (length === 0) return undefined;
  const from = computeStringOffset(bytes, head, STRINGS.length);
  return bytes.subarray(from, from + length);
}

/** The body as received in the outcome frame at `at`, a view. */
export function readOutcomeBody(bytes: Buffer, at: number): Buffer {
  const head = at + FRAME_HEAD_BYTES;
  const rareAt = computeRareOffset(bytes, head);
  const from = rareAt + measureRareMembers(bytes, rareAt, bytes[head + 1] as number);
  return bytes.subarray(from, head + readPayloadLength(bytes, at));
}

/** Offset of the rare members: behind the proof. */
function computeRareOffset(bytes: Buffer, head: number): number {
  const proofLength = bytes.readUInt16LE(head + PROOF_LENGTH_AT);
  return computeStringOffset(bytes, head, STRINGS.length) + proofLength;
}

/** Number of the incident that the outcome frame at `at` names; 0 for none. */
export function readIncidentNumber(bytes: Buffer, at: number): number {
  const head = at + FRAME_HEAD_BYTES;
  const flags = bytes[head + 1] as number;
  if ((flags & FLAG_INCIDENT) === 0) return 0;
  const incidentId = readIncidentId(bytes, computeRareOffset(bytes, head), flags) as string;
  const from = computeStringOffset(bytes, head, TENANT_INDEX);
  const to = computeStringOffset(bytes, head, TENANT_INDEX + 1);
  return hashIncident(bytes.toString("utf8", from, to), incidentId);
}

/** Offset of the string of this index; for an index past the last, the end of the strings. */
function computeStringOffset(bytes: Buffer, head: number, index: number): number {
  let at = head + OUTCOME_HEAD_BYTES;
  for (let each = 0; each < index; each++)
    at += bytes.readUInt16LE(head + OUTCOME_LENGTHS_AT + each * 2);
  return at;
}

function computeStringEnds(bytes: Buffer, head: number): number[] {
  let end = head + OUTCOME_HEAD_BYTES;
  return STRINGS.map(
    (_, index) => (end += bytes.readUInt16LE(head + OUTCOME_LENGTHS_AT + index * 2)),
  );
}

/** Whether the `source` of the outcome frame at `at` begins with these bytes. */
export function hasSourcePrefix(bytes: Buffer, at: number, prefix: Uint8Array): boolean {
  const head = at + FRAME_HEAD_BYTES;
  const length = bytes.readUInt16LE(head + OUTCOME_LENGTHS_AT + SOURCE_INDEX * 2);
  if (length < prefix.byteLength) return false;
  const from = computeStringOffset(bytes, head, SOURCE_INDEX);
  for (let i = 0; i < prefix.byteLength; i++) if (bytes[from + i] !== prefix[i]) return false;
  return true;
}

/** Whether the outcome names the decision it came of. */
export function hasRequestId(bytes: Buffer, at: number): boolean {
  return bytes.readUInt16LE(at + FRAME_HEAD_BYTES + OUTCOME_LENGTHS_AT + 2 * REQUEST_ID_INDEX) > 0;
}

/**
 * The whole record at `at`; the body is copied.
 * @throws Error when the version is unknown.
 */
export function decodeOutcome(bytes: Buffer, at: number): OutcomeRecord {
  const head = at + FRAME_HEAD_BYTES;
  if (bytes[head] !== OUTCOME_VERSION) {
    throw new Error(`outcome record version ${bytes[head]} is not known`);
  }
  const ends = computeStringEnds(bytes, head);
  const text = (index: number) =>
    bytes.toString("utf8", index === 0 ? head + OUTCOME_HEAD_BYTES : ends[index - 1], ends[index]);
  const flags = bytes[head + 1] as number;
  const gradeIndex = bytes[head + 2] as number;
  assert(gradeIndex < GRADES.length, "grade index out of range");
  const proof = readOutcomeProofBytes(bytes, at);
  const voice = bytes.readUInt32LE(head + VOICE_AT);
  const signature = SIGNATURES[bytes[head + 3] as number] as Signature;
  const rareAt = computeRareOffset(bytes, head);
  const reportedStakes = readReportedStakes(bytes, rareAt, flags);
  const incidentId = readIncidentId(bytes, rareAt, flags);
  const attestation = readAttestation(bytes, rareAt, flags);
  const claimedGradeIndex = readClaimedGradeIndex(bytes, rareAt, flags);
  return {
    outcomeId: formatUuid(readOutcomeIdBytes(bytes, at)),
    subject: text(0),
    reporter: text(1),
    idempotencyKey: text(2),
    tenant: text(3),
    action: text(4),
    requestId: text(5),
    source: text(6),
    outcome: (flags & FLAG_SUCCESS) === 0 ? 0 : 1,
    stakes: bytes.readDoubleLE(head + STAKES_AT),
    gradeIndex,
    signature,
    settledAtMs: bytes.readDoubleLE(head + SETTLED_MS_AT),
    recordedAtMs: readOutcomeRecordedAtMs(bytes, at),
    isAgentFault: (flags & FLAG_AGENT_FAULT) !== 0,
    body: Uint8Array.from(readOutcomeBody(bytes, at)),
    ...((flags & FLAG_TIME_GIVEN) === 0 ? {} : { isTimeGiven: true }),
    ...(voice === 0 ? {} : signature === "none" ? { voice } : { signerVoice: voice }),
    ...((flags & FLAG_FIRST_PARTY) === 0 ? {} : { isFirstParty: true }),
    ...(reportedStakes === undefined ? {} : { reportedStakes }),
    ...(incidentId === undefined ? {} : { incidentId }),
    ...(attestation === undefined ? {} : { attestation }),
    ...(claimedGradeIndex === undefined ? {} : { claimedGradeIndex }),
    ...(proof === undefined ? {} : { proof: decodeProof(proof) }),
  };
}
