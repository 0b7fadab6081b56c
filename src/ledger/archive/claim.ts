// Owner of an archive: `archive.json` names the service, and the process that writes now. The kernel's
// lock keeps two apart where the file system has locks; the claim does so where it has none, and tells a
// process that its archive is gone or was taken over.
import * as fs from "node:fs";
import { join } from "node:path";
import { hash } from "node:crypto";
import { type FileLayer, readWhole, replaceFile } from "../../platform/files.ts";
import { BackupFault } from "../backup/faults.ts";
import type { BackupManifest } from "../backup/manifest.ts";

export const ARCHIVE_FILE = "archive.json";

export interface ArchiveClaim {
  readonly service_id: string;
  /** Random; another one with each process that writes. */
  readonly writer: string;
  readonly pid: number;
  readonly host: string;
}

/** Another process writes there now; this one has to stop. */
export class ArchiveTakenOver extends BackupFault {}

/**
 * Claims an archive, or an earlier backup of the same service, for this process.
 * @throws BackupFault when it is another service's.
 */
export function claimArchive(
  files: FileLayer,
  root: string,
  claim: ArchiveClaim,
  former: BackupManifest | undefined,
): void {
  const known = readClaim(files, root);
  const stored = former?.files.find(({ path }) => path === "service-id")?.sha256;
  // An id of the operator's own is in no file.
  const isOther =
    known === undefined
      ? stored !== undefined && stored !== hash("sha256", `${claim.service_id}\n`)
      : known.service_id !== claim.service_id;
  if (isOther) {
    const whose = known === undefined ? "another service" : `service \`${known.service_id}\``;
    throw new BackupFault(
      `\`${root}\` is the archive of ${whose}, this is \`${claim.service_id}\`: name another directory`,
    );
  }
  replaceFile(files, root, ARCHIVE_FILE, Buffer.from(`${JSON.stringify(claim, null, 1)}\n`));
}

/**
 * @throws ArchiveTakenOver when another process has claimed it since, BackupFault when the directory
 *   is not the one that was claimed.
 */
export function assertClaimed(files: FileLayer, root: string, claim: ArchiveClaim): void {
  const known = readClaim(files, root);
  if (known === undefined) {
    throw new BackupFault(`\`${root}\` is not the archive that was there: is its disk mounted?`);
  }
  if (known.writer === claim.writer) return;
  throw new ArchiveTakenOver(
    `pid ${known.pid} on host ${known.host} writes into the archive \`${root}\` now: ` +
      "one of two services is wrong; this one ships no more until it is started again",
  );
}

function readClaim(files: FileLayer, root: string): ArchiveClaim | undefined {
  const path = join(root, ARCHIVE_FILE);
  if (!fs.existsSync(path)) return undefined;
  try {
    return JSON.parse(readWhole(files, path).toString()) as ArchiveClaim;
  } catch (cause) {
    if (!(cause instanceof SyntaxError)) throw cause;
    throw new BackupFault(`\`${path}\` is not JSON: put it back, or name another directory`);
  }
}
