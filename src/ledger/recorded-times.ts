// Times on record at the end of a journal, to compare a clock with.
import { join } from "node:path";
import type { FileLayer } from "../platform/files.ts";
import {
  FRAME_HEAD_BYTES,
  readFrameTimeUs,
  SEGMENT_HEADER_BYTES,
  parseSegmentNames,
} from "../journal/format.ts";
import { openJournalReader } from "../journal/reader.ts";

/** Time (epoch ms) of the first record of the newest segment that has one; undefined without. */
export function readNewestSegmentStartMs(files: FileLayer, directory: string): number | undefined {
  for (const { name } of parseSegmentNames(files.list(directory)).toReversed()) {
    const descriptor = files.open(join(directory, name), "read");
    try {
      const frame = Buffer.alloc(FRAME_HEAD_BYTES);
      const count = files.read(descriptor, frame, 0, FRAME_HEAD_BYTES, SEGMENT_HEADER_BYTES);
      const ms = count === FRAME_HEAD_BYTES ? readFrameTimeUs(frame, 0) / 1000 : 0;
      if (ms > 0) return ms;
    } finally {
      files.close(descriptor);
    }
  }
  return undefined;
}

/** Time (epoch ms) of the record at `lsn`, the last one; undefined where there is none. */
export function readLastRecordMs(
  files: FileLayer,
  directory: string,
  lsn: number,
): number | undefined {
  if (lsn === 0) return undefined;
  const reader = openJournalReader(files, directory);
  let ms: number | undefined;
  try {
    reader.readRecords(lsn - 1, lsn, 1, (bytes, at) => (ms = readFrameTimeUs(bytes, at) / 1000));
  } finally {
    reader.close();
  }
  return ms;
}
