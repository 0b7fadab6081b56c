// Ships a journal into an archive beside its writer: each sealed segment once, of the open one what has
// become durable since, as a part of its own. Never more than is durable.
import { join } from "node:path";
import { JournalDamaged } from "../../journal/faults.ts";
import { type FileLayer, readFileSize, readFully, withFile } from "../../platform/files.ts";
import {
  CHAIN_BYTES,
  readChainBefore,
  decodeSegmentHeader,
  SEGMENT_HEADER_BYTES,
  formatSegmentName,
} from "../../journal/format.ts";
import { isCommitSigned, isTornTail, scanBatches } from "../../journal/scan.ts";
import {
  type CopiedJournal,
  type FormerJournal,
  JournalCopier,
  findEndPoint,
} from "../backup/journal-copy.ts";
import type { StoredSegment, StoredContent, StoredObject } from "../backup/manifest.ts";
import type { BackupObjects } from "../backup/objects.ts";
import { verifySegment, type SegmentPoint, iterateCommits } from "../backup/segments.ts";
import { createHash, type Hash } from "node:crypto";

/** Parts of one content; beyond it they are put together, at most 64 MiB of a segment. */
const PARTS_MAX = 128;

/** One state of such a content; it is never changed. */
export class GrowingContent {
  readonly bytes: number;
  readonly #parts: readonly StoredObject[];
  readonly #digest: Hash;

  private constructor(parts: readonly StoredObject[], digest: Hash, bytes: number) {
    this.#parts = parts;
    this.#digest = digest;
    this.bytes = bytes;
  }

  static readonly EMPTY = new GrowingContent([], createHash("sha256"), 0);

  /**
   * Stores what is new.
   * @param whole gives all bytes including `more`, should they be stored together.
   */
  withAppended(more: Uint8Array, objects: BackupObjects, whole: () => Uint8Array): GrowingContent {
    if (more.byteLength === 0) return this;
    const digest = this.#digest.copy().update(more);
    const bytes = this.bytes + more.byteLength;
    const isFull = this.#parts.length >= PARTS_MAX;
    const parts = isFull ? [objects.putBytes(whole())] : [...this.#parts, objects.putBytes(more)];
    return new GrowingContent(parts, digest, bytes);
  }

  buildStoredContent(): StoredContent {
    const content = { bytes: this.bytes, sha256: this.#digest.copy().digest("hex") };
    return this.#parts.length === 1 ? content : { ...content, parts: this.#parts };
  }
}

/** What is shipped of the open segment. */
interface ArchivedTail {
  readonly first: number;
  readonly publicKey: Buffer;
  readonly content: GrowingContent;
  readonly lsn: number;
  readonly chain: Buffer;
  readonly timeUs: number;
}

export class JournalArchiver {
  readonly #files: FileLayer;
  readonly #directory: string;
  readonly #objects: BackupObjects;
  readonly #copy: JournalCopier;
  #tail: ArchivedTail | undefined;
  #unconfirmedTail: ArchivedTail | undefined;
  #buffer: Buffer = Buffer.alloc(0);

  constructor(
    files: FileLayer,
    directory: string,
    objects: BackupObjects,
    former: FormerJournal | undefined,
  ) {
    this.#files = files;
    this.#directory = directory;
    this.#objects = objects;
    this.#copy = new JournalCopier(files, directory, objects, former);
  }

  /** Ships the sealed segments; most of a first shipment. @throws as `shipTail`. */
  archiveSealed(): void {
    this.#copy.copySealed();
  }

  /**
   * Ships up to the last commit at or before `durable`. Call `settle` once a manifest names it.
   * @throws JournalDamaged when the journal does not verify or ends before `durable`, JournalParted
   *   when the archive is of another journal or of a longer one.
   */
  archiveTail(durable: number): CopiedJournal {
    const open = this.#copy.findOpenSegment();
    const known = this.#tail?.first === open?.firstLsn ? this.#tail : undefined;
    if (known !== undefined) this.#unconfirmedTail = this.#extendTail(known, durable);
    else
      this.#unconfirmedTail =
        open === undefined ? undefined : this.#startTail(open.firstLsn, durable);
    return this.#copy.finishJournal(
      this.#unconfirmedTail && buildStoredSegment(this.#unconfirmedTail),
      durable,
    );
  }

  /** The sealed segments shipped so far, in force or not: they are not shipped again. */
  get sealed(): readonly StoredSegment[] {
    return this.#copy.sealed;
  }

  /** What was shipped last is in force. */
  confirmTail(): void {
    this.#tail = this.#unconfirmedTail;
  }

  /** Undefined while it has no durable record: an empty segment may make way for another one. */
  #startTail(first: number, durable: number): ArchivedTail | undefined {
    const name = formatSegmentName(first);
    const bytes = this.#read(name, 0, this.#readFileSize(name));
    const before = findEndPoint(this.#copy.sealed);
    const found = findDurableEnd(durable, bytes, verifySegment(bytes, first, before, false), {
      lsn: before.lsn,
      chain: Buffer.from(before.chain),
      timeUs: 0,
      end: SEGMENT_HEADER_BYTES,
    });
    if (found.lsn < first) return undefined;
    this.#copy.assertStoredIsPrefix(first, bytes, found.end);
    const whole = () => bytes.subarray(0, found.end);
    const content = GrowingContent.EMPTY.withAppended(whole(), this.#objects, whole);
    const { publicKey } = decodeSegmentHeader(bytes)!;
    const { lsn, chain, timeUs } = found;
    return { first, publicKey: Buffer.from(publicKey), content, lsn, chain, timeUs };
  }

  /** Reads and verifies only what is new. */
  #extendTail(tail: ArchivedTail, durable: number): ArchivedTail {
    if (tail.lsn >= durable) return tail;
    const name = formatSegmentName(tail.first);
    const from = tail.content.bytes - CHAIN_BYTES;
    const bytes = this.#read(name, from, this.#readFileSize(name));
    const damaged = (offset: number, reason: string) =>
      new JournalDamaged({ segment: name, offset: from + offset, afterLsn: tail.lsn, reason });
    if (!readChainBefore(bytes, CHAIN_BYTES).equals(tail.chain)) {
      throw damaged(0, "what was shipped has changed");
    }
    const { end, lsn, lastCommitAt } = scanBatches(bytes, CHAIN_BYTES, tail.lsn);
    if (end < bytes.byteLength && !isTornTail(bytes, end, lsn)) {
      throw damaged(end, "a batch does not verify");
    }
    if (lastCommitAt < 0) return tail;
    if (!isCommitSigned(bytes, lastCommitAt, tail.publicKey)) {
      throw damaged(lastCommitAt, "the last signature is not valid");
    }
    const all = { lsn, chain: Buffer.from(readChainBefore(bytes, end)), timeUs: 0, end };
    const found = findDurableEnd(durable, bytes, all, { ...tail, end: CHAIN_BYTES });
    const more = bytes.subarray(CHAIN_BYTES, found.end);
    const length = from + found.end;
    const content = tail.content.withAppended(more, this.#objects, () =>
      this.#readIntoNewBuffer(name, length),
    );
    return { ...tail, content, lsn: found.lsn, chain: found.chain, timeUs: found.timeUs };
  }

  #readFileSize(name: string): number {
    return readFileSize(this.#files, join(this.#directory, name));
  }

  /** Bytes of a segment, into a buffer that the next call uses again. */
  #read(name: string, from: number, to: number): Buffer {
    const length = Math.max(0, to - from);
    if (this.#buffer.byteLength < length) this.#buffer = Buffer.allocUnsafe(length);
    return this.#readInto(name, this.#buffer.subarray(0, length), from);
  }

  #readIntoNewBuffer(name: string, length: number): Buffer {
    return this.#readInto(name, Buffer.allocUnsafe(length), 0);
  }

  #readInto(name: string, target: Buffer, from: number): Buffer {
    return withFile(this.#files, join(this.#directory, name), "read", (descriptor) =>
      readFully(this.#files, descriptor, target, from),
    );
  }
}

/** Where a scan up to `all` ends at the latest for a durable position; `start` if before its first commit. */
function findDurableEnd(
  durable: number,
  bytes: Buffer,
  all: SegmentPoint,
  start: SegmentPoint,
): SegmentPoint {
  let found = start;
  let { timeUs } = start;
  for (const commit of iterateCommits(bytes, all.end, start.end)) {
    if (commit.lsn > durable) return { ...found, timeUs };
    timeUs = Math.max(timeUs, commit.timeUs);
    found = commit;
  }
  // A gap may follow the last commit.
  return { ...all, timeUs };
}

function buildStoredSegment({ first, content, lsn, chain, timeUs }: ArchivedTail): StoredSegment {
  return {
    ...content.buildStoredContent(),
    first,
    last: lsn,
    chain: chain.toString("hex"),
    time_us: timeUs,
    is_sealed: false,
  };
}
