// Members that few outcomes have, between the proof and the body of the record: the stakes as reported,
// where the tenant's unit of stakes is not the bureau's, the incident that a failure names, and the grade
// as claimed, where the outcome weighs as a lower one. Flags of the record say which are there; a record without them has the bytes that it always had.
import type { OutcomeRecord } from "./records.ts";

/** The stakes as reported follow, f64; those in the head are in the bureau's unit of account. */
export const FLAG_REPORTED_STAKES = 16;
/** The name of an incident follows, u16 of its bytes and UTF-8. */
export const FLAG_INCIDENT = 32;
/** The grade as claimed follows, u8; that of the head is what the outcome weighs as. */
export const FLAG_CLAIMED_GRADE = 64;

const STAKES_BYTES = 8;
const LENGTH_BYTES = 2;
const GRADE_BYTES = 1;
/** At most 128 characters, three bytes each. */
const INCIDENT_BYTES_MAX = 512;
export const RARE_MEMBER_BYTES_MAX: number =
  STAKES_BYTES + LENGTH_BYTES + INCIDENT_BYTES_MAX + GRADE_BYTES;

type RareMembers = Pick<OutcomeRecord, "reportedStakes" | "incidentId" | "claimedGradeIndex">;

/** Flags of the rare members that a record has. */
export function computeRareFlags({
  reportedStakes,
  incidentId,
  claimedGradeIndex,
}: RareMembers): number {
  return (
    (reportedStakes === undefined ? 0 : FLAG_REPORTED_STAKES) |
    (incidentId === undefined ? 0 : FLAG_INCIDENT) |
    (claimedGradeIndex === undefined ? 0 : FLAG_CLAIMED_GRADE)
  );
}

/** Writes them at `at`; returns how many bytes they take. */
export function writeRareMembers(record: RareMembers, bytes: Buffer, at: number): number {
  let end = at;
  if (record.reportedStakes !== undefined) end = bytes.writeDoubleLE(record.reportedStakes, end);
  if (record.incidentId !== undefined) {
    const length = bytes.write(record.incidentId, end + LENGTH_BYTES, "utf8");
    bytes.writeUInt16LE(length, end);
    end += LENGTH_BYTES + length;
  }
  if (record.claimedGradeIndex !== undefined) end = bytes.writeUInt8(record.claimedGradeIndex, end);
  return end - at;
}

/** Bytes that they take at `at`, by the flags of the record. */
export function measureRareMembers(bytes: Buffer, at: number, flags: number): number {
  const grade = (flags & FLAG_CLAIMED_GRADE) === 0 ? 0 : GRADE_BYTES;
  const stakes = (flags & FLAG_REPORTED_STAKES) === 0 ? 0 : STAKES_BYTES;
  if ((flags & FLAG_INCIDENT) === 0) return stakes + grade;
  return stakes + LENGTH_BYTES + bytes.readUInt16LE(at + stakes) + grade;
}

/** The stakes as reported; undefined where they are those of the head. */
export function readReportedStakes(bytes: Buffer, at: number, flags: number): number | undefined {
  return (flags & FLAG_REPORTED_STAKES) === 0 ? undefined : bytes.readDoubleLE(at);
}

/** The name of the incident; undefined where the outcome names none. */
export function readIncidentId(bytes: Buffer, at: number, flags: number): string | undefined {
  if ((flags & FLAG_INCIDENT) === 0) return undefined;
  const from = at + ((flags & FLAG_REPORTED_STAKES) === 0 ? 0 : STAKES_BYTES);
  const start = from + LENGTH_BYTES;
  return bytes.toString("utf8", start, start + bytes.readUInt16LE(from));
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
