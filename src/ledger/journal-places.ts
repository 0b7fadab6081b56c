// Single frames of the journal by their place on disk: for what a start must read again without
// walking through all the outcomes in between.
import type { FileLayer } from "./journal-files.ts";
import { JournalDamaged } from "./journal-faults.ts";
import {
  FRAME_BYTES,
  frameLength,
  intactFrameBytes,
  PAYLOAD_BYTES_MAX,
  segmentName,
} from "./journal-format.ts";

/** A frame's place on disk: its segment by first position, its byte offset in that file. */
export interface FramePlace {
  readonly segment: number;
  readonly offset: number;
}

/**
 * Visits the frames at `places`, in their order, each as a buffer and the frame's offset in it.
 * @throws JournalDamaged when a frame is not there or its checksum does not hold.
 */
export function readFrames(
  files: FileLayer,
  directory: string,
  places: readonly FramePlace[],
  visit: (bytes: Buffer, at: number) => void,
): void {
  let open = -1;
  let descriptor = -1;
  try {
    for (const place of places) {
      if (place.segment !== open) {
        if (descriptor >= 0) files.close(descriptor);
        descriptor = files.open(`${directory}/${segmentName(place.segment)}`, "read");
        open = place.segment;
      }
      visit(readFrame(files, descriptor, place), 0);
    }
  } finally {
    if (descriptor >= 0) files.close(descriptor);
  }
}

function readFrame(files: FileLayer, descriptor: number, place: FramePlace): Buffer {
  const { segment, offset } = place;
  const head = Buffer.alloc(FRAME_BYTES);
  files.read(descriptor, head, 0, FRAME_BYTES, offset);
  const total = FRAME_BYTES + Math.min(frameLength(head, 0), PAYLOAD_BYTES_MAX);
  const frame = Buffer.alloc(total);
  for (let at = 0; at < total;) {
    const taken = files.read(descriptor, frame, at, total - at, offset + at);
    if (taken <= 0) break;
    at += taken;
  }
  if (intactFrameBytes(frame, 0, total) !== total) {
    const reason = "a durable record does not verify or is missing";
    throw new JournalDamaged({ segment: segmentName(segment), offset, afterLsn: 0, reason });
  }
  return frame;
}
