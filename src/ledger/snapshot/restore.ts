// Start of the ledger from the newest snapshot that verifies and that the journal passes through;
// from an empty table when there is none. A snapshot is a short cut, never a source.
import type { TableImage } from "../../engine/image.ts";
import type { FileLayer } from "../../platform/files.ts";
import { JournalPointUnknown } from "../../journal/recovery.ts";
import { loadSnapshot, SnapshotRefused, type LoadedSnapshot } from "./files.ts";
import { type EngineIdentity, selectSnapshotNames } from "./format.ts";

export interface SnapshotSource {
  files: FileLayer;
  /** Made when missing. */
  directory: string;
  identity: EngineIdentity;
  /** Of the empty memory to start in. */
  image: TableImage;
  /** Most bytes that an image may have. */
  imageBytesMax?: number;
  /** Called with the reason why a snapshot was ignored: lower case, one line. */
  ignored: (why: string) => void;
}

/**
 * Calls `open` with the table in place and the snapshot it came from, or with an empty table.
 * `open` may throw JournalPointUnknown or SnapshotRefused before it folds: the next older snapshot
 * is tried then.
 */
export function startFromSnapshot<Opened>(
  source: SnapshotSource,
  open: (start: LoadedSnapshot | undefined) => Opened,
): Opened {
  const { files, directory, identity, image } = source;
  const reserve = (bytes: number) => {
    if (bytes <= (source.imageBytesMax ?? Number.POSITIVE_INFINITY)) return image.reserve(bytes);
    throw new SnapshotRefused("its table is larger than the memory that tables may take now");
  };
  files.makeDirectory(directory);
  for (const name of selectSnapshotNames(files.list(directory))) {
    try {
      const path = `${directory}/${name}`;
      return open(loadSnapshot(files, path, identity, reserve));
    } catch (error) {
      const isUnusable = error instanceof SnapshotRefused || error instanceof JournalPointUnknown;
      if (!isUnusable) throw error;
      image.wipe();
      source.ignored(`snapshot ${name} ignored: ${error.message}`);
    }
  }
  return open(undefined);
}
