// A backup of a data directory, whether a service runs on it or not. Order: the sealed segments, which
// are most of it and never change; the other files; the journal's end, again if a file has changed
// meanwhile, so that all are of one moment; then the manifest, which puts the new state in force.
import * as fs from "node:fs";
import { join, sep } from "node:path";
import { readErrno, type FileLayer } from "../../platform/files.ts";
import { JOURNAL_VERSION } from "../../journal/format.ts";
import { resolveDataPaths } from "../../journal/data-directory.ts";
import { readHighWater } from "../snapshot/high-water.ts";
import { SNAPSHOT_VERSION } from "../snapshot/format.ts";
import { BackupFault } from "./faults.ts";
import { type CopiedJournal, JournalCopier } from "./journal-copy.ts";
import { BACKUP_LOCK_FILE, lockBackup } from "./lock.ts";
import {
  readManifestIfPresent,
  type BackupManifest,
  MANIFEST_FILE,
  type BackupManifestBody,
  type StoredFile,
  writeManifest,
} from "./manifest.ts";
import { BackupObjects, OBJECTS_DIRECTORY } from "./objects.ts";
import { OtherFilesCopier } from "./other-files-copier.ts";

/** Times that the other files are copied until none has changed while the journal's end was. */
const PASSES_MAX = 5;

/** What may lie in a backup's directory. */
const BACKUP_NAMES: ReadonlySet<string> = new Set([
  MANIFEST_FILE,
  `${MANIFEST_FILE}.tmp`,
  OBJECTS_DIRECTORY,
  BACKUP_LOCK_FILE,
  "lost+found",
]);

export interface BackupOptions {
  readonly files: FileLayer;
  readonly dataDir: string;
  /** Made (0700) when missing; else empty or with an earlier backup of the same service. */
  readonly target: string;
  readonly nowMs: number;
  /** Version of this release. */
  readonly madeBy: string;
}

export interface BackupReport {
  readonly manifest: BackupManifestBody;
  /** Bytes that this run has written, the manifest aside. */
  readonly bytesWritten: number;
  /** Position of the backup that was there before; undefined for a first one. */
  readonly formerPosition: number | undefined;
}

/**
 * Makes a backup, or brings one up to date. The one that was there stays in force if it throws, or if
 * the process ends before it returns.
 * @throws BackupFault when the target cannot take it; JournalDamaged when the journal does not
 *   verify; the file layer's error.
 */
export function backUp(options: BackupOptions): BackupReport {
  const { files, dataDir, target } = options;
  if (!fs.existsSync(resolveDataPaths(dataDir).journal)) {
    throw new BackupFault(`\`${dataDir}\` holds no journal: there is nothing to back up`);
  }
  if (fs.existsSync(join(target, "archive.json"))) {
    throw new BackupFault(`\`${target}\` is the archive of a service: name another directory`);
  }
  prepareBackupDirectory(files, dataDir, target);
  const objects = new BackupObjects(files, target);
  const former = readManifestIfPresent(files, target);
  let release = () => undefined as void;
  try {
    release = lockBackup(target);
    const body = copyIntoBackup(options, objects, former);
    objects.syncNames();
    writeManifest(files, target, body);
    objects.removeAllBut([...body.segments, ...body.files]);
    const { bytesWritten } = objects;
    return { manifest: body, bytesWritten, formerPosition: former?.position };
  } catch (cause) {
    throw cleanUpAndExplain(
      cause,
      target,
      former,
      cause instanceof BackupFault ? undefined : objects,
    );
  } finally {
    release();
  }
}

/**
 * Makes the directory of a backup where there is none.
 * @param more names that may lie in it besides.
 * @throws BackupFault when it is within the data directory or holds something else.
 */
export function prepareBackupDirectory(
  files: FileLayer,
  dataDir: string,
  target: string,
  more: ReadonlySet<string> = new Set(),
): void {
  const isNew = !fs.existsSync(target);
  files.makeDirectory(target);
  const [source, place] = [fs.realpathSync(dataDir), fs.realpathSync(target)];
  if (`${place}${sep}`.startsWith(`${source}${sep}`)) {
    if (isNew) fs.rmdirSync(target);
    throw new BackupFault("the backup would lie within the data directory: name another one");
  }
  const foreign = files.list(target).find((name) => !BACKUP_NAMES.has(name) && !more.has(name));
  if (foreign !== undefined) {
    throw new BackupFault(
      `\`${target}\` holds other files (\`${foreign}\`): name another directory`,
    );
  }
  files.makeDirectory(join(target, OBJECTS_DIRECTORY));
}

function copyIntoBackup(
  { files, dataDir, nowMs, madeBy }: BackupOptions,
  objects: BackupObjects,
  former: BackupManifest | undefined,
): BackupManifestBody {
  const copy = new JournalCopier(files, resolveDataPaths(dataDir).journal, objects, former);
  copy.copySealed();
  const rest = new OtherFilesCopier({ files, root: dataDir, objects, former });
  const { stored, journal } = copyConsistently(rest, () =>
    copy.copyTail(readHighWater(files, dataDir)),
  );
  return buildManifest(journal, stored, nowMs, madeBy);
}

/**
 * Copies the other files, then the journal's end; again if a file has changed meanwhile. After five
 * rounds the last one is taken.
 */
export function copyConsistently(
  rest: OtherFilesCopier,
  copyEnd: () => CopiedJournal,
): { stored: readonly StoredFile[]; journal: CopiedJournal } {
  let stored: readonly StoredFile[];
  let journal: CopiedJournal;
  let passes = 0;
  do {
    stored = rest.copyAll();
    journal = copyEnd();
    passes++;
  } while (passes < PASSES_MAX && rest.hasSourceChanged());
  return { stored, journal };
}

/** What a manifest says of them. */
export function buildManifest(
  journal: CopiedJournal,
  files: readonly StoredFile[],
  nowMs: number,
  madeBy: string,
): BackupManifestBody {
  return {
    made_by: madeBy,
    made_at: new Date(nowMs).toISOString(),
    position: journal.lsn,
    chain: Buffer.from(journal.chain).toString("hex"),
    formats: { journal: JOURNAL_VERSION, snapshot: SNAPSHOT_VERSION },
    segments: journal.segments,
    files,
  };
}

/** A full disk in words; half a file does not stay behind, unless it is another process's. */
function cleanUpAndExplain(
  cause: unknown,
  target: string,
  former: BackupManifest | undefined,
  objects: BackupObjects | undefined,
): unknown {
  try {
    objects?.removeUnfinished();
  } catch {
    // The next run tries again.
  }
  if (!["ENOSPC", "EDQUOT"].includes(readErrno(cause))) return cause;
  const kept =
    former === undefined
      ? "there is no backup yet"
      : `the backup of ${former.made_at}, up to position ${former.position}, is unchanged`;
  return new BackupFault(`no room in \`${target}\` (${readErrno(cause)}): ${kept}`, 1, { cause });
}
