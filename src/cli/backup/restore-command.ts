// `trustrank restore`: a backup into an empty data directory, whole or as of a point in time.
import { KAIZEN_STATE_PATH, type KaizenState, rewindStateTo } from "../../kaizen/service/files.ts";
import { diskFileLayer } from "../../platform/files.ts";
import { readArchiveState } from "../../ledger/archive/states.ts";
import { restoreBackup, type RestoredPoint } from "../../ledger/backup/restore.ts";
import type { RestoreLimit } from "../../ledger/backup/segments.ts";
import { print, printJson, type OutputFlags } from "../output.ts";

export interface RestoreFlags extends OutputFlags {
  until?: RestoreLimit;
  /** Name of an earlier state of an archive. */
  state?: string;
  newServiceId?: boolean;
}

const US_PER_MS = 1000;

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
