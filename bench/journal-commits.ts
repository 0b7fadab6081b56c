// Commits in a journal, read from its files.
import { readdirSync } from "node:fs";
import path from "node:path";
import { nodeFiles, readWhole } from "../src/journal/files.ts";
import {
  FRAME_BYTES,
  FRAME_KINDS,
  frameKind,
  frameLength,
  HEADER_BYTES,
  listSegmentFiles,
} from "../src/journal/format.ts";

/** One sync per commit: the commits of the journal are counted. */
export function countCommits(dataDir: string): number {
  const journal = path.join(dataDir, "journal");
  let commits = 0;
  for (const { name } of listSegmentFiles(readdirSync(journal))) {
    const bytes = readWhole(nodeFiles, path.join(journal, name));
    for (let at = HEADER_BYTES; at + FRAME_BYTES <= bytes.byteLength;) {
      if (frameKind(bytes, at) === FRAME_KINDS.commit) commits++;
      at += FRAME_BYTES + frameLength(bytes, at);
    }
  }
  return commits;
}
