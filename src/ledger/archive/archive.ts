// Archive of a running service: a backup that is brought up to date every few seconds. In the form of a
// backup, so that the same commands verify and restore it, with two additions: the open segment lies in
// parts, and earlier states stay beside the one in force. No step changes a file that a manifest
// names, and the manifest comes last: a copy made in that order is whole, too.
import { join } from "node:path";
import { resolveDataPaths } from "../../journal/data-directory.ts";
import { readErrno, type FileLayer, readWhole } from "../../platform/files.ts";
import { buildManifest, copyConsistently, prepareBackupDirectory } from "../backup/backup.ts";
import { JournalParted } from "../backup/faults.ts";
import { GROWING_FILE } from "../backup/listing.ts";
import { lockBackup } from "../backup/lock.ts";
import {
  readManifestIfPresent,
  type BackupManifestBody,
  type StoredContent,
  writeManifest,
} from "../backup/manifest.ts";
import { BackupObjects } from "../backup/objects.ts";
import { OtherFilesCopier } from "../backup/other-files-copier.ts";
import {
  ARCHIVE_FILE,
  type ArchiveClaim,
  ArchiveTakenOver,
  assertClaimed,
  claimArchive,
} from "./claim.ts";
import { GrowingContent, JournalArchiver } from "./journal-tail.ts";
import { saveArchiveState, STATES_DIRECTORY, listArchiveStates } from "./states.ts";

/** What no manifest names is there for this long at least, for a copy of the archive that is under way. */
const SWEEP_INTERVAL_MS = 15 * 60_000;
/** A snapshot shortens a restore's first start; each is as large as the agent table. */
const SNAPSHOT_INTERVAL_MS = 3_600_000;
const DISK_FULL_ERRNOS: ReadonlySet<string> = new Set(["ENOSPC", "EDQUOT"]);
/** May lie in an archive beside what a backup has. */
const ARCHIVE_NAMES: ReadonlySet<string> = new Set([
  ARCHIVE_FILE,
  `${ARCHIVE_FILE}.tmp`,
  STATES_DIRECTORY,
]);

export interface ArchiveOptions {
  readonly files: FileLayer;
  readonly dataDir: string;
  /** Made (0700) when missing; else empty, this service's archive or a backup of it. */
  readonly target: string;
  readonly claim: ArchiveClaim;
  /** Version of this release. */
  readonly madeBy: string;
  /** Position up to which the journal is known to be on disk, now. */
  readonly durable: () => number;
}

export interface ArchiveUpdate {
  /** Up to which the archive goes now. */
  readonly position: number;
  /** Name of the state that was kept because the journal had parted from it at the first shipment. */
  readonly parted: string | undefined;
}

/** Opened by the first shipment; one process writes into an archive at a time. */
export class Archive {
  readonly #options: ArchiveOptions;
  readonly #objects: BackupObjects;
  #releaseLock: (() => void) | undefined;
  #takenOver: ArchiveTakenOver | undefined;
  #currentManifest: BackupManifestBody | undefined;
  #partedState: string | undefined;
  #journal: JournalArchiver | undefined;
  #growingContents = new Map<string, GrowingContent>();
  #snapshotMs = -Infinity;
  #sweptMs = -Infinity;
  #unreferencedBefore: ReadonlySet<string> = new Set();

  constructor(options: ArchiveOptions) {
    this.#options = options;
    this.#objects = new BackupObjects(options.files, options.target);
  }

  /**
   * Brings the archive up to date. What was there stays in force if it throws; call it again later.
   * @param nowMs epoch ms.
   * @throws BackupFault when the directory is not this service's archive or was taken over,
   *   JournalDamaged when the journal does not verify, the file layer's error.
   */
  update(nowMs: number): ArchiveUpdate {
    if (this.#takenOver !== undefined) throw this.#takenOver;
    try {
      this.#open();
      this.#writeUpdate(nowMs);
      this.#removeUnreferencedObjects(nowMs);
      return { position: this.#currentManifest!.position, parted: this.#partedState };
    } catch (cause) {
      this.#cleanUpAfterFailure(cause);
      throw cause;
    }
  }

  /** Lets another process write there. */
  close(): void {
    this.#releaseLock?.();
    this.#releaseLock = undefined;
  }

  #open(): void {
    const { files, dataDir, target, claim } = this.#options;
    if (this.#releaseLock !== undefined) return assertClaimed(files, target, claim);
    prepareBackupDirectory(files, dataDir, target, ARCHIVE_NAMES);
    const release = lockBackup(target);
    try {
      const former = readManifestIfPresent(files, target);
      claimArchive(files, target, claim, former);
      this.#currentManifest = former;
      this.#releaseLock = release;
    } finally {
      if (this.#releaseLock === undefined) release();
    }
  }

  #writeUpdate(nowMs: number): void {
    const { files, target } = this.#options;
    let body: BackupManifestBody;
    try {
      body = this.#copyDataDirectory(nowMs);
    } catch (cause) {
      if (!(cause instanceof JournalParted)) throw cause;
      this.#partedState = saveArchiveState(files, target, this.#currentManifest!, "parted");
      this.#currentManifest = undefined;
      this.#journal = undefined;
      body = this.#copyDataDirectory(nowMs);
    }
    if (this.#currentManifest !== undefined) {
      if (isSameManifest(this.#currentManifest, body)) return;
      const isNewDay = this.#currentManifest.made_at.slice(0, 10) !== body.made_at.slice(0, 10);
      if (isNewDay) saveArchiveState(files, target, this.#currentManifest, "daily");
    }
    this.#objects.syncNames();
    assertClaimed(files, target, this.#options.claim);
    writeManifest(files, target, body);
    if (this.#isSnapshotDue(nowMs)) this.#snapshotMs = nowMs;
    this.#currentManifest = body;
    this.#journal!.confirmTail();
    this.#objects.writtenNames.length = 0;
  }

  #copyDataDirectory(nowMs: number): BackupManifestBody {
    const { files, dataDir, madeBy, durable } = this.#options;
    const objects = this.#objects;
    const former = this.#currentManifest;
    this.#journal ??= new JournalArchiver(
      files,
      resolveDataPaths(dataDir).journal,
      objects,
      former,
    );
    const journal = this.#journal;
    journal.archiveSealed();
    const rest = new OtherFilesCopier({
      files,
      root: dataDir,
      objects,
      former,
      isSnapshotKept: !this.#isSnapshotDue(nowMs),
      grow: (path) => this.#storeGrowingFile(path),
    });
    // What the other files name is durable by the time that they are read.
    const taken = copyConsistently(rest, () => journal.archiveTail(durable()));
    const paths = new Set(taken.stored.map(({ path }) => path));
    for (const path of this.#growingContents.keys())
      if (!paths.has(path)) this.#growingContents.delete(path);
    return buildManifest(taken.journal, taken.stored, nowMs, madeBy);
  }

  #storeGrowingFile(path: string): StoredContent | undefined {
    if (!GROWING_FILE.test(path)) return undefined;
    const { files, dataDir } = this.#options;
    const bytes = readWhole(files, join(dataDir, path));
    const known = this.#growingContents.get(path);
    const from = known !== undefined && known.bytes <= bytes.byteLength ? known : undefined;
    const content = from ?? GrowingContent.EMPTY;
    const grown = content.withAppended(bytes.subarray(content.bytes), this.#objects, () => bytes);
    this.#growingContents.set(path, grown);
    return grown.bytes === 0 ? undefined : grown.buildStoredContent();
  }

  #isSnapshotDue(nowMs: number): boolean {
    return nowMs - this.#snapshotMs >= SNAPSHOT_INTERVAL_MS;
  }

  /** Removes what no manifest names now, nor did the last time. */
  #removeUnreferencedObjects(nowMs: number): void {
    const sinceMs = nowMs - this.#sweptMs;
    if (sinceMs >= 0 && sinceMs < SWEEP_INTERVAL_MS) return;
    const unnamed = this.#listUnreferencedObjects();
    this.#objects.removeUnfinished();
    this.#objects.remove(unnamed.filter((name) => this.#unreferencedBefore.has(name)));
    this.#unreferencedBefore = new Set(unnamed);
    this.#sweptMs = nowMs;
  }

  #listUnreferencedObjects(): string[] {
    const { files, target } = this.#options;
    const states = listArchiveStates(files, target).map(({ manifest }) => manifest);
    const all = this.#currentManifest === undefined ? states : [...states, this.#currentManifest];
    return this.#objects.listUnreferenced(all.flatMap((each) => [...each.segments, ...each.files]));
  }

  /**
   * Leaves nothing behind that a failed shipment has written, but sealed segments; on a full disk nothing
   * that is unnamed.
   */
  #cleanUpAfterFailure(cause: unknown): void {
    if (cause instanceof ArchiveTakenOver) {
      this.#takenOver = cause;
      return this.close();
    }
    if (this.#releaseLock === undefined) return;
    const written = new Set(this.#objects.writtenNames);
    this.#objects.writtenNames.length = 0;
    this.#growingContents = new Map();
    try {
      this.#objects.removeUnfinished();
      // A first shipment would read and write them all again.
      const sealed = new Set(this.#journal?.sealed.map(({ sha256 }) => sha256));
      const isFull = DISK_FULL_ERRNOS.has(readErrno(cause));
      const isToGo = (name: string) => !sealed.has(name) && (isFull || written.has(name));
      this.#objects.remove(this.#listUnreferencedObjects().filter(isToGo));
    } catch {
      // The next shipment tries again.
    }
  }
}

/** Whether a new manifest would say nothing new. */
function isSameManifest(former: BackupManifestBody, body: BackupManifestBody): boolean {
  const formatContent = ({ segments, files }: BackupManifestBody) =>
    JSON.stringify([segments, files]);
  return former.chain === body.chain && formatContent(former) === formatContent(body);
}
