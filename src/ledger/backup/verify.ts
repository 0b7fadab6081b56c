// Verifies a backup where it lies: every stored file against its hash, every segment against the
// chain, without a data directory.
import { JournalDamaged } from "../../journal/faults.ts";
import type { FileLayer } from "../../journal/files.ts";
import { segmentName } from "../../journal/format.ts";
import type { JournalPoint } from "../../journal/recovery.ts";
import { BackupFault, damagedBackup } from "./faults.ts";
import { pointBehind } from "./journal-copy.ts";
import { type Manifest, readManifest, type StoredSegment } from "./manifest.ts";
import { BackupObjects } from "./objects.ts";
import { checkSegment } from "./segments.ts";

export interface VerifyReport {
  readonly manifest: Manifest;
  /** One sentence for each file that does not verify. */
  readonly damages: readonly string[];
}

/**
 * Verifies a backup to its last byte. Reads only.
 * @throws BackupFault when there is none, or its manifest does not verify.
 */
export function verifyBackup(files: FileLayer, root: string): VerifyReport {
  const manifest = readManifest(files, root);
  const objects = new BackupObjects(files, root);
  const damages: string[] = [];
  const attempt = (act: () => void) => {
    try {
      act();
    } catch (error) {
      if (!(error instanceof BackupFault)) throw error;
      damages.push(error.message);
    }
  };
  for (const file of manifest.files) {
    attempt(() => objects.stream(file, file.path, () => undefined));
  }
  let buffer: Buffer | undefined;
  for (const [index, segment] of manifest.segments.entries()) {
    attempt(() => {
      const before = pointBehind(manifest.segments.slice(0, index));
      const bytes = readSegment(objects, segment, before, buffer);
      if (bytes.byteLength > (buffer?.byteLength ?? 0)) buffer = bytes;
    });
  }
  const { lsn, chain } = pointBehind(manifest.segments);
  if (lsn !== manifest.position || Buffer.from(chain).toString("hex") !== manifest.chain) {
    damages.push("the manifest's position is not that of its last segment");
  }
  return { manifest, damages };
}

/**
 * The bytes of a segment that continues `before` and ends as the manifest says.
 * @throws BackupFault when it does not.
 */
export function readSegment(
  objects: BackupObjects,
  segment: StoredSegment,
  before: JournalPoint,
  reuse?: Buffer,
): Buffer {
  const name = `journal/${segmentName(segment.first)}`;
  const bytes = objects.read(segment, name, reuse);
  const place = `\`${objects.pathOf(segment)}\`, which is ${name}`;
  try {
    const { lsn, chain } = checkSegment(bytes, segment.first, before, true);
    if (lsn === segment.last && chain.toString("hex") === segment.chain) return bytes;
  } catch (error) {
    if (!(error instanceof JournalDamaged)) throw error;
    throw damagedBackup(`${place}, does not verify: ${error.damage.reason}`);
  }
  throw damagedBackup(`${place}, does not end where the manifest says`);
}
