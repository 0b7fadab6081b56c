// Change feed of the main thread: receives durable records from the ledger thread, announces each change to the
// followers of all HTTP threads once it is in force here, and reads the newest changes from the journal at the start.
import { formatChangePosition } from "../../contract/parse/change-positions.ts";
import { createHash } from "node:crypto";
import type { Change } from "../../contract/schemas/changes.ts";
import type { AnnouncedChange, ChangeNews } from "../../http/changes/log.ts";
import {
  FRAME_HEAD_BYTES,
  parseSegmentNames,
  readFrameKind,
  readFrameTimeUs,
  readPayloadLength,
} from "../../journal/format.ts";
import { JournalReader } from "../../journal/reader.ts";
import type { AnnouncedRecord } from "../../ledger/announced-record.ts";
import type { FileLayer } from "../../platform/files.ts";
import { CHANGE_RECORD_KINDS, decodeChange, type RecordContext } from "./records.ts";

/** Records of the journal that are read at the start, at least, where there are as many. */
const HISTORY_RECORDS = 100_000;
/** Of one slice between other work of the thread. */
const SLICE_RECORDS = 1000;
/** Longest wait for the effect of a record: one that never has an effect must not hold up the position. */
const EFFECT_MS_MAX = 2000;

interface ChangeFeedOptions extends RecordContext {
  readonly files: FileLayer;
  /** The journal directory. */
  readonly directory: string;
  /** Named in positions. */
  readonly serviceId: string;
  /** The durable position at the start. */
  readonly position: number;
  /** Monotonic ms. */
  readonly clock: () => number;
  /** False while this node is cut off from its cluster: it sends no heartbeats then. */
  readonly isCurrent: () => boolean;
  /** Receives all news, in order. */
  readonly send: (news: ChangeNews) => void;
  /** Called when the journal's history cannot be read: followers then begin at the start. */
  readonly log: (detail: string) => void;
}

interface PendingChange {
  readonly change: AnnouncedChange;
  readonly effect: string;
  readonly dueMs: number;
}

export class ChangeFeed {
  #options: ChangeFeedOptions | undefined;
  #journal = "";
  /** Records announced by the ledger before `open`. */
  readonly #early: AnnouncedRecord[] = [];
  /** Durable and not yet in force, in order of position. */
  #pending: PendingChange[] = [];
  #position = 0;
  #hasHistory = false;

  /** Receives durable records in order; `lsn` is the position that they are complete up to. */
  readonly takeRecords = (records: readonly AnnouncedRecord[], lsn: number): void => {
    if (this.#options === undefined) {
      this.#early.push(...records);
      return;
    }
    this.#position = Math.max(this.#position, lsn);
    const changes: AnnouncedChange[] = [];
    for (const record of records) {
      const change = this.#decode(record, this.#options);
      if (change === undefined) continue;
      const { effect, ...announced } = change;
      if (effect === undefined) changes.push(announced);
      else {
        const dueMs = this.#options.clock() + EFFECT_MS_MAX;
        this.#pending.push({ change: announced, effect, dueMs });
      }
    }
    if (changes.length > 0) this.#send(changes);
  };

  /** Announces the changes that have waited for this effect: it has happened on this node. */
  confirmEffect(effect: string): void {
    this.#release((pending) => pending.effect === effect);
  }

  /** Begins to announce; reads the changes of the past in slices. */
  open(options: ChangeFeedOptions): void {
    this.#options = options;
    this.#journal = createHash("sha256").update(options.serviceId).digest("hex").slice(0, 8);
    this.#position = options.position;
    // What came before the position is read from the journal.
    const early = this.#early.splice(0).filter(({ lsn }) => lsn > options.position);
    this.takeRecords(early, options.position);
    void this.#readHistory(options);
  }

  /** Called each second: a heartbeat for all followers. */
  readonly tick = (): void => {
    if (this.#options === undefined) return;
    const nowMs = this.#options.clock();
    this.#release(({ dueMs }) => dueMs <= nowMs);
    if (this.#hasHistory && this.#options.isCurrent()) this.#send([]);
  };

  #release(isDue: (pending: PendingChange) => boolean): void {
    const due = this.#pending.filter(isDue);
    if (due.length === 0) return;
    this.#pending = this.#pending.filter((pending) => !due.includes(pending));
    this.#send(due.map(({ change }) => change));
  }

  #send(changes: readonly AnnouncedChange[], from?: number): void {
    const waiting = this.#pending[0]?.change.position;
    const head = waiting === undefined ? this.#position : waiting - 1;
    const news = { journal: this.#journal, changes, head };
    this.#options?.send(from === undefined ? news : { ...news, from });
  }

  #decode(
    record: AnnouncedRecord,
    context: RecordContext,
  ): (AnnouncedChange & { effect?: string | undefined }) | undefined {
    const decoded = decodeChange(record, context);
    if (decoded === undefined) return undefined;
    const { effect, kind, tenant, agent = null, namespace = null, version = null } = decoded;
    const position = formatChangePosition(this.#journal, record.lsn);
    const at = new Date(record.timeMs).toISOString();
    const change: Change = { position, kind, tenant, agent, namespace, version, at };
    return { position: record.lsn, tenant, json: JSON.stringify(change), effect };
  }

  async #readHistory(options: ChangeFeedOptions): Promise<void> {
    const { position: end, files, directory, log } = options;
    const reader = new JournalReader(files, directory);
    const changes: AnnouncedChange[] = [];
    let from = end;
    try {
      // From the beginning of a segment: the reader would pass over what comes before in one go.
      const segments = parseSegmentNames(files.list(directory));
      const wanted = end - HISTORY_RECORDS;
      const first = segments.findLast(({ firstLsn }) => firstLsn <= wanted + 1) ?? segments[0];
      let at = first === undefined ? end : first.firstLsn - 1;
      const start = at;
      while (at < end) {
        at = reader.readRecords(at, end, SLICE_RECORDS, (bytes, offset, lsn) => {
          const record = copyRecord(bytes, offset, lsn);
          const change = record && this.#decode(record, options);
          if (change === undefined) return;
          const { effect: _, ...announced } = change;
          changes.push(announced);
        });
        // oxlint-disable-next-line no-await-in-loop -- requests are answered between two slices
        await new Promise((resolve) => setImmediate(resolve));
      }
      from = start;
    } catch (error) {
      log((error as Error).message);
      changes.length = 0;
    } finally {
      reader.close();
    }
    this.#hasHistory = true;
    this.#send(changes, from);
  }
}

function copyRecord(bytes: Buffer, at: number, lsn: number): AnnouncedRecord | undefined {
  const kind = readFrameKind(bytes, at);
  if (!CHANGE_RECORD_KINDS.includes(kind)) return undefined;
  const start = at + FRAME_HEAD_BYTES;
  const payload = bytes.subarray(start, start + readPayloadLength(bytes, at));
  return { kind, lsn, timeMs: readFrameTimeUs(bytes, at) / 1000, payload };
}
