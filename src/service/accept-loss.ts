// Accepts that the end of the journal is lost: what was derived from it goes aside, and the mark is
// set to where the journal ends now. Nothing is deleted but snapshots, which are copies.
import { existsSync } from "node:fs";
import { join } from "node:path";
import { claimDataDirectory } from "../journal/data-directory.ts";
import type { DataDirectoryClaimOptions, DataPaths } from "../journal/data-directory.ts";
import { diskFileLayer } from "../platform/files.ts";
import { recoverJournal } from "../journal/recovery.ts";
import { readKnownDurablePosition, setHighWater } from "../ledger/snapshot/high-water.ts";
import { removeSnapshots } from "../ledger/snapshot/files.ts";
import { DATABASE_FILE, moveDatabaseAside } from "../store/files.ts";

export interface AcceptedLoss {
  readonly firstLost: number;
  readonly lastLost: number;
}

/**
 * Accepts the loss of a stopped service's journal; undefined when nothing is lost.
 * @throws DataDirectoryInUse when a process holds the directory, JournalDamaged when the rest does
 *   not verify: that has to be repaired first.
 */
export async function acceptLoss(
  dataDir: string,
  nowMs: number,
  claiming: DataDirectoryClaimOptions,
): Promise<AcceptedLoss | undefined> {
  const claim = await claimDataDirectory(dataDir, claiming);
  try {
    return acceptJournalEnd(claim.paths, nowMs);
  } finally {
    await claim.release();
  }
}

/** The same in a directory that this process holds. */
export function acceptJournalEnd(paths: DataPaths, nowMs: number): AcceptedLoss | undefined {
  const known = readKnownDurablePosition(diskFileLayer, paths.root, paths.snapshots);
  diskFileLayer.makeDirectory(paths.journal);
  const isReadOnly = true;
  const { tail } = recoverJournal(diskFileLayer, paths.journal, () => undefined, { isReadOnly });
  if (tail.lsn >= known.lsn) return undefined;
  removeSnapshots(diskFileLayer, paths.snapshots);
  // Rows of lost records would stand beside those that come to their positions.
  if (existsSync(join(paths.store, DATABASE_FILE))) moveDatabaseAside(paths.store, nowMs);
  setHighWater(diskFileLayer, paths.root, tail.lsn);
  return { firstLost: tail.lsn + 1, lastLost: known.lsn };
}

/** Says which positions were given up, and what follows from it. */
export function describeAcceptedLoss({ firstLost, lastLost }: AcceptedLoss): string {
  return `positions ${firstLost} to ${lastLost} are lost; snapshots and store are made anew`;
}
