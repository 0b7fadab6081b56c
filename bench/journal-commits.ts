// Commits in a journal, read from its files.
import { readdirSync } from "node:fs";
import path from "node:path";
import { diskFileLayer, readWhole } from "../src/platform/files.ts";
import {
  FRAME_HEAD_BYTES,
  FRAME_KINDS,
  readFrameKind,
  readPayloadLength,
  SEGMENT_HEADER_BYTES,
  parseSegmentNames,
} from "../src/journal/format.ts";

/** One sync per commit: the commits of the journal are counted. */
export function countCommits(dataDir: string): number {
  const journal = path.join(dataDir, "journal");
  let commits = 0;
  for (const { name } of parseSegmentNames(readdirSync(journal))) {
    const bytes = readWhole(diskFileLayer, path.join(journal, name));
    for (let at = SEGMENT_HEADER_BYTES; at + FRAME_HEAD_BYTES <= bytes.byteLength;) {
      if (readFrameKind(bytes, at) === FRAME_KINDS.commit) commits++;
      at += FRAME_HEAD_BYTES + readPayloadLength(bytes, at);
    }
  }
  return commits;
}
