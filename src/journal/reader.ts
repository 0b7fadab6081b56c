// Tails the journal for readers beside the writer (the store): records in order, up to a position
// that the caller knows to be durable. Checks every frame's checksum; never writes.
import type { FileLayer } from "../platform/files.ts";
import { JournalDamaged } from "./faults.ts";
import {
  decodeSegmentHeader,
  FRAME_HEAD_BYTES,
  FRAME_KINDS,
  readFrameKind,
  readPayloadLength,
  readFrameLsn,
  SEGMENT_HEADER_BYTES,
  measureIntactFrame,
  type SegmentHeader,
  parseSegmentNames,
} from "./format.ts";
import { isRecordKind, type RecordVisitor } from "./scan.ts";

const WINDOW_BYTES = 1024 * 1024;

export class JournalReader {
  /** Header of the segment last read from; undefined before the first read. */
  header: SegmentHeader | undefined;
  readonly #files: FileLayer;
  readonly #directory: string;
  #descriptor = -1;
  #segment = "";
  /** Position of the last record passed. */
  #lsn = -1;
  /** File offset of the window's first byte, and the cursor inside the window. */
  #windowOffset = 0;
  #window = Buffer.alloc(0);
  #storage = Buffer.alloc(WINDOW_BYTES);
  #cursor = 0;

  constructor(files: FileLayer, directory: string) {
    this.#files = files;
    this.#directory = directory;
  }

  /**
   * Visits records after `afterLsn`, up to `uptoLsn` and at most `countMax` of them.
   * @param uptoLsn must be durable.
   * @returns the position reached; equal to `uptoLsn` when there is nothing more.
   * @throws JournalDamaged when a durable record is missing or does not verify.
   */
  readRecords(afterLsn: number, uptoLsn: number, countMax: number, visit: RecordVisitor): number {
    if (uptoLsn <= afterLsn) return afterLsn;
    if (this.#lsn !== afterLsn) this.#seek(afterLsn);
    let count = 0;
    while (this.#lsn < uptoLsn && count < countMax) {
      const at = this.#nextFrame();
      const kind = readFrameKind(this.#window, at);
      const lsn = readFrameLsn(this.#window, at);
      if (isRecordKind(kind)) {
        this.#assertNext(lsn);
        this.#lsn = lsn;
        if (lsn > afterLsn) {
          visit(this.#window, at, lsn);
          count++;
        }
      } else if (kind === FRAME_KINDS.gap) {
        this.#lsn = lsn;
      }
    }
    return Math.max(this.#lsn, afterLsn);
  }

  close(): void {
    if (this.#descriptor >= 0) this.#files.close(this.#descriptor);
    this.#descriptor = -1;
    this.#lsn = -1;
  }

  /** Moves to the segment that holds the record after `lsn`; `read` skips up to it. */
  #seek(lsn: number): void {
    const segments = parseSegmentNames(this.#files.list(this.#directory));
    const segment = segments.findLast((candidate) => candidate.firstLsn <= lsn + 1);
    if (segment === undefined) throw this.#createDamage("no segment holds the next position");
    this.#openSegment(segment);
  }

  #openSegment(segment: { name: string; firstLsn: number }): void {
    this.close();
    this.#descriptor = this.#files.open(`${this.#directory}/${segment.name}`, "read");
    this.#segment = segment.name;
    const taken = this.#files.read(this.#descriptor, this.#storage, 0, SEGMENT_HEADER_BYTES, 0);
    this.header = decodeSegmentHeader(this.#storage.subarray(0, taken));
    if (this.header === undefined) throw this.#createDamage("the segment header does not verify");
    this.#lsn = segment.firstLsn - 1;
    this.#windowOffset = SEGMENT_HEADER_BYTES;
    this.#window = this.#storage.subarray(0, 0);
    this.#cursor = 0;
  }

  /** Offset in the window of the next intact frame; the cursor moves past it. */
  #nextFrame(): number {
    for (;;) {
      const at = this.#cursor;
      const total = measureIntactFrame(this.#window, at, this.#window.byteLength);
      if (total > 0) {
        this.#cursor = at + total;
        return at;
      }
      if (!this.#fillWindow()) this.#openNextSegment();
    }
  }

  /** Moves the window so that it starts at the cursor. False when no byte came in. */
  #fillWindow(): boolean {
    const kept = this.#window.byteLength - this.#cursor;
    const needed =
      kept >= FRAME_HEAD_BYTES
        ? readPayloadLength(this.#window, this.#cursor) + FRAME_HEAD_BYTES
        : 0;
    if (kept === this.#storage.byteLength || needed > this.#storage.byteLength) {
      const larger = Buffer.alloc(Math.min(Math.max(needed, kept * 2), WINDOW_BYTES * 8));
      if (larger.byteLength <= kept) return false;
      this.#window.copy(larger, 0, this.#cursor);
      this.#storage = larger;
    } else {
      this.#storage.copyWithin(0, this.#cursor, this.#window.byteLength);
    }
    this.#windowOffset += this.#cursor;
    this.#cursor = 0;
    const free = this.#storage.byteLength - kept;
    const from = this.#windowOffset + kept;
    const taken = this.#files.read(this.#descriptor, this.#storage, kept, free, from);
    this.#window = this.#storage.subarray(0, kept + taken);
    return taken > 0;
  }

  /** At the end of a segment: the record still due must be first in the next one. */
  #openNextSegment(): void {
    const segments = parseSegmentNames(this.#files.list(this.#directory));
    const next = segments.find((candidate) => candidate.firstLsn === this.#lsn + 1);
    const isAtEnd = this.#cursor === this.#window.byteLength;
    if (next === undefined || next.name === this.#segment || !isAtEnd) {
      throw this.#createDamage("a durable record does not verify or is missing");
    }
    this.#openSegment(next);
  }

  #assertNext(lsn: number): void {
    if (lsn !== this.#lsn + 1) throw this.#createDamage(`found position ${lsn} out of order`);
  }

  #createDamage(reason: string): JournalDamaged {
    const offset = this.#windowOffset + this.#cursor;
    return new JournalDamaged({ segment: this.#segment, offset, afterLsn: this.#lsn, reason });
  }
}
