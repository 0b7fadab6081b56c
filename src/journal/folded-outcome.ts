// Fields of an outcome that the fold goes by, read from its frame without decoding the rest.
import { computeIncidentTimeMs } from "./incidents.ts";
import { VOICE_FIRST_PARTY, VOICE_REPORTER, VOICE_STRANGER } from "../contract/voices.ts";
import { SIGNATURES, UNPROVED_GRADE_INDEX } from "../contract/vocabulary.ts";
import { FRAME_HEAD_BYTES } from "./format.ts";
import {
  FLAG_AGENT_FAULT,
  FLAG_FIRST_PARTY,
  FLAG_SUCCESS,
  IMPORTED_SIGNATURE_INDEX,
  OUTCOME_LENGTHS_AT,
  readIncidentNumber,
  readOutcomeRecordedAtMs,
  readOutcomeSignatureIndex,
  OUTCOME_HEAD_BYTES,
  SETTLED_MS_AT,
  STAKES_AT,
  VOICE_AT,
} from "./outcome.ts";

const UNSIGNED = SIGNATURES.indexOf("none");

/**
 * Fields of an outcome that the fold reads. `decodeFold` reuses the object: copy whatever must
 * outlive the next call.
 */
export interface FoldedOutcome {
  subject: string;
  reporter: string;
  outcome: 0 | 1;
  stakes: number;
  gradeIndex: number;
  /**
   * Index into SIGNATURES; that of `bureau` where a first-party key stands in for a signature, of
   * `none` where a tenant answers for what is signed.
   */
  signatureIndex: number;
  settledAtMs: number;
  /** Who answers for it: a VOICE_* or a stranger's number. */
  voice: number;
  /** Time whose hour a failure counts in: of arrival where it came more than a day late. */
  incidentAtMs: number;
  /** Number of the incident that it names (hashIncident), 0 for none. */
  incident: number;
}

export function createFoldedOutcome(): FoldedOutcome {
  return {
    subject: "",
    reporter: "",
    outcome: 0,
    stakes: 0,
    gradeIndex: 0,
    signatureIndex: 0,
    settledAtMs: 0,
    voice: VOICE_REPORTER,
    incidentAtMs: 0,
    incident: 0,
  };
}

/** Fills `target` from the outcome frame at `at`; false when the agent is not to be blamed. */
export function decodeFoldedOutcome(bytes: Buffer, at: number, target: FoldedOutcome): boolean {
  const head = at + FRAME_HEAD_BYTES;
  const flags = bytes[head + 1] as number;
  if ((flags & FLAG_AGENT_FAULT) === 0) return false;
  const subjectAt = head + OUTCOME_HEAD_BYTES;
  const reporterAt = subjectAt + bytes.readUInt16LE(head + OUTCOME_LENGTHS_AT);
  const reporterEnd = reporterAt + bytes.readUInt16LE(head + OUTCOME_LENGTHS_AT + 2);
  target.subject = bytes.toString("utf8", subjectAt, reporterAt);
  target.reporter = bytes.toString("utf8", reporterAt, reporterEnd);
  target.outcome = (flags & FLAG_SUCCESS) === 0 ? 0 : 1;
  target.stakes = bytes.readDoubleLE(head + STAKES_AT);
  const isFirstParty = (flags & FLAG_FIRST_PARTY) !== 0;
  target.voice = isFirstParty ? VOICE_FIRST_PARTY : bytes.readUInt32LE(head + VOICE_AT);
  const grade = bytes[head + 2] as number;
  target.gradeIndex = computeWeighedGrade(grade, target.voice);
  const signature = target.voice >= VOICE_STRANGER ? UNSIGNED : (bytes[head + 3] as number);
  target.signatureIndex =
    isFirstParty && signature === UNSIGNED ? IMPORTED_SIGNATURE_INDEX : signature;
  target.settledAtMs = bytes.readDoubleLE(head + SETTLED_MS_AT);
  // An import is the operator's own, of whatever age.
  target.incidentAtMs = isImportedOutcome(bytes, at)
    ? target.settledAtMs
    : computeIncidentTimeMs(target.settledAtMs, readOutcomeRecordedAtMs(bytes, at));
  target.incident = readIncidentNumber(bytes, at);
  return true;
}

/** Whether the outcome frame at `at` came in by an import. */
export function isImportedOutcome(bytes: Buffer, at: number): boolean {
  return readOutcomeSignatureIndex(bytes, at) === IMPORTED_SIGNATURE_INDEX;
}

/**
 * Index into GRADES of what an outcome weighs as, by the grade and the voice on record: older records
 * have a stranger's grade as claimed. The weakest grade has the highest index.
 */
export function computeWeighedGrade(gradeIndex: number, voice: number): number {
  return voice >= VOICE_STRANGER ? Math.max(gradeIndex, UNPROVED_GRADE_INDEX) : gradeIndex;
}
