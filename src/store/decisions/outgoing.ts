// Own segments read in parts, in the order in which they were written, for whoever keeps copies of them.
import * as fs from "node:fs/promises";
import {
  readSegmentBytes,
  type DecisionSegment,
  parseSegmentFiles,
  type SpoolPosition,
  formatWaitingFile,
} from "./segments.ts";

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
    // Nearly always: what was read last goes on.
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
