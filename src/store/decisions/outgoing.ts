// Own segments read in parts, in the order in which they were written, for whoever keeps copies of them.
import * as fs from "node:fs/promises";
import { readBytes, type Segment, segmentsIn, type SpoolMark, waitingFile } from "./segments.ts";

/** A stretch of a segment. */
export interface SegmentPart {
  readonly segment: string;
  /** Its first byte in the segment. */
  readonly from: number;
  readonly bytes: Uint8Array;
}

/** Up to where parts were read. */
export interface PartPlace {
  readonly segment: string;
  readonly byte: number;
}

/** Before the first. */
export const FIRST_PLACE: PartPlace = { segment: "", byte: 0 };

export class OutgoingSegments {
  readonly #directory: string;
  readonly #bytesMax: number;
  /** What is left of the segment that was read last. */
  #read: { readonly segment: string; readonly from: number; readonly bytes: Buffer } | undefined;
  /** The mark and place at which nothing was left. */
  #done = "";

  constructor(directory: string, bytesMax: number) {
    this.#directory = directory;
    this.#bytesMax = bytesMax;
  }

  /**
   * The part behind a place; undefined while there is none. Of the segment that is being written, what lies
   * before `mark` alone: the rest may not be on disk yet.
   * @throws the file system's error, or that of the decompression.
   */
  async after(place: PartPlace, mark: SpoolMark): Promise<SegmentPart | undefined> {
    const state = `${place.segment} ${place.byte} ${mark.name} ${mark.bytes}`;
    if (state === this.#done) return undefined;
    const held = this.#read;
    if (held?.segment === place.segment && place.byte - held.from < held.bytes.byteLength) {
      return this.#part(place);
    }
    for (const segment of await this.#from(place, mark)) {
      const from = segment.name === place.segment ? place.byte : 0;
      const bytes = this.#bytesOf(segment, from, mark);
      // Compressed or removed just now: the next call finds it as it is then.
      if (bytes === undefined) return undefined;
      if (bytes.byteLength === 0) continue;
      this.#read = { segment: segment.name, from, bytes };
      return this.#part({ segment: segment.name, byte: from });
    }
    this.#read = undefined;
    this.#done = state;
    return undefined;
  }

  /** Segments that may have something behind a place, in order. */
  async #from(place: PartPlace, mark: SpoolMark): Promise<readonly Segment[]> {
    // Nearly always: what was read last goes on.
    if (place.segment === mark.name && place.byte < mark.bytes) {
      const [open] = segmentsIn([waitingFile(mark.name)], "");
      if (open !== undefined) return [open];
    }
    const segments = segmentsIn(await fs.readdir(this.#directory), "");
    return segments.filter(({ name, isKept }) => {
      return name >= place.segment && (isKept || name <= mark.name);
    });
  }

  #part({ segment, byte }: PartPlace): SegmentPart {
    const { from, bytes } = this.#read!;
    const at = byte - from;
    return { segment, from: byte, bytes: bytes.subarray(at, at + this.#bytesMax) };
  }

  /** Undefined where it is not there any more; nothing of one that is damaged. */
  #bytesOf(segment: Segment, from: number, mark: SpoolMark): Buffer | undefined {
    try {
      const bytes = readBytes(this.#directory, segment, from);
      const isOpen = !segment.isKept && segment.name === mark.name;
      return isOpen ? bytes.subarray(0, Math.max(0, mark.bytes - from)) : bytes;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
      if (segment.isKept) return Buffer.alloc(0);
      throw error;
    }
  }
}
