// Verifies a backup where it lies: every stored file against its hash, every segment against the
// chain, without a data directory.
import { JournalDamaged } from "../../journal/faults.ts";
import type { FileLayer } from "../../platform/files.ts";
import { formatSegmentName } from "../../journal/format.ts";
import type { JournalPoint } from "../../journal/recovery.ts";
import { BackupFault, createBackupDamageFault } from "./faults.ts";
import { findEndPoint } from "./journal-copy.ts";
import { type BackupManifest, requireManifest, type StoredSegment } from "./manifest.ts";
import { BackupObjects } from "./objects.ts";
import { verifySegment } from "./segments.ts";

export interface BackupVerification {
  readonly manifest: BackupManifest;
  /** One sentence for each file that does not verify. */
  readonly damages: readonly string[];
}

/**
 * Verifies a backup to its last byte. Reads only.
 * @throws BackupFault when there is none, or its manifest does not verify.
 */
export function verifyBackup(files: FileLayer, root: string): BackupVerification {
  const manifest = requireManifest(files, root);
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
    attempt(() => objects.readSlices(file, file.path, () => undefined));
  }
  let buffer: Buffer | undefined;
  for (const [index, segment] of manifest.segments.entries()) {
    attempt(() => {
      const before = findEndPoint(manifest.segments.slice(0, index));
      const bytes = readVerifiedSegment(objects, segment, before, buffer);
      if (bytes.byteLength > (buffer?.byteLength ?? 0)) buffer = bytes;
    });
  }
  const { lsn, chain } = findEndPoint(manifest.segments);
  if (lsn !== manifest.position || Buffer.from(chain).toString("hex") !== manifest.chain) {
    damages.push("the manifest's position is not that of its last segment");
  }
  return { manifest, damages };
}

/**
 * The bytes of a segment that continues `before` and ends as the manifest says.
 * @throws BackupFault when it does not.
 */
export function readVerifiedSegment(
  objects: BackupObjects,
  segment: StoredSegment,
  before: JournalPoint,
  reuse?: Buffer,
): Buffer {
  const name = `journal/${formatSegmentName(segment.first)}`;
  const bytes = objects.read(segment, name, reuse);
  const place = `\`${objects.resolvePath(segment)}\`, which is ${name}`;
  try {
    const { lsn, chain } = verifySegment(bytes, segment.first, before, true);
    if (lsn === segment.last && chain.toString("hex") === segment.chain) return bytes;
  } catch (error) {
    if (!(error instanceof JournalDamaged)) throw error;
    throw createBackupDamageFault(`${place}, does not verify: ${error.damage.reason}`);
  }
  throw createBackupDamageFault(`${place}, does not end where the manifest says`);
}
