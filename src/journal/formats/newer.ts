// Bytes of a newer release, told from damage: their checksums hold, and their version or
// kind is one that this release does not know. Cutting or mending those would destroy evidence, so it is looked for
// before anything is cut or called damaged.
import { FileUnusable } from "../faults.ts";
import {
  FRAME_KIND_MAX,
  readFrameKind,
  readSegmentVersion,
  measureIntactFrame,
  JOURNAL_VERSION,
} from "../format.ts";

const ADVICE =
  "start the release that wrote it, or restore a backup of before; `trustrank upgrade --check` says what else there is";
/** A kind is one byte. */
export const KIND_BYTE_MAX = 255;

/** @throws FileUnusable when the header is whole and of a version after this release's. */
export function assertSupportedHeader(bytes: Buffer, directory: string, name: string): void {
  const version = readSegmentVersion(bytes);
  if (version === undefined || version <= JOURNAL_VERSION) return;
  const reason = `it is of version ${version} of the journal, and this release reads ${JOURNAL_VERSION}`;
  throw new FileUnusable({ path: `${directory}/${name}`, reason, advice: ADVICE });
}

/**
 * Looks at the frames from `from` on, as far as their checksums hold.
 * @throws FileUnusable when one of them is of a kind after those of this release.
 */
export function assertSupportedFrames(
  bytes: Buffer,
  from: number,
  directory: string,
  name: string,
): void {
  let at = from;
  for (;;) {
    const total = measureIntactFrame(bytes, at, bytes.byteLength, KIND_BYTE_MAX);
    if (total === 0) return;
    const kind = readFrameKind(bytes, at);
    if (kind > FRAME_KIND_MAX) {
      const reason = `it holds records of kind ${kind}, and this release reads those up to ${FRAME_KIND_MAX}`;
      throw new FileUnusable({ path: `${directory}/${name}`, reason, advice: ADVICE });
    }
    at += total;
  }
}
