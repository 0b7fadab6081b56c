// Journal as columns: every outcome that counts, in order of position, with the batches of
// credibility in between. Outcomes signed with compromised keys are left out, as in the fold.
import { RATINGS_SOURCE } from "../../contract/vocabulary.ts";
import { decodeAssessment } from "../../journal/assessments.ts";
import type { FoldAssessment, StandingsPart } from "../../engine/reading.ts";
import { OutcomeExclusions } from "../../journal/exclusions.ts";
import { diskFileLayer } from "../../platform/files.ts";
import {
  FRAME_HEAD_BYTES,
  FRAME_KINDS,
  readFrameKind,
  readPayloadLength,
  readFrameTimeUs,
} from "../../journal/format.ts";
import {
  decodeFoldedOutcome,
  createFoldedOutcome,
  isImportedOutcome,
} from "../../journal/folded-outcome.ts";
import type { FoldedOutcome } from "../../journal/folded-outcome.ts";
import { hasRequestId, readOutcomeRecordedAtMs, hasSourcePrefix } from "../../journal/outcome.ts";
import { JournalReader } from "../../journal/reader.ts";
import { isRegistryKind, RevokedAgents } from "../../journal/revoked-agents.ts";
import type { KeyRevocationMark } from "../../journal/revoked-agents.ts";
import { StandingsOrder } from "../../journal/standings.ts";

type NumberArray = Uint8Array | Uint32Array | Float32Array | Float64Array;

const ROWS_MIN = 4096;

export class GrowingColumn<A extends NumberArray> {
  #values: A;
  readonly #make: (length: number) => A;
  #length = 0;

  constructor(make: (length: number) => A) {
    this.#make = make;
    this.#values = make(ROWS_MIN);
  }

  get length(): number {
    return this.#length;
  }

  push(value: number): void {
    if (this.#length === this.#values.length) {
      // By half: twice as much would leave up to half of it empty.
      const larger = this.#make(this.#length + (this.#length >> 1));
      larger.set(this.#values);
      this.#values = larger;
    }
    this.#values[this.#length++] = value;
  }

  /** The values pushed so far, without a copy; later pushes append behind them. */
  values(): A {
    return this.#values.subarray(0, this.#length) as A;
  }
}

export const createByteColumn = () => new GrowingColumn((length) => new Uint8Array(length));
export const createWordColumn = () => new GrowingColumn((length) => new Uint32Array(length));
export const createFloatColumn = () => new GrowingColumn((length) => new Float32Array(length));
export const createDoubleColumn = () => new GrowingColumn((length) => new Float64Array(length));

const CHUNK = 65_536;
const RATINGS = Buffer.from(RATINGS_SOURCE);

type NumericColumn = ArrayLike<number>;

/** Outcomes of a journal, column by column, in order of position. */
export interface OutcomeHistory {
  agents: string[];
  subjects: NumericColumn;
  reporters: NumericColumn;
  failures: NumericColumn;
  stakes: NumericColumn;
  /** 1 where the stakes were known before the outcome. */
  stakesKnown: NumericColumn;
  /** 1 where the outcome names the decision it came of; absent: none does. */
  decided?: NumericColumn;
  grades: NumericColumn;
  signatures: NumericColumn;
  /** 1 where an import brought it; absent: none did. */
  imported?: NumericColumn;
  /** Who answers for each: see `FoldedOutcome`. */
  voices: NumericColumn;
  /** Number of the incident that each names, 0 for none; absent: none does. */
  incidents?: NumericColumn;
  settledMs: NumericColumn;
  recordedMs: NumericColumn;
  /** Batches of credibility, the outcome before which each was recorded, and when, epoch ms. */
  standings: { before: number; atMs: number; standings: StandingsPart }[];
  /** The same for agents whose newest signing key was revoked, or followed by another. */
  marks: { before: number; atMs: number; mark: KeyRevocationMark }[];
  /** Failed texts in the same way. */
  assessments: { before: number; assessment: FoldAssessment }[];
}

/** Compromised keys: outcomes they signed are not evidence (as in the fold). */
function findExclusions(directory: string, uptoLsn: number): OutcomeExclusions {
  const exclusions = new OutcomeExclusions();
  const reader = new JournalReader(diskFileLayer, directory);
  try {
    reader.readRecords(0, uptoLsn, Number.POSITIVE_INFINITY, (bytes, offset) => {
      if (!isRegistryKind(readFrameKind(bytes, offset))) return;
      const start = offset + FRAME_HEAD_BYTES;
      exclusions.applyRegistryEvent(
        bytes.subarray(start, start + readPayloadLength(bytes, offset)),
      );
    });
  } finally {
    reader.close();
  }
  return exclusions;
}

/** Recording time of the oldest outcome, epoch ms; undefined when there is none. */
export function readFirstRecordedMs(directory: string, uptoLsn: number): number | undefined {
  let found: number | undefined;
  const reader = new JournalReader(diskFileLayer, directory);
  try {
    for (let at = 0; at < uptoLsn && found === undefined;) {
      at = reader.readRecords(at, uptoLsn, 1, (bytes, offset) => {
        if (readFrameKind(bytes, offset) !== FRAME_KINDS.outcome) return;
        found = readOutcomeRecordedAtMs(bytes, offset);
      });
    }
  } finally {
    reader.close();
  }
  return found;
}

/** A history while it is read: some 40 bytes an outcome. */
class HistoryColumns {
  readonly agents: string[] = [];
  readonly standings: OutcomeHistory["standings"] = [];
  readonly marks: OutcomeHistory["marks"] = [];
  readonly assessments: OutcomeHistory["assessments"] = [];
  readonly #numbers = new Map<string, number>();
  readonly #subjects = createWordColumn();
  readonly #reporters = createWordColumn();
  readonly #failures = createByteColumn();
  readonly #stakes = createDoubleColumn();
  readonly #stakesKnown = createByteColumn();
  readonly #decided = createByteColumn();
  readonly #grades = createByteColumn();
  readonly #signatures = createByteColumn();
  readonly #imported = createByteColumn();
  readonly #voices = createWordColumn();
  readonly #incidents = createWordColumn();
  readonly #settledMs = createDoubleColumn();
  readonly #recordedMs = createDoubleColumn();

  get length(): number {
    return this.#subjects.length;
  }

  /** Of the frame at `at`. */
  push(folded: FoldedOutcome, frame: Buffer, at: number, recordedMs: number): void {
    this.#subjects.push(this.#assignNumber(folded.subject));
    this.#reporters.push(this.#assignNumber(folded.reporter));
    this.#failures.push(1 - folded.outcome);
    this.#stakes.push(folded.stakes);
    this.#stakesKnown.push(hasSourcePrefix(frame, at, RATINGS) ? 0 : 1);
    this.#decided.push(hasRequestId(frame, at) ? 1 : 0);
    this.#grades.push(folded.gradeIndex);
    this.#signatures.push(folded.signatureIndex);
    this.#imported.push(isImportedOutcome(frame, at) ? 1 : 0);
    this.#voices.push(folded.voice);
    this.#incidents.push(folded.incident);
    this.#settledMs.push(folded.settledAtMs);
    this.#recordedMs.push(recordedMs);
  }

  #assignNumber(id: string): number {
    const known = this.#numbers.get(id);
    if (known !== undefined) return known;
    this.#numbers.set(id, this.agents.length);
    return this.agents.push(id) - 1;
  }

  history(): OutcomeHistory {
    const { agents, standings, marks, assessments } = this;
    return {
      agents,
      subjects: this.#subjects.values(),
      reporters: this.#reporters.values(),
      failures: this.#failures.values(),
      stakes: this.#stakes.values(),
      stakesKnown: this.#stakesKnown.values(),
      decided: this.#decided.values(),
      grades: this.#grades.values(),
      signatures: this.#signatures.values(),
      imported: this.#imported.values(),
      voices: this.#voices.values(),
      incidents: this.#incidents.values(),
      settledMs: this.#settledMs.values(),
      recordedMs: this.#recordedMs.values(),
      standings,
      marks,
      assessments,
    };
  }
}

/** Of the registry's event in the frame at `at`, before that outcome. */
function markRevokedAgent(revoked: RevokedAgents, bytes: Buffer, at: number, before: number) {
  const start = at + FRAME_HEAD_BYTES;
  const payload = bytes.subarray(start, start + readPayloadLength(bytes, at));
  const atMs = readFrameTimeUs(bytes, at) / 1000;
  return revoked.applyRegistryEvent(payload).map((mark) => ({ before, atMs, mark }));
}

/**
 * Reads the outcomes that count, up to a durable position. Calls `onShare` with the progress, 0 to
 * 1.
 * @param asOfMs what came in later is left out, epoch ms; an import came in when it settled.
 */
export function readOutcomeHistory(
  directory: string,
  uptoLsn: number,
  onShare: (share: number) => void,
  asOfMs = Number.POSITIVE_INFINITY,
): OutcomeHistory {
  const columns = new HistoryColumns();
  const folded = createFoldedOutcome();
  const exclusions = findExclusions(directory, uptoLsn);
  const revoked = new RevokedAgents();
  const batches = new StandingsOrder();
  const reader = new JournalReader(diskFileLayer, directory);
  try {
    for (let at = 0; at < uptoLsn;) {
      at = reader.readRecords(at, uptoLsn, CHUNK, (bytes, offset) => {
        const atMs = readFrameTimeUs(bytes, offset) / 1000;
        const isEarlier = atMs <= asOfMs;
        const kind = readFrameKind(bytes, offset);
        const before = columns.length;
        if (kind === FRAME_KINDS.standings && isEarlier) {
          const standings = batches.decodeIfInOrder(bytes, offset);
          if (standings !== undefined) columns.standings.push({ before, atMs, standings });
        } else if (kind === FRAME_KINDS.assessment && isEarlier) {
          columns.assessments.push({ before, assessment: decodeAssessment(bytes, offset) });
        } else if (isRegistryKind(kind)) {
          columns.marks.push(...markRevokedAgent(revoked, bytes, offset, before));
        }
        if (kind !== FRAME_KINDS.outcome) return;
        if (exclusions.isExcluded(bytes, offset)) return;
        if (!decodeFoldedOutcome(bytes, offset, folded)) return;
        // An import is recorded long after it was known: it counts from its settling time.
        const knownMs = isImportedOutcome(bytes, offset)
          ? folded.settledAtMs
          : readOutcomeRecordedAtMs(bytes, offset);
        const recordedMs = Math.max(folded.settledAtMs, knownMs);
        if (recordedMs > asOfMs) return;
        columns.push(folded, bytes, offset, recordedMs);
      });
      onShare(at / uptoLsn);
    }
  } finally {
    reader.close();
  }
  return columns.history();
}
