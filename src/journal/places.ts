// Reads single frames of the journal by their place on disk, so that a start can read them again
// without walking through all the outcomes in between.
import type { FileLayer } from "../platform/files.ts";
import { JournalDamaged } from "./faults.ts";
import {
  FRAME_HEAD_BYTES,
  readPayloadLength,
  measureIntactFrame,
  PAYLOAD_BYTES_MAX,
  formatSegmentName,
} from "./format.ts";

/** A frame's place on disk: its segment by first position, its byte offset in that file. */
export interface FramePlace {
  readonly segment: number;
  readonly offset: number;
}

/** Bytes read ahead: neighbours in the journal cost one call. */
const WINDOW_BYTES = 256 * 1024;
/** Bytes read for one frame alone; a larger one is read again as a whole. */
const WINDOW_BYTES_ALONE = 16 * 1024;

/**
 * Visits the frames at `places`, in their order, each as a buffer, the frame's offset in it, and
 * its place. The buffer is valid until the next visit.
 * @throws JournalDamaged when a frame is missing or its checksum does not hold.
 */
export function visitFramesAt(
  files: FileLayer,
  directory: string,
  places: readonly FramePlace[],
  visit: (bytes: Buffer, at: number, place: FramePlace) => void,
): void {
  const window = new FileWindow(files, places.length > 1 ? WINDOW_BYTES : WINDOW_BYTES_ALONE);
  let open = -1;
  try {
    for (const place of places) {
      const { segment, offset } = place;
      if (segment !== open) window.open(`${directory}/${formatSegmentName(segment)}`);
      open = segment;
      const at = window.findIntactFrame(offset);
      if (at < 0) {
        const reason = "a durable record does not verify or is missing";
        throw new JournalDamaged({
          segment: formatSegmentName(segment),
          offset,
          afterLsn: 0,
          reason,
        });
      }
      visit(window.bytes, at, place);
    }
  } finally {
    window.close();
  }
}

/** Window over the part of a file that was read last. */
class FileWindow {
  bytes: Buffer;
  readonly #files: FileLayer;
  #descriptor = -1;
  /** Offset in the file. */
  #start = 0;
  #end = 0;

  constructor(files: FileLayer, size: number) {
    this.#files = files;
    this.bytes = Buffer.allocUnsafe(size);
  }

  open(path: string): void {
    this.close();
    this.#descriptor = this.#files.open(path, "read");
    this.#start = 0;
    this.#end = 0;
  }

  close(): void {
    if (this.#descriptor >= 0) this.#files.close(this.#descriptor);
    this.#descriptor = -1;
  }

  /** Offset in `bytes` of the frame at this offset of the file; -1 when it does not verify. */
  findIntactFrame(offset: number): number {
    if (!this.#loadRange(offset, FRAME_HEAD_BYTES)) return -1;
    const length = readPayloadLength(this.bytes, offset - this.#start);
    const total = FRAME_HEAD_BYTES + Math.min(length, PAYLOAD_BYTES_MAX);
    if (!this.#loadRange(offset, total)) return -1;
    const at = offset - this.#start;
    return measureIntactFrame(this.bytes, at, at + total) === total ? at : -1;
  }

  /**
   * Reads on from `offset` unless that many bytes are in the window; false when the file ends
   * before.
   */
  #loadRange(offset: number, count: number): boolean {
    if (offset >= this.#start && offset + count <= this.#end) return true;
    if (count > this.bytes.byteLength) this.bytes = Buffer.allocUnsafe(count);
    this.#start = offset;
    this.#end = offset;
    const { byteLength } = this.bytes;
    while (this.#end - offset < count) {
      const have = this.#end - offset;
      const free = byteLength - have;
      const taken = this.#files.read(this.#descriptor, this.bytes, have, free, this.#end);
      if (taken <= 0) return false;
      this.#end += taken;
    }
    return true;
  }
}
