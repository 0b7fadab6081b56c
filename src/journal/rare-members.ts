// Members that few outcomes have, between the proof and the body of the record: the stakes as reported,
// where the tenant's unit of stakes is not the bureau's, and the incident that a failure names. Flags of
// the record say which are there; a record without them has the bytes that it always had.
import type { OutcomeRecord } from "./records.ts";

/** The stakes as reported follow, f64; those in the head are in the bureau's unit of account. */
export const FLAG_REPORTED_STAKES = 16;
/** The name of an incident follows, u16 of its bytes and UTF-8. */
export const FLAG_INCIDENT = 32;

const STAKES_BYTES = 8;
const LENGTH_BYTES = 2;
/** At most 128 characters, three bytes each. */
const INCIDENT_BYTES_MAX = 512;
export const RARE_MEMBER_BYTES_MAX: number = STAKES_BYTES + LENGTH_BYTES + INCIDENT_BYTES_MAX;

type RareMembers = Pick<OutcomeRecord, "reportedStakes" | "incidentId">;

/** Flags of the rare members that a record has. */
export function computeRareFlags({ reportedStakes, incidentId }: RareMembers): number {
  return (
    (reportedStakes === undefined ? 0 : FLAG_REPORTED_STAKES) |
    (incidentId === undefined ? 0 : FLAG_INCIDENT)
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
  return end - at;
}

/** Bytes that they take at `at`, by the flags of the record. */
export function measureRareMembers(bytes: Buffer, at: number, flags: number): number {
  const stakes = (flags & FLAG_REPORTED_STAKES) === 0 ? 0 : STAKES_BYTES;
  if ((flags & FLAG_INCIDENT) === 0) return stakes;
  return stakes + LENGTH_BYTES + bytes.readUInt16LE(at + stakes);
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
