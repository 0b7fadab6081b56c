// State of the journal's records beside the agent table: replay identities, reporters' keys,
// tenants' policies, reviews, conditions, excluded outcomes, places of the vault's sources. Fed by replay at start and by every commit
// after, in order of position.
import { keepRevocation } from "../contract/principal.ts";
import { ConditionBook, type StoredCondition } from "../contract/conditions/book.ts";
import { decodeConditionEvent } from "../contract/conditions/events.ts";
import { ReviewBook, type StoredReview } from "../contract/reviews/book.ts";
import type { ReviewEvent } from "../contract/reviews/events.ts";
import { OutcomeExclusions } from "../journal/exclusions.ts";
import { REPLAY_WINDOW_MS, ReplayTable } from "./replay-table.ts";
import {
  FRAME_HEAD_BYTES,
  FRAME_KINDS,
  readFrameKind,
  readPayloadLength,
  readFrameTimeUs,
} from "../journal/format.ts";
import type { FramePlace } from "../journal/places.ts";
import type { AnnouncedRecord } from "./announced-record.ts";
import { readOutcomeRecordedAtMs } from "../journal/outcome.ts";
import { isBatchEvidence } from "../journal/proof.ts";
import { isRegistryKind } from "../journal/revoked-agents.ts";
import type { StandingsOrder } from "../journal/standings.ts";
import { decodeStreamMark } from "./ordered/message.ts";
import { StreamProgress } from "./ordered/progress.ts";
import { listGuardedIdentities, type PendingRecord, readRecordIdBytes } from "./replay-guard.ts";
import type { LoadedSnapshot } from "./snapshot/files.ts";
import { type FoldTarget, TableFold } from "./table-fold.ts";

const NO_RECORDS: AnnouncedRecord[] = [];

export class LedgerState {
  readonly guard: ReplayTable;
  /** Of the reporters' registry: keys and namespaces. */
  readonly keyEvents: Buffer[] = [];
  readonly policies: Buffer[] = [];
  /** The newest stored form of each API key that came through the ordered log, by key. */
  readonly access = new Map<string, Buffer>();
  /** Payloads of the changes of weights that came through the ordered log, in order. */
  readonly weights: Buffer[] = [];
  readonly sources: FramePlace[] = [];
  readonly exclusions = new OutcomeExclusions();
  /** Along the ordered log; at its beginning where none feeds this journal. */
  readonly progress = new StreamProgress();
  /** Outcomes in all, and the number of them that this start has replayed. */
  outcomes = 0;
  replayedOutcomes = 0;
  /** The fold is no longer valid: see `Refold`. */
  isRefoldDue = false;
  /** Kinds of records that are announced when they become durable; none unless set. */
  announcedKinds: ReadonlySet<number> = new Set();
  #announced: AnnouncedRecord[] = [];
  readonly #fold: TableFold;
  readonly #rememberFromMs: number;
  #reviews = new ReviewBook();
  #conditions = new ConditionBook([], true);

  /** `nowMs` decides which replayed identities are still worth remembering. */
  constructor(target: FoldTarget, nowMs: number, replayEntriesMax?: number) {
    this.#fold = new TableFold(target, this.exclusions);
    this.guard = new ReplayTable(replayEntriesMax);
    this.#rememberFromMs = nowMs - REPLAY_WINDOW_MS;
  }

  /** Order of the credibility batches. */
  get standingsOrder(): StandingsOrder {
    return this.#fold.standingsOrder;
  }

  /** Reviews as they stand, one JSON document each, in order of opening; made when walked. */
  readonly reviews: Iterable<Buffer> = {
    [Symbol.iterator]: () => this.#encodeReviews(),
  };

  /** Conditions and stops, past ones included, one JSON document each; made when walked. */
  readonly conditions: Iterable<Buffer> = {
    [Symbol.iterator]: () => this.#encodeConditions(),
  };

  /** Takes over the state of the snapshot's table and guard. */
  restoreFromSnapshot(start: LoadedSnapshot): void {
    this.outcomes = start.outcomes;
    this.guard.restore(start.guard);
    const { access, weights, standings } = this.progress.restore(start.stream);
    if (standings !== undefined) this.standingsOrder.newest = standings;
    for (const payload of access) this.#applyApiKey(payload);
    this.weights.push(...weights);
    for (const place of start.sources) this.sources.push(place);
    for (const payload of start.policies) this.policies.push(payload);
    const stored = [...start.reviews].map((text) => JSON.parse(text.toString()) as StoredReview);
    this.#reviews = new ReviewBook(stored);
    const conditions = [...start.conditions].map(
      (text) => JSON.parse(text.toString()) as StoredCondition,
    );
    this.#conditions = new ConditionBook(conditions, true);
    for (const payload of start.keyEvents) {
      this.keyEvents.push(payload);
      this.exclusions.applyRegistryEvent(payload);
      this.#fold.restoreRegistryEvent(payload);
    }
  }

  /** A record of the journal, at start; `at` is its offset in the segment. */
  replayRecord(bytes: Buffer, at: number, lsn: number, segment: number): void {
    if (readFrameKind(bytes, at) === FRAME_KINDS.outcome) this.replayedOutcomes++;
    this.#applyFrame(bytes, at, { segment, offset: at });
    const id = readRecordIdBytes(bytes, at);
    if (id === undefined) return;
    const recordedAtMs = readRecordedAtMs(bytes, at);
    if (recordedAtMs < this.#rememberFromMs) return;
    const { countsTransactions } = this.progress;
    for (const identity of listGuardedIdentities(bytes, at, countsTransactions))
      this.guard.add(identity, lsn, recordedAtMs, id);
  }

  /** A record that has just become durable at `lsn`; completes its result. */
  applyDurableRecord(record: PendingRecord, lsn: number, place: FramePlace): void {
    const { bytes } = record.run;
    const { at, result } = record;
    result.lsn = lsn;
    result.recordedAtMs = readRecordedAtMs(bytes, at);
    const id = readRecordIdBytes(bytes, at);
    if (id !== undefined) {
      for (const identity of record.identities) {
        this.guard.add(identity, lsn, result.recordedAtMs, id);
      }
    }
    this.#applyFrame(bytes, at, place);
    const kind = readFrameKind(bytes, at);
    if (!this.announcedKinds.has(kind)) return;
    const timeMs = readFrameTimeUs(bytes, at) / 1000;
    this.#announced.push({ kind, lsn, timeMs, payload: copyFramePayload(bytes, at) });
  }

  /** Records of the announced kinds that became durable since the last call, in order. */
  takeAnnounced(): AnnouncedRecord[] {
    return this.#announced.length === 0 ? NO_RECORDS : this.#announced.splice(0);
  }

  /** The mark of a message of the ordered log, which has just become durable. */
  applyStreamMark(bytes: Buffer, place: FramePlace): void {
    this.#applyFrame(bytes, 0, place);
  }

  #applyFrame(bytes: Buffer, at: number, place: FramePlace): void {
    const kind = readFrameKind(bytes, at);
    this.#fold.applyRecord(bytes, at);
    if (kind === FRAME_KINDS.outcome) this.outcomes++;
    else if (isRegistryKind(kind)) this.#applyKeyEvent(bytes, at);
    else if (kind === FRAME_KINDS.stream)
      this.progress.apply(decodeStreamMark(copyFramePayload(bytes, at)));
    else if (kind === FRAME_KINDS.config && this.progress.mark !== undefined) {
      this.weights.push(copyFramePayload(bytes, at));
    } else if (kind === FRAME_KINDS.access) this.#applyApiKey(copyFramePayload(bytes, at));
    else if (kind === FRAME_KINDS.policy) this.policies.push(copyFramePayload(bytes, at));
    else if (kind === FRAME_KINDS.reviewEvent) {
      this.#reviews.apply(JSON.parse(copyFramePayload(bytes, at).toString()) as ReviewEvent);
    } else if (kind === FRAME_KINDS.condition) {
      this.#conditions.apply(decodeConditionEvent(copyFramePayload(bytes, at)));
    } else if (kind === FRAME_KINDS.evidence && !isBatchEvidence(bytes, at)) {
      this.sources.push(place);
    }
  }

  #applyApiKey(payload: Buffer): void {
    const key = parseApiKeyEvent(payload);
    const earlier = this.access.get(key.keyId);
    const lasting = keepRevocation(earlier && parseApiKeyEvent(earlier), key);
    this.access.set(key.keyId, lasting === key ? payload : Buffer.from(JSON.stringify(lasting)));
  }

  *#encodeReviews(): Generator<Buffer> {
    for (const review of this.#reviews.listReviews()) yield Buffer.from(JSON.stringify(review));
  }

  *#encodeConditions(): Generator<Buffer> {
    for (const each of this.#conditions.listStored()) yield Buffer.from(JSON.stringify(each));
  }

  #applyKeyEvent(bytes: Buffer, at: number): void {
    const payload = copyFramePayload(bytes, at);
    this.keyEvents.push(payload);
    if (this.exclusions.applyRegistryEvent(payload)) this.isRefoldDue = true;
    this.#fold.markRevokedAgents(payload);
  }
}

function parseApiKeyEvent(payload: Buffer) {
  return JSON.parse(payload.toString()) as { keyId: string; revokedAtMs: number | null };
}

/** A copy of the payload of the frame at `at`. */
export function copyFramePayload(bytes: Buffer, at: number): Buffer {
  const start = at + FRAME_HEAD_BYTES;
  return Buffer.from(bytes.subarray(start, start + readPayloadLength(bytes, at)));
}

/** Outcomes carry the time that was measured for them; other records that of their frame. */
function readRecordedAtMs(bytes: Buffer, at: number): number {
  if (readFrameKind(bytes, at) === FRAME_KINDS.outcome) return readOutcomeRecordedAtMs(bytes, at);
  return readFrameTimeUs(bytes, at) / 1000;
}
