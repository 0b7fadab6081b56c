// Journal as columns: every outcome that counts, in order of position, with the batches of
// credibility in between. Outcomes signed with compromised keys are left out, as in the fold.
import { RATINGS_SOURCE } from "../../contract/vocabulary.ts";
import { decodeAssessment } from "../../journal/assessments.ts";
import type { FoldAssessment, Standings } from "../../engine/reading.ts";
import { Exclusions } from "../../journal/exclusions.ts";
import { nodeFiles } from "../../journal/files.ts";
import {
  FRAME_BYTES,
  FRAME_KINDS,
  frameKind,
  frameLength,
  frameTimeUs,
} from "../../journal/format.ts";
import { decodeFold, emptyFold, isImported } from "../../journal/folded-outcome.ts";
import { namesDecision, outcomeRecordedAtMs } from "../../journal/outcome.ts";
import { openJournalReader } from "../../journal/reader.ts";
import { isRegistryKind, RevokedAgents } from "../../journal/revoked-agents.ts";
import type { KeyRevocationMark } from "../../journal/revoked-agents.ts";
import { hasSourcePrefix } from "../../journal/source.ts";
import { StandingsOrder } from "../../journal/standings.ts";

const CHUNK = 65_536;
const RATINGS = Buffer.from(RATINGS_SOURCE);

/** Outcomes of a journal, column by column, in order of position. */
export interface History {
  agents: string[];
  subjects: number[];
  reporters: number[];
  failures: number[];
  stakes: number[];
  /** 1 where the stakes were known before the outcome. */
  stakesKnown: number[];
  /** 1 where the outcome names the decision it came of; absent: none does. */
  decided?: number[];
  grades: number[];
  signatures: number[];
  /** Who answers for each: see `FoldedOutcome`. */
  voices: number[];
  settledMs: number[];
  recordedMs: number[];
  /** Batches of credibility, and the outcome before which each was recorded. */
  standings: { before: number; standings: Standings }[];
  /** The same for agents whose newest signing key was revoked, or followed by another. */
  marks: { before: number; mark: KeyRevocationMark }[];
  /** Failed texts in the same way. */
  assessments: { before: number; assessment: FoldAssessment }[];
}

/** Compromised keys: outcomes they signed are not evidence (as in the fold). */
function exclusionsOf(directory: string, uptoLsn: number): Exclusions {
  const exclusions = new Exclusions();
  const reader = openJournalReader(nodeFiles, directory);
  try {
    reader.read(0, uptoLsn, Number.POSITIVE_INFINITY, (bytes, offset) => {
      if (frameKind(bytes, offset) !== FRAME_KINDS.key) return;
      const start = offset + FRAME_BYTES;
      exclusions.apply(bytes.subarray(start, start + frameLength(bytes, offset)));
    });
  } finally {
    reader.close();
  }
  return exclusions;
}

/** Recording time of the oldest outcome, epoch ms; undefined when there is none. */
export function firstRecordedMs(directory: string, uptoLsn: number): number | undefined {
  let found: number | undefined;
  const reader = openJournalReader(nodeFiles, directory);
  try {
    for (let at = 0; at < uptoLsn && found === undefined;) {
      at = reader.read(at, uptoLsn, 1, (bytes, offset) => {
        if (frameKind(bytes, offset) !== FRAME_KINDS.outcome) return;
        found = outcomeRecordedAtMs(bytes, offset);
      });
    }
  } finally {
    reader.close();
  }
  return found;
}

function emptyHistory(): Required<History> {
  return {
    agents: [],
    subjects: [],
    reporters: [],
    failures: [],
    stakes: [],
    stakesKnown: [],
    decided: [],
    grades: [],
    signatures: [],
    voices: [],
    settledMs: [],
    recordedMs: [],
    standings: [],
    marks: [],
    assessments: [],
  };
}

/** Of the registry's event in the frame at `at`, before that outcome. */
function marksOf(revoked: RevokedAgents, bytes: Buffer, at: number, before: number) {
  const start = at + FRAME_BYTES;
  const payload = bytes.subarray(start, start + frameLength(bytes, at));
  return revoked.apply(payload).map((mark) => ({ before, mark }));
}

/**
 * Reads the outcomes that count, up to a durable position. Calls `onShare` with the progress, 0 to
 * 1.
 * @param asOfMs what came in later is left out, epoch ms; an import came in when it settled.
 */
export function readHistory(
  directory: string,
  uptoLsn: number,
  onShare: (share: number) => void,
  asOfMs = Number.POSITIVE_INFINITY,
): History {
  const history = emptyHistory();
  const numbers = new Map<string, number>();
  const numberOf = (id: string) => {
    const known = numbers.get(id);
    if (known !== undefined) return known;
    numbers.set(id, history.agents.length);
    return history.agents.push(id) - 1;
  };
  const folded = emptyFold();
  const exclusions = exclusionsOf(directory, uptoLsn);
  const revoked = new RevokedAgents();
  const batches = new StandingsOrder();
  const reader = openJournalReader(nodeFiles, directory);
  try {
    for (let at = 0; at < uptoLsn;) {
      at = reader.read(at, uptoLsn, CHUNK, (bytes, offset) => {
        const isEarlier = frameTimeUs(bytes, offset) / 1000 <= asOfMs;
        const kind = frameKind(bytes, offset);
        const before = history.subjects.length;
        if (kind === FRAME_KINDS.standings && isEarlier) {
          const standings = batches.next(bytes, offset);
          if (standings !== undefined) history.standings.push({ before, standings });
        } else if (kind === FRAME_KINDS.assessment && isEarlier) {
          history.assessments.push({ before, assessment: decodeAssessment(bytes, offset) });
        } else if (isRegistryKind(kind)) {
          history.marks.push(...marksOf(revoked, bytes, offset, before));
        }
        if (kind !== FRAME_KINDS.outcome) return;
        if (exclusions.excludes(bytes, offset)) return;
        if (!decodeFold(bytes, offset, folded)) return;
        // An import is recorded long after it was known: it counts from its settling time.
        const knownMs = isImported(bytes, offset)
          ? folded.settledAtMs
          : outcomeRecordedAtMs(bytes, offset);
        const recordedMs = Math.max(folded.settledAtMs, knownMs);
        if (recordedMs > asOfMs) return;
        history.subjects.push(numberOf(folded.subject));
        history.reporters.push(numberOf(folded.reporter));
        history.failures.push(1 - folded.outcome);
        history.stakes.push(folded.stakes);
        history.stakesKnown.push(hasSourcePrefix(bytes, offset, RATINGS) ? 0 : 1);
        history.decided.push(namesDecision(bytes, offset) ? 1 : 0);
        history.grades.push(folded.gradeIndex);
        history.signatures.push(folded.signatureIndex);
        history.voices.push(folded.voice);
        history.settledMs.push(folded.settledAtMs);
        history.recordedMs.push(recordedMs);
      });
      onShare(at / uptoLsn);
    }
  } finally {
    reader.close();
  }
  return history;
}
