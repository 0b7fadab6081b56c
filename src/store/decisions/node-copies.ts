// Replication of decision segments between nodes: parts of own segments to send, and copies of other nodes' segments.
// A copy is always a prefix of its source, so a repeated part is recognized by its offset. A cursor file records the
// length of each copy that is known to be on disk: bytes beyond it may be anything after a power cut.
import * as fs from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { isObject } from "../../contract/parse/json-object.ts";
import { replaceFileAsync, syncDirectoryAsync } from "../../platform/files.ts";
import {
  COPIES_DIRECTORY,
  formatCopyPath,
  isNodeName,
  isSegmentName,
  listSegmentCopies,
  readSegmentBlocks,
  WAITING_SUFFIX,
  formatWaitingFile,
  readSegmentBytes,
  type DecisionSegment,
  parseSegmentFiles,
  type SpoolPosition,
} from "./segments.ts";

const CURSOR_FILE = "place.json";

/** A stretch of a segment of a node. */
interface CopyPart {
  readonly node: string;
  readonly segment: string;
  /** Its first byte in the segment. */
  readonly from: number;
  readonly bytes: Uint8Array;
}

interface CopiesCursor {
  readonly stream: string;
  readonly seq: number;
  /** Of each node the newest copy and its size. */
  readonly newest: Readonly<Record<string, { readonly segment: string; readonly bytes: number }>>;
}

export class SegmentCopies {
  readonly #directory: string;
  readonly #newest = new Map<string, { readonly segment: string; readonly bytes: number }>();

  /** `directory`: of the segments. */
  constructor(directory: string) {
    this.#directory = directory;
  }

  /** The place that was kept, with the copies as they were then; undefined where none was. */
  async open(): Promise<Pick<CopiesCursor, "stream" | "seq"> | undefined> {
    await fs.mkdir(join(this.#directory, COPIES_DIRECTORY), { recursive: true, mode: 0o700 });
    const place = await this.#readCursor();
    if (place === undefined || (await this.#isAnyCopyShorter(place))) {
      await this.#truncateToWholeBlocks();
      return undefined;
    }
    for (const [node, newest] of Object.entries(place.newest)) this.#newest.set(node, newest);
    // The newest first: a copy without a later one beside it is not taken for complete.
    for (const { node, file, isCompressed } of listSegmentCopies(this.#directory).toReversed()) {
      const name = basename(file, WAITING_SUFFIX);
      const { segment = "", bytes = 0 } = place.newest[node] ?? {};
      const path = join(this.#directory, file);
      if (isCompressed || name < segment) continue;
      if (name > segment) await fs.rm(path);
      else if ((await fs.stat(path)).size > bytes) await fs.truncate(path, bytes);
    }
    return place;
  }

  /** Whether a copy is shorter than it was then: from a backup, say, whose files are not of one moment. */
  async #isAnyCopyShorter({ newest }: CopiesCursor): Promise<boolean> {
    for (const [node, { segment, bytes }] of Object.entries(newest)) {
      const path = join(this.#directory, formatCopyPath(node, formatWaitingFile(segment)));
      const size = await readFileSize(path);
      if (size === undefined ? !(await this.#hasCompressedCopy(node, segment)) : size < bytes)
        return true;
    }
    return false;
  }

  /**
   * Nobody knows what is on disk: what is not whole goes, and comes again with the rest of the stream. The rest is
   * synced and counts as there: parts that only repeat it add nothing, and a place kept behind them must name it.
   */
  async #truncateToWholeBlocks(): Promise<void> {
    for (const segment of listSegmentCopies(this.#directory).filter(
      ({ isCompressed }) => !isCompressed,
    )) {
      const { end } = readSegmentBlocks(this.#directory, segment, 0);
      await truncateAndSync(join(this.#directory, segment.file), end);
      const name = basename(segment.file, WAITING_SUFFIX);
      this.#newest.set(segment.node, { segment: name, bytes: end });
    }
  }

  async #readCursor(): Promise<CopiesCursor | undefined> {
    const text = await fs
      .readFile(join(this.#directory, COPIES_DIRECTORY, CURSOR_FILE), "utf8")
      .catch(() => "");
    try {
      const place: unknown = JSON.parse(text);
      return isCopiesCursor(place) ? place : undefined;
    } catch {
      return undefined;
    }
  }

  /**
   * Adds what a copy lacks of a part; on disk when it resolves.
   * @returns the bytes added, and those between the copy and the part, which nobody gave; undefined for what
   * is no part of a segment.
   */
  async take(part: CopyPart): Promise<{ added: number; missing: number } | undefined> {
    const { node, segment, from, bytes } = part;
    const isPart =
      isNodeName(node) && isSegmentName(segment) && Number.isSafeInteger(from) && from >= 0;
    if (!isPart || bytes.byteLength === 0) return undefined;
    const nothing = { added: 0, missing: 0 };
    const path = join(this.#directory, formatCopyPath(node, formatWaitingFile(segment)));
    const size = await readFileSize(path);
    if (size === undefined && (await this.#hasCompressedCopy(node, segment))) return nothing;
    const missing = Math.max(0, from - (size ?? 0));
    const known = Math.max(0, (size ?? 0) - from);
    if (known >= bytes.byteLength) return nothing;
    if (size === undefined) await fs.mkdir(dirname(path), { recursive: true, mode: 0o700 });
    const end = await writeAndSyncAt(path, bytes.subarray(known), from + known);
    // The name must be on disk with the first bytes.
    if (size === undefined) {
      for (const each of [dirname(path), join(this.#directory, COPIES_DIRECTORY)])
        await syncDirectoryAsync(each);
    }
    const newest = this.#newest.get(node);
    if (newest === undefined || segment >= newest.segment) {
      this.#newest.set(node, { segment, bytes: end });
    }
    return { added: bytes.byteLength - known, missing };
  }

  async #hasCompressedCopy(node: string, segment: string): Promise<boolean> {
    const files = await fs.readdir(join(this.#directory, COPIES_DIRECTORY, node)).catch(() => []);
    return files.some((file) => file.startsWith(`${segment}-`));
  }

  async keepPlace(stream: string, seq: number): Promise<void> {
    const place: CopiesCursor = { stream, seq, newest: Object.fromEntries(this.#newest) };
    const path = join(this.#directory, COPIES_DIRECTORY, CURSOR_FILE);
    await replaceFileAsync(path, JSON.stringify(place));
  }
}

async function readFileSize(path: string): Promise<number | undefined> {
  try {
    return (await fs.stat(path)).size;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}

/** On disk when it resolves. */
async function truncateAndSync(path: string, bytes: number): Promise<void> {
  const file = await fs.open(path, "r+");
  try {
    await file.truncate(bytes);
    await file.sync();
  } finally {
    await file.close();
  }
}

/** @returns the byte behind it. */
async function writeAndSyncAt(path: string, bytes: Uint8Array, from: number): Promise<number> {
  // Not for appending: such a file takes no place.
  const file = await fs.open(path, fs.constants.O_WRONLY | fs.constants.O_CREAT, 0o600);
  try {
    for (let at = 0; at < bytes.byteLength;) {
      const { bytesWritten } = await file.write(bytes, at, bytes.byteLength - at, from + at);
      at += bytesWritten;
    }
    await file.datasync();
  } finally {
    await file.close();
  }
  return from + bytes.byteLength;
}

function isCopiesCursor(value: unknown): value is CopiesCursor {
  if (!isObject(value)) return false;
  const { stream, seq, newest } = value;
  if (typeof stream !== "string" || !Number.isSafeInteger(seq) || !isObject(newest)) return false;
  return Object.values(newest).every((each) => {
    return (
      isObject(each) && typeof each["segment"] === "string" && Number.isSafeInteger(each["bytes"])
    );
  });
}

/** A stretch of a segment. */
export interface SegmentPart {
  readonly segment: string;
  /** Its first byte in the segment. */
  readonly from: number;
  readonly bytes: Uint8Array;
}

/** Up to where parts were read. */
export interface SegmentCursor {
  readonly segment: string;
  readonly byte: number;
}

/** Before the first. */
export const FIRST_SEGMENT_CURSOR: SegmentCursor = { segment: "", byte: 0 };

export class OutgoingSegments {
  readonly #directory: string;
  readonly #bytesMax: number;
  /** What is left of the segment that was read last. */
  #lastRead:
    | { readonly segment: string; readonly from: number; readonly bytes: Buffer }
    | undefined;
  /** The mark and place at which nothing was left. */
  #exhaustedAt = "";

  constructor(directory: string, bytesMax: number) {
    this.#directory = directory;
    this.#bytesMax = bytesMax;
  }

  /**
   * The part behind a place; undefined while there is none. Of the segment that is being written, what lies
   * before `mark` alone: the rest may not be on disk yet.
   * @throws the file system's error, or that of the decompression.
   */
  async readPartAfter(place: SegmentCursor, mark: SpoolPosition): Promise<SegmentPart | undefined> {
    const state = `${place.segment} ${place.byte} ${mark.name} ${mark.bytes}`;
    if (state === this.#exhaustedAt) return undefined;
    const held = this.#lastRead;
    if (held?.segment === place.segment && place.byte - held.from < held.bytes.byteLength) {
      return this.#slicePart(place);
    }
    for (const segment of await this.#listSegmentsFrom(place, mark)) {
      const from = segment.name === place.segment ? place.byte : 0;
      const bytes = this.#readBytesIfPresent(segment, from, mark);
      // Compressed or removed just now: the next call finds it as it is then.
      if (bytes === undefined) return undefined;
      if (bytes.byteLength === 0) continue;
      this.#lastRead = { segment: segment.name, from, bytes };
      return this.#slicePart({ segment: segment.name, byte: from });
    }
    this.#lastRead = undefined;
    this.#exhaustedAt = state;
    return undefined;
  }

  /** Segments that may have something behind a place, in order. */
  async #listSegmentsFrom(
    place: SegmentCursor,
    mark: SpoolPosition,
  ): Promise<readonly DecisionSegment[]> {
    // The common case: the segment read last has more.
    if (place.segment === mark.name && place.byte < mark.bytes) {
      const [open] = parseSegmentFiles([formatWaitingFile(mark.name)], "");
      if (open !== undefined) return [open];
    }
    const segments = parseSegmentFiles(await fs.readdir(this.#directory), "");
    return segments.filter(({ name, isCompressed }) => {
      return name >= place.segment && (isCompressed || name <= mark.name);
    });
  }

  #slicePart({ segment, byte }: SegmentCursor): SegmentPart {
    const { from, bytes } = this.#lastRead!;
    const at = byte - from;
    return { segment, from: byte, bytes: bytes.subarray(at, at + this.#bytesMax) };
  }

  /** Undefined where it is not there any more; nothing of one that is damaged. */
  #readBytesIfPresent(
    segment: DecisionSegment,
    from: number,
    mark: SpoolPosition,
  ): Buffer | undefined {
    try {
      const bytes = readSegmentBytes(this.#directory, segment, from);
      const isOpen = !segment.isCompressed && segment.name === mark.name;
      return isOpen ? bytes.subarray(0, Math.max(0, mark.bytes - from)) : bytes;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
      if (segment.isCompressed) return Buffer.alloc(0);
      throw error;
    }
  }
}
