// Ships a journal into an archive beside its writer: each sealed segment once, of the open one what has
// become durable since, as a part of its own. Never more than is durable.
import { join } from "node:path";
import { JournalDamaged } from "../../journal/faults.ts";
import type { FileLayer } from "../../journal/files.ts";
import {
  CHAIN_BYTES,
  chainBefore,
  COMMIT_FRAME_BYTES,
  commitSignature,
  decodeHeader,
  HEADER_BYTES,
  segmentName,
} from "../../journal/format.ts";
import { isTornTail, scanBatches } from "../../journal/scan.ts";
import { verifyWithRawKey } from "../../journal/signing-key.ts";
import {
  type CopiedJournal,
  type FormerJournal,
  JournalCopy,
  pointBehind,
} from "../backup/journal-copy.ts";
import type { StoredSegment } from "../backup/manifest.ts";
import type { BackupObjects } from "../backup/objects.ts";
import { checkSegment, type CheckedSegment, iterateCommits } from "../backup/segments.ts";
import { GrowingContent } from "./growing.ts";

/** What is shipped of the open segment. */
interface Tail {
  readonly first: number;
  readonly publicKey: Buffer;
  readonly content: GrowingContent;
  readonly lsn: number;
  readonly chain: Buffer;
  readonly timeUs: number;
}

export class JournalShipment {
  readonly #files: FileLayer;
  readonly #directory: string;
  readonly #objects: BackupObjects;
  readonly #copy: JournalCopy;
  #tail: Tail | undefined;
  #next: Tail | undefined;
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
    this.#copy = new JournalCopy(files, directory, objects, former);
  }

  /** Ships the sealed segments; most of a first shipment. @throws as `shipTail`. */
  shipSealed(): void {
    this.#copy.copySealed();
  }

  /**
   * Ships up to the last commit at or before `durable`. Call `settle` once a manifest names it.
   * @throws JournalDamaged when the journal does not verify or ends before `durable`, JournalParted
   *   when the archive is of another journal or of a longer one.
   */
  shipTail(durable: number): CopiedJournal {
    const open = this.#copy.openSegment();
    const known = this.#tail?.first === open?.firstLsn ? this.#tail : undefined;
    if (known !== undefined) this.#next = this.#grown(known, durable);
    else this.#next = open === undefined ? undefined : this.#begun(open.firstLsn, durable);
    return this.#copy.ended(this.#next && buildStoredSegment(this.#next), durable);
  }

  /** The sealed segments shipped so far, in force or not: they are not shipped again. */
  get sealed(): readonly StoredSegment[] {
    return this.#copy.sealed;
  }

  /** What was shipped last is in force. */
  settle(): void {
    this.#tail = this.#next;
  }

  /** Undefined while it has no durable record: an empty segment may make way for another one. */
  #begun(first: number, durable: number): Tail | undefined {
    const name = segmentName(first);
    const bytes = this.#read(name, 0, this.#sizeOf(name));
    const before = pointBehind(this.#copy.sealed);
    const found = upTo(durable, bytes, HEADER_BYTES, checkSegment(bytes, first, before, false), {
      lsn: before.lsn,
      chain: Buffer.from(before.chain),
      timeUs: 0,
      end: HEADER_BYTES,
    });
    if (found.lsn < first) return undefined;
    this.#copy.assertSame(first, bytes, found.end);
    const whole = () => bytes.subarray(0, found.end);
    const content = GrowingContent.EMPTY.with(whole(), this.#objects, whole);
    const { publicKey } = decodeHeader(bytes)!;
    const { lsn, chain, timeUs } = found;
    return { first, publicKey: Buffer.from(publicKey), content, lsn, chain, timeUs };
  }

  /** Reads and verifies only what is new. */
  #grown(tail: Tail, durable: number): Tail {
    if (tail.lsn >= durable) return tail;
    const name = segmentName(tail.first);
    const from = tail.content.bytes - CHAIN_BYTES;
    const bytes = this.#read(name, from, this.#sizeOf(name));
    const damaged = (offset: number, reason: string) =>
      new JournalDamaged({ segment: name, offset: from + offset, afterLsn: tail.lsn, reason });
    if (!chainBefore(bytes, CHAIN_BYTES).equals(tail.chain)) {
      throw damaged(0, "what was shipped has changed");
    }
    const scan = scanBatches(bytes, CHAIN_BYTES, tail.lsn, () => undefined);
    const { end, lsn, lastCommitAt } = scan;
    if (end < bytes.byteLength && !isTornTail(bytes, end, lsn)) {
      throw damaged(end, "a batch does not verify");
    }
    if (lastCommitAt < 0) return tail;
    const signed = chainBefore(bytes, lastCommitAt + COMMIT_FRAME_BYTES);
    if (!verifyWithRawKey(tail.publicKey, signed, commitSignature(bytes, lastCommitAt))) {
      throw damaged(lastCommitAt, "the last signature is not valid");
    }
    const all = { lsn, chain: Buffer.from(chainBefore(bytes, end)), timeUs: 0, end };
    const found = upTo(durable, bytes, CHAIN_BYTES, all, { ...tail, end: CHAIN_BYTES });
    const more = bytes.subarray(CHAIN_BYTES, found.end);
    const length = from + found.end;
    const content = tail.content.with(more, this.#objects, () => this.#readAnew(name, length));
    return { ...tail, content, lsn: found.lsn, chain: found.chain, timeUs: found.timeUs };
  }

  #sizeOf(name: string): number {
    const descriptor = this.#files.open(join(this.#directory, name), "read");
    try {
      return this.#files.size(descriptor);
    } finally {
      this.#files.close(descriptor);
    }
  }

  /** Bytes of a segment, into a buffer that the next call uses again. */
  #read(name: string, from: number, to: number): Buffer {
    const length = Math.max(0, to - from);
    if (this.#buffer.byteLength < length) this.#buffer = Buffer.allocUnsafe(length);
    return this.#fill(name, this.#buffer.subarray(0, length), from);
  }

  #readAnew(name: string, length: number): Buffer {
    return this.#fill(name, Buffer.allocUnsafe(length), 0);
  }

  #fill(name: string, target: Buffer, from: number): Buffer {
    const descriptor = this.#files.open(join(this.#directory, name), "read");
    try {
      let at = 0;
      while (at < target.byteLength) {
        const left = target.byteLength - at;
        const taken = this.#files.read(descriptor, target, at, left, from + at);
        if (taken <= 0) break;
        at += taken;
      }
      return target.subarray(0, at);
    } finally {
      this.#files.close(descriptor);
    }
  }
}

/** Where a scan up to `all` ends at the latest for a durable position; `start` if before its first commit. */
function upTo(
  durable: number,
  bytes: Buffer,
  from: number,
  all: CheckedSegment,
  start: CheckedSegment,
): CheckedSegment {
  let found = start;
  let { timeUs } = start;
  for (const commit of iterateCommits(bytes, all.end, from)) {
    if (commit.lsn > durable) return { ...found, timeUs };
    timeUs = Math.max(timeUs, commit.timeUs);
    found = commit;
  }
  // A gap may follow the last commit.
  return { ...all, timeUs };
}

function buildStoredSegment({ first, content, lsn, chain, timeUs }: Tail): StoredSegment {
  return {
    ...content.stored(),
    first,
    last: lsn,
    chain: chain.toString("hex"),
    time_us: timeUs,
    is_sealed: false,
  };
}
