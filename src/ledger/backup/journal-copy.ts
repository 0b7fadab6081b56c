// Copies a journal into a backup beside its writer. A sealed segment is copied once for all; of the
// open one what is committed, synced here before it is read: the copy is never ahead of the disk.
import { join } from "node:path";
import { JournalDamaged } from "../../journal/faults.ts";
import { type FileLayer, readFileRange, readWhole, withFile } from "../../platform/files.ts";
import {
  CHAIN_BYTES,
  readChainBefore,
  decodeSegmentHeader,
  SEGMENT_HEADER_BYTES,
  formatSegmentName,
  parseSegmentNames,
} from "../../journal/format.ts";
import type { JournalPoint } from "../../journal/recovery.ts";
import { JournalParted } from "./faults.ts";
import type { BackupManifest, StoredSegment } from "./manifest.ts";
import type { BackupObjects } from "./objects.ts";
import { verifySegment, JOURNAL_START } from "./segments.ts";

type NamedSegment = ReturnType<typeof parseSegmentNames>[number];

export interface CopiedJournal extends JournalPoint {
  readonly segments: readonly StoredSegment[];
}

/** The part of a manifest that a copy continues. */
export type FormerJournal = Pick<BackupManifest, "position" | "segments">;

export class JournalCopier {
  readonly #files: FileLayer;
  readonly #directory: string;
  readonly #objects: BackupObjects;
  readonly #former: ReadonlyMap<number, StoredSegment>;
  readonly #formerPosition: number;
  /** What is in the backup of the sealed ones, in order. */
  readonly sealed: StoredSegment[] = [];
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
    this.#former = new Map(former?.segments.map((each) => [each.first, each]));
    this.#formerPosition = former?.position ?? 0;
  }

  /**
   * Copies the sealed segments that are not in the backup yet.
   * @throws JournalDamaged when one does not verify, JournalParted when the backup is of another journal.
   */
  copySealed(): void {
    const segments = this.#listSegments();
    for (const [index, segment] of segments.slice(0, -1).entries()) {
      if (index < this.sealed.length) continue;
      const last = segments[index + 1]!.firstLsn - 1;
      this.sealed.push(
        this.#findReusableSegment(segment, last) ?? this.#copySegment(segment, true),
      );
    }
  }

  /**
   * Copies the rest, up to the last commit.
   * @param known position that is known to be durable.
   * @throws as `copySealed`; JournalDamaged also when the journal ends before `known`.
   */
  copyTail(known: number): CopiedJournal {
    const open = this.findOpenSegment();
    return this.finishJournal(
      open === undefined ? undefined : this.#copySegment(open, false),
      known,
    );
  }

  /** The segment behind the sealed ones, once they are copied; undefined while it holds nothing. */
  findOpenSegment(): NamedSegment | undefined {
    this.copySealed();
    const open = this.#listSegments()[this.sealed.length];
    return open !== undefined && this.#hasHeader(open.name) ? open : undefined;
  }

  /**
   * The journal that ends with this open segment.
   * @throws JournalParted when the backup goes further, JournalDamaged when it ends before `known`.
   */
  finishJournal(open: StoredSegment | undefined, known: number): CopiedJournal {
    const segments = open === undefined ? [...this.sealed] : [...this.sealed, open];
    const { lsn, chain } = findEndPoint(segments);
    if (lsn < this.#formerPosition) throw new JournalParted(lsn);
    if (lsn < known) {
      const segment = formatSegmentName(segments.at(-1)?.first ?? 1);
      const reason = `it ends at position ${lsn}, position ${known} was durable`;
      throw new JournalDamaged({ segment, offset: 0, afterLsn: lsn, reason, lostUpto: known });
    }
    return { lsn, chain, segments };
  }

  #listSegments(): NamedSegment[] {
    return parseSegmentNames(this.#files.list(this.#directory));
  }

  /** A newest segment whose header never reached the disk holds nothing. */
  #hasHeader(name: string): boolean {
    return (
      decodeSegmentHeader(
        readFileRange(this.#files, join(this.#directory, name), 0, SEGMENT_HEADER_BYTES),
      ) !== undefined
    );
  }

  /** What the backup has of a sealed segment, if it is the same one to its last byte. */
  #findReusableSegment(segment: NamedSegment, last: number): StoredSegment | undefined {
    const stored = this.#former.get(segment.firstLsn);
    if (stored?.is_sealed !== true) return undefined;
    const path = join(this.#directory, segment.name);
    const end = readFileRange(this.#files, path, stored.bytes - CHAIN_BYTES, CHAIN_BYTES + 1);
    if (stored.last !== last || end.toString("hex") !== stored.chain) throw new JournalParted(last);
    if (!this.#objects.hasContent(stored)) return undefined;
    this.#assertSameHeader(stored, readFileRange(this.#files, path, 0, SEGMENT_HEADER_BYTES));
    return stored;
  }

  #copySegment({ name, firstLsn }: NamedSegment, isSealed: boolean): StoredSegment {
    const bytes = this.#read(join(this.#directory, name), isSealed);
    const checked = verifySegment(bytes, firstLsn, findEndPoint(this.sealed), isSealed);
    this.assertStoredIsPrefix(firstLsn, bytes, checked.end);
    return {
      ...this.#objects.putBytes(bytes.subarray(0, checked.end)),
      first: firstLsn,
      last: checked.lsn,
      chain: checked.chain.toString("hex"),
      time_us: checked.timeUs,
      is_sealed: isSealed,
    };
  }

  /**
   * What was backed up of a segment while it was open must be its beginning.
   * @param end byte behind its last commit now.
   * @throws JournalParted when it is not.
   */
  assertStoredIsPrefix(first: number, bytes: Buffer, end: number): void {
    const stored = this.#former.get(first);
    if (stored === undefined) return;
    const isThere = stored.bytes <= end;
    if (!isThere || readChainBefore(bytes, stored.bytes).toString("hex") !== stored.chain) {
      throw new JournalParted(stored.last);
    }
    if (this.#objects.hasContent(stored))
      this.#assertSameHeader(stored, bytes.subarray(0, SEGMENT_HEADER_BYTES));
  }

  /** The chain does not cover the key that signs it; the header holds that. */
  #assertSameHeader(stored: StoredSegment, header: Buffer): void {
    const former = readFileRange(
      this.#files,
      this.#objects.resolvePath(stored),
      0,
      SEGMENT_HEADER_BYTES,
    );
    if (!former.equals(header)) throw new JournalParted(stored.first);
  }

  #read(path: string, isSealed: boolean): Buffer {
    const size = withFile(this.#files, path, "read", (descriptor) => {
      const found = this.#files.size(descriptor);
      // The writer's own sync may still be in progress.
      if (!isSealed) this.#files.syncData(descriptor);
      return found;
    });
    const bytes = readWhole(this.#files, path, this.#buffer);
    if (bytes.byteLength > this.#buffer.byteLength) this.#buffer = bytes;
    return bytes.subarray(0, size);
  }
}

/** The journal's end after these segments. */
export function findEndPoint(segments: readonly StoredSegment[]): JournalPoint {
  const last = segments.at(-1);
  if (last === undefined) return JOURNAL_START;
  return { lsn: last.last, chain: Buffer.from(last.chain, "hex") };
}
