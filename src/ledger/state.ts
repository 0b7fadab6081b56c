// State of the journal's records beside the agent table: replay identities, reporters' keys,
// tenants' policies, reviews, excluded outcomes, places of the vault's sources. Fed by replay at start and by every commit
// after, in order of position.
import type { FoldAssessment, Standings } from "../engine/reading.ts";
import { stillRevoked } from "../contract/principal.ts";
import { ReviewBook, type StoredReview } from "../contract/reviews/book.ts";
import type { ReviewEvent } from "../contract/reviews/events.ts";
import { decodeAssessment } from "../journal/assessments.ts";
import { Exclusions } from "../journal/exclusions.ts";
import { REPLAY_WINDOW_MS, ReplayTable } from "./replay-table.ts";
import {
  FRAME_BYTES,
  FRAME_KINDS,
  frameKind,
  frameLength,
  frameTimeUs,
} from "../journal/format.ts";
import type { FramePlace } from "../journal/places.ts";
import { decodeFold, emptyFold, type FoldedOutcome } from "../journal/folded-outcome.ts";
import { outcomeRecordedAtMs } from "../journal/outcome.ts";
import { isBatchEvidence } from "../journal/proof.ts";
import { StandingsOrder } from "../journal/standings.ts";
import { isRegistryKind, RevokedAgents } from "../journal/revoked-agents.ts";
import { decodeMark } from "./ordered/message.ts";
import { StreamProgress } from "./ordered/progress.ts";
import { listGuardedIdentities, type Pending, recordIdBytes } from "./replay-guard.ts";
import type { SnapshotStart } from "./snapshot/files.ts";

/** The agent table as the fold writes it. */
export interface FoldTarget {
  /** Called in order of position with a reused object, at replay and after each sync. */
  readonly fold: (outcome: FoldedOutcome) => void;
  /** Called like `fold`, with what a provenance finding said of an agent's text. */
  readonly foldAssessment?: (assessment: FoldAssessment) => void;
  /** Called like `fold`, with the result of a credibility batch. Left out: ignored. */
  readonly applyStandings?: (standings: Standings) => void;
  /** Called when an agent's newest key was revoked, or followed by another. */
  readonly markKeyRevoked?: (agent: string, isRevoked: boolean) => void;
}

export class LedgerState {
  readonly guard: ReplayTable;
  /** Of the reporters' registry: keys and namespaces. */
  readonly keyEvents: Buffer[] = [];
  readonly policies: Buffer[] = [];
  /** The newest stored form of each API key that came through the ordered log, by key. */
  readonly access = new Map<string, Buffer>();
  /** Of standings. */
  readonly batches = new StandingsOrder();
  /** Payloads of the changes of weights that came through the ordered log, in order. */
  readonly weights: Buffer[] = [];
  readonly sources: FramePlace[] = [];
  readonly exclusions = new Exclusions();
  /** Along the ordered log; at its beginning where none feeds this journal. */
  readonly progress = new StreamProgress();
  /** Outcomes in all, and the number of them that this start has replayed. */
  outcomes = 0;
  replayedOutcomes = 0;
  /** The fold is no longer valid: see `Refold`. */
  isRefoldDue = false;
  readonly #target: FoldTarget;
  readonly #rememberFromMs: number;
  readonly #standings = new RevokedAgents();
  readonly #folded = emptyFold();
  #reviews = new ReviewBook();

  /** `nowMs` decides which replayed identities are still worth remembering. */
  constructor(target: FoldTarget, nowMs: number, replayEntriesMax?: number) {
    this.#target = target;
    this.guard = new ReplayTable(replayEntriesMax);
    this.#rememberFromMs = nowMs - REPLAY_WINDOW_MS;
  }

  /** Reviews as they stand, one JSON document each, in order of opening; made when walked. */
  readonly reviews: Iterable<Buffer> = {
    [Symbol.iterator]: () => this.#encodedReviews(),
  };

  /** Takes over the state of the snapshot's table and guard. */
  resume(start: SnapshotStart): void {
    this.outcomes = start.outcomes;
    this.guard.restore(start.guard);
    const { access, weights, standings } = this.progress.restore(start.stream);
    if (standings !== undefined) this.batches.newest = standings;
    for (const payload of access) this.#takeAccess(payload);
    this.weights.push(...weights);
    for (const place of start.sources) this.sources.push(place);
    for (const payload of start.policies) this.policies.push(payload);
    const stored = [...start.reviews].map((text) => JSON.parse(text.toString()) as StoredReview);
    this.#reviews = new ReviewBook(stored);
    for (const payload of start.keyEvents) {
      this.keyEvents.push(payload);
      this.exclusions.apply(payload);
      this.#standings.apply(payload);
    }
  }

  /** A record of the journal, at start; `at` is its offset in the segment. */
  replay(bytes: Buffer, at: number, lsn: number, segment: number): void {
    if (frameKind(bytes, at) === FRAME_KINDS.outcome) this.replayedOutcomes++;
    this.#take(bytes, at, { segment, offset: at });
    const id = recordIdBytes(bytes, at);
    if (id === undefined) return;
    const recordedAtMs = recordedMs(bytes, at);
    if (recordedAtMs < this.#rememberFromMs) return;
    for (const identity of listGuardedIdentities(bytes, at))
      this.guard.add(identity, lsn, recordedAtMs, id);
  }

  /** A record that has just become durable at `lsn`; completes its result. */
  record(record: Pending, lsn: number, place: FramePlace): void {
    const { bytes } = record.run;
    const { at, result } = record;
    result.lsn = lsn;
    result.recordedAtMs = recordedMs(bytes, at);
    const id = recordIdBytes(bytes, at);
    if (id !== undefined) {
      for (const identity of record.identities) {
        this.guard.add(identity, lsn, result.recordedAtMs, id);
      }
    }
    this.#take(bytes, at, place);
  }

  /** The mark of a message of the ordered log, which has just become durable. */
  mark(bytes: Buffer, place: FramePlace): void {
    this.#take(bytes, 0, place);
  }

  #take(bytes: Buffer, at: number, place: FramePlace): void {
    const kind = frameKind(bytes, at);
    if (kind === FRAME_KINDS.outcome) this.#count(bytes, at);
    else if (kind === FRAME_KINDS.assessment) {
      this.#target.foldAssessment?.(decodeAssessment(bytes, at));
    } else if (isRegistryKind(kind)) this.#takeKeyEvent(bytes, at);
    else if (kind === FRAME_KINDS.stream) this.progress.apply(decodeMark(copyPayload(bytes, at)));
    else if (kind === FRAME_KINDS.config && this.progress.mark !== undefined) {
      this.weights.push(copyPayload(bytes, at));
    } else if (kind === FRAME_KINDS.access) this.#takeAccess(copyPayload(bytes, at));
    else if (kind === FRAME_KINDS.policy) this.policies.push(copyPayload(bytes, at));
    else if (kind === FRAME_KINDS.reviewEvent) {
      this.#reviews.apply(JSON.parse(copyPayload(bytes, at).toString()) as ReviewEvent);
    } else if (kind === FRAME_KINDS.standings) {
      const standings = this.batches.next(bytes, at);
      if (standings !== undefined) this.#target.applyStandings?.(standings);
    } else if (kind === FRAME_KINDS.evidence && !isBatchEvidence(bytes, at)) {
      this.sources.push(place);
    }
  }

  #takeAccess(payload: Buffer): void {
    const key = parseAccessEvent(payload);
    const earlier = this.access.get(key.keyId);
    const lasting = stillRevoked(earlier && parseAccessEvent(earlier), key);
    this.access.set(key.keyId, lasting === key ? payload : Buffer.from(JSON.stringify(lasting)));
  }

  *#encodedReviews(): Generator<Buffer> {
    for (const review of this.#reviews.all()) yield Buffer.from(JSON.stringify(review));
  }

  #count(bytes: Buffer, at: number): void {
    this.outcomes++;
    if (this.exclusions.excludes(bytes, at)) return;
    if (decodeFold(bytes, at, this.#folded)) this.#target.fold(this.#folded);
  }

  #takeKeyEvent(bytes: Buffer, at: number): void {
    const payload = copyPayload(bytes, at);
    this.keyEvents.push(payload);
    if (this.exclusions.apply(payload)) this.isRefoldDue = true;
    for (const { agent, isRevoked } of this.#standings.apply(payload)) {
      this.#target.markKeyRevoked?.(agent, isRevoked);
    }
  }
}

function parseAccessEvent(payload: Buffer) {
  return JSON.parse(payload.toString()) as { keyId: string; revokedAtMs: number | null };
}

/** A copy of the payload of the frame at `at`. */
export function copyPayload(bytes: Buffer, at: number): Buffer {
  const start = at + FRAME_BYTES;
  return Buffer.from(bytes.subarray(start, start + frameLength(bytes, at)));
}

/** Outcomes carry the time that was measured for them; other records that of their frame. */
function recordedMs(bytes: Buffer, at: number): number {
  if (frameKind(bytes, at) === FRAME_KINDS.outcome) return outcomeRecordedAtMs(bytes, at);
  return frameTimeUs(bytes, at) / 1000;
}
