// `trustrank backup`, `restore` and `archive`: makes and verifies backups, while the service runs or not; restores
// one into an empty data directory, whole or as of a point in time; lists and prunes the earlier states of an archive.
import { DAY_MS } from "../../contract/units.ts";
import { KAIZEN_STATE_PATH, type KaizenState, rewindStateTo } from "../../kaizen/service/files.ts";
import { pruneArchive } from "../../ledger/archive/prune.ts";
import { listArchiveStates, readArchiveState } from "../../ledger/archive/states.ts";
import { backUp } from "../../ledger/backup/backup.ts";
import { type BackupManifestBody, requireManifest } from "../../ledger/backup/manifest.ts";
import { restoreBackup, type RestoredPoint } from "../../ledger/backup/restore.ts";
import type { RestoreLimit } from "../../ledger/backup/segments.ts";
import { verifyBackup } from "../../ledger/backup/verify.ts";
import { diskFileLayer } from "../../platform/files.ts";
import { lowerThreadPriority } from "../../platform/thread-priority.ts";
import { CommandFailure, EXIT_DAMAGED } from "../../service/failure.ts";
import { readPackageVersion } from "../../service/identity.ts";
import { print, printJson, type OutputFlags } from "../output.ts";

const US_PER_MS = 1000;

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

export interface RestoreFlags extends OutputFlags {
  until?: RestoreLimit;
  /** Name of an earlier state of an archive. */
  state?: string;
  newServiceId?: boolean;
}

/** Restores, and says where the journal ends now. */
export async function runRestore(
  backup: string,
  dataDir: string,
  flags: RestoreFlags,
): Promise<void> {
  const isNewService = flags.newServiceId === true;
  const { until, state } = flags;
  const found = state === undefined ? undefined : readArchiveState(diskFileLayer, backup, state);
  const options = {
    files: diskFileLayer,
    backup,
    dataDir,
    manifest: found,
    until,
    isNewService,
    asOf: selectWeightsAtPoint,
  };
  const { manifest, point, bytes, hasSnapshot } = await restoreBackup(options);
  const endsAt = point.timeUs === 0 ? null : formatRestoredTime(point);
  if (flags.json === true)
    return printJson({
      data_dir: dataDir,
      position: point.lsn,
      chain: Buffer.from(point.chain).toString("hex"),
      ends_at: endsAt,
      backup_position: manifest.position,
      snapshot: hasSnapshot,
      bytes,
    });
  print(`restored up to position ${point.lsn} of ${manifest.position}, ${bytes} bytes`);
  if (endsAt !== null) print(`the last record is of ${endsAt}`);
  print(`check it with \`trustrank doctor --data-dir ${dataDir}\` before you start on it`);
}

/** Weights as they were live at the point; everything else as of the backup. */
function selectWeightsAtPoint(
  path: string,
  content: Buffer,
  point: RestoredPoint,
): Uint8Array | undefined {
  if (path !== KAIZEN_STATE_PATH) return undefined;
  const state = JSON.parse(content.toString()) as KaizenState;
  const then = rewindStateTo(state, point.timeUs / US_PER_MS, point.lsn);
  return Buffer.from(JSON.stringify(then, null, 2));
}

function formatRestoredTime({ timeUs }: RestoredPoint): string {
  return new Date(timeUs / US_PER_MS).toISOString();
}

/** Lists the state in force and the earlier ones, oldest first. @throws BackupFault without any. */
export function listArchive(root: string, { json }: OutputFlags): void {
  const inForce = requireManifest(diskFileLayer, root);
  const states = listArchiveStates(diskFileLayer, root);
  const all = [
    ...states.map(({ name, isParted, manifest }) => ({
      ...formatStateRow(manifest),
      name,
      isParted,
    })),
    { ...formatStateRow(inForce), name: null, isParted: false },
  ];
  if (json === true) {
    return printJson(all.map(({ isParted, ...row }) => ({ ...row, is_parted: isParted })));
  }
  for (const { name, isParted, position, made_at: madeAt } of all) {
    const what = isParted ? ", of a history that the journal has parted from" : "";
    print(`${name ?? "in force"}: position ${position}, of ${madeAt}${what}`);
  }
}

/** Removes states older than so many days, and what only they have. */
export function runArchivePrune(root: string, flags: OutputFlags & { keep: number }): void {
  requireManifest(diskFileLayer, root);
  const nowMs = Date.now();
  const pruned = pruneArchive(diskFileLayer, root, nowMs - flags.keep * DAY_MS, nowMs);
  if (flags.json === true) {
    return printJson({ archive: root, states: pruned.states, objects: pruned.objects ?? null });
  }
  print(
    `removed ${pruned.states.length} states${pruned.states.map((each) => `\n  ${each}`).join("")}`,
  );
  if (pruned.objects === undefined) {
    print("a service ships there now: it removes what only they had within half an hour");
  } else print(`removed ${pruned.objects} objects that nothing names`);
}

function formatStateRow({ position, chain, made_at }: BackupManifestBody) {
  return { position, chain, made_at };
}
