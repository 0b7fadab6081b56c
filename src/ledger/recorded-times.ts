// Times on record at the end of a journal, to compare a clock with.
import { join } from "node:path";
import { type FileLayer, readFileRange } from "../platform/files.ts";
import {
  FRAME_HEAD_BYTES,
  readFrameTimeUs,
  SEGMENT_HEADER_BYTES,
  parseSegmentNames,
} from "../journal/format.ts";
import { JournalReader } from "../journal/reader.ts";

/** Time (epoch ms) of the first record of the newest segment that has one; undefined without. */
export function readNewestSegmentStartMs(files: FileLayer, directory: string): number | undefined {
  for (const { name } of parseSegmentNames(files.list(directory)).toReversed()) {
    const path = join(directory, name);
    const frame = readFileRange(files, path, SEGMENT_HEADER_BYTES, FRAME_HEAD_BYTES);
    const isWhole = frame.byteLength === FRAME_HEAD_BYTES;
    const ms = isWhole ? readFrameTimeUs(frame, 0) / 1000 : 0;
    if (ms > 0) return ms;
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
  const reader = new JournalReader(files, directory);
  let ms: number | undefined;
  try {
    reader.readRecords(lsn - 1, lsn, 1, (bytes, at) => (ms = readFrameTimeUs(bytes, at) / 1000));
  } finally {
    reader.close();
  }
  return ms;
}
