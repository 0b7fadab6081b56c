// Members that few outcomes have, between the proof and the body of the record: the stakes as reported,
// where the tenant's unit of stakes is not the bureau's, the incident that a failure names, the
// attestation of the transaction, and the grade as claimed, where the outcome weighs as another. Flags
// of the record say which are there; a record without them has the bytes that it always had.
import { ATTESTERS } from "../contract/vocabulary.ts";
import type { OutcomeRecord, RecordedAttestation } from "./records.ts";

/** The stakes as reported follow, f64; those in the head are in the bureau's unit of account. */
export const FLAG_REPORTED_STAKES = 16;
/** The name of an incident follows, u16 of its bytes and UTF-8. */
export const FLAG_INCIDENT = 32;
/** The grade as claimed follows, u8; that of the head is what the outcome weighs as. */
export const FLAG_CLAIMED_GRADE = 64;
/** An attestation follows: the attester, u8, then the transaction's id as u16 of its bytes and UTF-8. */
export const FLAG_ATTESTATION = 128;

const STAKES_BYTES = 8;
const LENGTH_BYTES = 2;
const GRADE_BYTES = 1;
const ATTESTER_BYTES = 1;
/** At most 128 characters, three bytes each. */
const NAME_BYTES_MAX = 512;
export const RARE_MEMBER_BYTES_MAX: number =
  STAKES_BYTES + ATTESTER_BYTES + 2 * (LENGTH_BYTES + NAME_BYTES_MAX) + GRADE_BYTES;

type RareMembers = Pick<
  OutcomeRecord,
  "reportedStakes" | "incidentId" | "attestation" | "claimedGradeIndex"
>;

/** Flags of the rare members that a record has. */
export function computeRareFlags({
  reportedStakes,
  incidentId,
  attestation,
  claimedGradeIndex,
}: RareMembers): number {
  return (
    (reportedStakes === undefined ? 0 : FLAG_REPORTED_STAKES) |
    (incidentId === undefined ? 0 : FLAG_INCIDENT) |
    (attestation === undefined ? 0 : FLAG_ATTESTATION) |
    (claimedGradeIndex === undefined ? 0 : FLAG_CLAIMED_GRADE)
  );
}

/** Writes them at `at`; returns how many bytes they take. */
export function writeRareMembers(record: RareMembers, bytes: Buffer, at: number): number {
  let end = at;
  if (record.reportedStakes !== undefined) end = bytes.writeDoubleLE(record.reportedStakes, end);
  if (record.incidentId !== undefined) end = writeName(record.incidentId, bytes, end);
  if (record.attestation !== undefined) {
    const { attester, transactionId } = record.attestation;
    end = writeName(transactionId, bytes, bytes.writeUInt8(ATTESTERS.indexOf(attester), end));
  }
  if (record.claimedGradeIndex !== undefined) end = bytes.writeUInt8(record.claimedGradeIndex, end);
  return end - at;
}

/** Bytes that they take at `at`, by the flags of the record. */
export function measureRareMembers(bytes: Buffer, at: number, flags: number): number {
  const grade = (flags & FLAG_CLAIMED_GRADE) === 0 ? 0 : GRADE_BYTES;
  const from = computeAttestationOffset(bytes, at, flags);
  if ((flags & FLAG_ATTESTATION) === 0) return from - at + grade;
  return from - at + ATTESTER_BYTES + measureName(bytes, from + ATTESTER_BYTES) + grade;
}

/** The stakes as reported; undefined where they are those of the head. */
export function readReportedStakes(bytes: Buffer, at: number, flags: number): number | undefined {
  return (flags & FLAG_REPORTED_STAKES) === 0 ? undefined : bytes.readDoubleLE(at);
}

/** The name of the incident; undefined where the outcome names none. */
export function readIncidentId(bytes: Buffer, at: number, flags: number): string | undefined {
  if ((flags & FLAG_INCIDENT) === 0) return undefined;
  return readName(bytes, computeIncidentOffset(at, flags));
}

/** The attestation; undefined where only the reporter signed. */
export function readAttestation(
  bytes: Buffer,
  at: number,
  flags: number,
): RecordedAttestation | undefined {
  if ((flags & FLAG_ATTESTATION) === 0) return undefined;
  const from = computeAttestationOffset(bytes, at, flags);
  const attester = ATTESTERS[bytes[from] as number];
  if (attester === undefined) throw new Error(`attester ${bytes[from]} is not known`);
  return { attester, transactionId: readName(bytes, from + ATTESTER_BYTES) };
}

/** Index into GRADES of the grade as claimed; undefined where it is that of the head. */
export function readClaimedGradeIndex(
  bytes: Buffer,
  at: number,
  flags: number,
): number | undefined {
  if ((flags & FLAG_CLAIMED_GRADE) === 0) return undefined;
  return bytes[at + measureRareMembers(bytes, at, flags) - GRADE_BYTES];
}

function computeIncidentOffset(at: number, flags: number): number {
  return at + ((flags & FLAG_REPORTED_STAKES) === 0 ? 0 : STAKES_BYTES);
}

function computeAttestationOffset(bytes: Buffer, at: number, flags: number): number {
  const from = computeIncidentOffset(at, flags);
  return (flags & FLAG_INCIDENT) === 0 ? from : from + measureName(bytes, from);
}

/** Writes a name behind its length at `at`; returns the offset behind it. */
function writeName(name: string, bytes: Buffer, at: number): number {
  const length = bytes.write(name, at + LENGTH_BYTES, "utf8");
  return bytes.writeUInt16LE(length, at) + length;
}

/** Bytes of the name at `at` and its length. */
function measureName(bytes: Buffer, at: number): number {
  return LENGTH_BYTES + bytes.readUInt16LE(at);
}

function readName(bytes: Buffer, at: number): string {
  return bytes.toString("utf8", at + LENGTH_BYTES, at + measureName(bytes, at));
}
