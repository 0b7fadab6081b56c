// `trustrank backup`: copies what cannot be made again, while the service runs or not, or verifies
// the copy that is there.
import { diskFileLayer } from "../../platform/files.ts";
import { backUp } from "../../ledger/backup/backup.ts";
import type { BackupManifestBody } from "../../ledger/backup/manifest.ts";
import { verifyBackup } from "../../ledger/backup/verify.ts";
import { lowerThreadPriority } from "../../platform/thread-priority.ts";
import { CommandFailure, EXIT_DAMAGED } from "../../service/failure.ts";
import { readPackageVersion } from "../../service/identity.ts";
import { print, printJson, type OutputFlags } from "../output.ts";

interface BackupFlags extends OutputFlags {
  verify?: boolean;
}

/**
 * Makes or updates a backup, or with `--verify` only looks at it.
 * @throws CommandFailure with exit code 65 when one that is there does not verify.
 */
export function runBackup(dataDir: string, target: string, flags: BackupFlags): void {
  // A service on the same machine comes first.
  lowerThreadPriority();
  if (flags.verify === true) return runBackupVerification(target, flags);
  const madeBy = readPackageVersion();
  const report = backUp({ files: diskFileLayer, dataDir, target, nowMs: Date.now(), madeBy });
  const { manifest, bytesWritten, formerPosition } = report;
  if (flags.json === true)
    return printJson({ ...describeBackupAsJson(target, manifest), bytes_written: bytesWritten });
  const since = formerPosition === undefined ? "" : `; position ${formerPosition} was there`;
  print(`backed up ${formatBackup(manifest)}`);
  print(`wrote ${bytesWritten} bytes to ${target}${since}`);
}

function runBackupVerification(target: string, flags: BackupFlags): void {
  const { manifest, damages } = verifyBackup(diskFileLayer, target);
  if (flags.json === true) {
    printJson({ ...describeBackupAsJson(target, manifest), ok: damages.length === 0, damages });
  } else {
    for (const damage of damages) print(`WRONG  ${damage}`);
    if (damages.length === 0) print(`ok     ${formatBackup(manifest)}, of ${manifest.made_at}`);
  }
  if (damages.length === 0) return;
  throw new CommandFailure(`\`${target}\` has ${damages.length} damaged files`, EXIT_DAMAGED);
}

function describeBackupAsJson(target: string, manifest: BackupManifestBody) {
  const { position, made_at: madeAt, segments, files } = manifest;
  return {
    backup: target,
    position,
    chain: manifest.chain,
    made_at: madeAt,
    segments: segments.length,
    files: files.length,
    bytes: sumBackupBytes(manifest),
  };
}

function formatBackup(manifest: BackupManifestBody): string {
  const { position, segments, files } = manifest;
  return `position ${position}: ${segments.length} segments and ${files.length} files, ${sumBackupBytes(manifest)} bytes`;
}

function sumBackupBytes({ segments, files }: BackupManifestBody): number {
  return [...segments, ...files].reduce((sum, { bytes }) => sum + bytes, 0);
}
