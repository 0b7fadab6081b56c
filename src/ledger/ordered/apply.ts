// Application of the ordered log's messages to the journal and its state. What it does is decided by the
// messages alone: it asks no clock, no disk and no setting, so that every node writes the same bytes.
import { FileUnusable, JournalFull } from "../../journal/faults.ts";
import { FRAME_KINDS, readFrameKind } from "../../journal/format.ts";
import type { FramePlace } from "../../journal/places.ts";
import { isBatchEvidence } from "../../journal/proof.ts";
import type { JournalWriter } from "../../journal/writer.ts";
import type { AgentTableAdmission } from "../admission/admission.ts";
import type { LedgerMetrics } from "../metrics.ts";
import { encodeEventFrame } from "../frame-batch.ts";
import {
  encodeReplayAudits,
  type CommitResult,
  markRepeats,
  type PendingRecord,
  sliceFrameRun,
  copyFirstResult,
  splitRun,
  VERDICT_RECORDED,
} from "../replay-guard.ts";
import { type LedgerState, copyFramePayload } from "../state.ts";
import {
  parseLogBeginning,
  encodeStreamMark,
  buildStreamMark,
  leavesMark,
  type OrderedMessage,
  FIRST_RULES,
  MESSAGE_RULES_VERSION,
} from "./message.ts";
import { isBlankMessage, encodeIgnoredMessageEvent } from "./invalid-messages.ts";

/** A message that does not follow the last one applied: read the log again from there. */
export class MessageOutOfSequence extends Error {
  readonly expected: number;

  constructor(expected: number, found: number) {
    super(`message ${found} came where ${expected} was due`);
    this.expected = expected;
  }
}

/** A sealed message that this release does not know how to apply. */
export class MessageRulesUnsupported extends Error {
  constructor({ seq, rules }: OrderedMessage) {
    super(
      `message ${seq} of the cluster's log asks for rules ${rules}, and this release knows rules 1 to ${MESSAGE_RULES_VERSION}: install the release of the other nodes, which \`trustrank cluster status\` shows`,
    );
  }
}

/** A record that came through the log, for those who keep its kind in memory. */
export interface RemoteEvent {
  /** One of FRAME_KINDS. */
  readonly kind: number;
  readonly payload: Uint8Array;
  readonly lsn: number;
  readonly place: FramePlace;
  /** Time of the message, epoch ms. */
  readonly timeMs: number;
  /** Number of the message where it is one of this process's own. */
  readonly ownN?: number;
}

/** Kinds that somebody keeps in memory beside the ledger thread. */
const BROADCAST_KINDS: ReadonlySet<number> = new Set([
  FRAME_KINDS.access,
  FRAME_KINDS.config,
  FRAME_KINDS.key,
  FRAME_KINDS.evidence,
  FRAME_KINDS.policy,
  FRAME_KINDS.namespace,
  FRAME_KINDS.reviewEvent,
  FRAME_KINDS.condition,
]);

export interface OrderedApplierOptions {
  /** Origin of this process's own messages. */
  readonly origin: string;
  readonly journal: JournalWriter;
  readonly state: LedgerState;
  readonly generation: number;
  readonly figures: LedgerMetrics | undefined;
  /** Books what was added; it refuses nothing here. */
  readonly admission: AgentTableAdmission | undefined;
}

export interface AppliedMessages {
  /** For each message that was applied, the results of its records. */
  readonly applied: CommitResult[][];
  /** In order. */
  readonly events: RemoteEvent[];
  /** The disk has no room for the next message. */
  readonly isFull: boolean;
}

export class OrderedApplier {
  readonly #parts: OrderedApplierOptions;
  #events: RemoteEvent[] = [];

  constructor(parts: OrderedApplierOptions) {
    this.#parts = parts;
  }

  /** @throws StreamHole, RulesUnknown, JournalBroken, OwnershipLost. */
  applyMessages(messages: readonly OrderedMessage[]): AppliedMessages {
    const { journal, figures } = this.#parts;
    const beforeLsn = journal.lsn;
    const applied: CommitResult[][] = [];
    let isFull = false;
    try {
      for (const message of messages) applied.push(this.#applyMessage(message));
    } catch (error) {
      if (!(error instanceof JournalFull)) throw error;
      isFull = true;
    } finally {
      // Those before the one that failed stand in the journal.
      journal.sync();
    }
    const count = applied.reduce((sum, results) => sum + results.length, 0);
    if (journal.lsn > beforeLsn)
      figures?.countCommit(count, journal.lastSyncDurationMs, journal.lsn);
    const events = this.#events;
    this.#events = [];
    return { applied, events, isFull };
  }

  #applyMessage(message: OrderedMessage): CommitResult[] {
    const { journal, state, generation } = this.#parts;
    const due = state.progress.seq + 1;
    if (message.seq !== due) throw new MessageOutOfSequence(due, message.seq);
    if (message.rules > MESSAGE_RULES_VERSION) throw new MessageRulesUnsupported(message);
    this.#assertLogContinuesJournal(message);
    if (!leavesMark(message)) {
      state.progress.passTick(message.seq);
      return [];
    }
    // A copy: the journal seals frames in place, and on a full disk the message is applied once more,
    // by its digest the same.
    const bytes = Buffer.from(message.frames);
    const mark = encodeStreamMark(buildStreamMark(generation, message));
    const run = { bytes, count: message.count };
    // The first message tells the rules that its records are read by.
    const countsTransactions =
      message.seq === 1 ? message.rules !== FIRST_RULES : state.progress.countsTransactions;
    const records = state.progress.isNewMessage(message) ? splitRun(run, countsTransactions) : [];
    markRepeats(records, (identity) => state.guard.find(identity));
    const fresh = records.filter((record) => record.result.verdict === VERDICT_RECORDED);
    const audit = isBlankMessage(message)
      ? encodeEventFrame(FRAME_KINDS.audit, encodeIgnoredMessageEvent(message))
      : encodeReplayAudits(records, message.timeMs);
    const marked = encodeEventFrame(FRAME_KINDS.stream, mark);
    const written = fresh.length === records.length ? [run] : fresh.map(sliceFrameRun);
    const runs = [marked, ...(records.length === 0 ? [] : written)];
    const firstLsn = journal.lsn + 1;
    journal.append(audit.count === 0 ? runs : [...runs, audit], message.timeMs * 1000, true);
    this.#foldAppended(fresh, firstLsn, marked.bytes, message);
    for (const record of records) copyFirstResult(record);
    return records.map((record) => record.result);
  }

  /** A log that goes on from a journal is not for one that has not come so far. */
  #assertLogContinuesJournal(message: OrderedMessage): void {
    const { journal } = this.#parts;
    const begun = parseLogBeginning(message);
    if (begun === undefined || begun.chain === journal.chain.toString("hex")) return;
    const reason = `the log goes on from position ${begun.lsn} of the cluster's journal, and this one ends at ${journal.lsn}`;
    const advice = "see `trustrank cluster bootstrap`";
    throw new FileUnusable({ path: "journal", reason, advice });
  }

  /** Folds what stands in the journal now: first the mark, then its records. */
  #foldAppended(
    fresh: readonly PendingRecord[],
    firstLsn: number,
    mark: Buffer,
    from: OrderedMessage,
  ): void {
    const { journal, state, figures, admission, origin } = this.#parts;
    const { timeMs } = from;
    const { segment, offset } = journal.batchPlace;
    state.applyStreamMark(mark, { segment, offset });
    let at = offset + mark.byteLength;
    admission?.beginCommit();
    for (const [index, record] of fresh.entries()) {
      const lsn = firstLsn + 1 + index;
      const place = { segment, offset: at };
      state.applyDurableRecord(record, lsn, place);
      const kind = readFrameKind(record.run.bytes, record.at);
      if (BROADCAST_KINDS.has(kind) && !isBatchEvidence(record.run.bytes, record.at)) {
        const payload = copyFramePayload(record.run.bytes, record.at);
        const own = from.origin === origin ? { ownN: from.n } : {};
        this.#events.push({ kind, payload, lsn, place, timeMs, ...own });
      }
      admission?.chargeRecord(record, timeMs);
      figures?.countRecord(record.run.bytes, record.at);
      at += record.end - record.at;
    }
  }
}
