// Archive of a running service: a backup that is brought up to date every few seconds. In the form of a
// backup, so that the same commands verify and restore it, with two additions: the open segment lies in
// parts, and earlier states stay beside the one in force. No step changes a file that a manifest
// names, and the manifest comes last: a copy made in that order is whole, too.
import { join } from "node:path";
import { dataPaths } from "../../journal/data-directory.ts";
import { readErrno, type FileLayer, readWhole } from "../../journal/files.ts";
import { buildManifest, ofOneMoment, prepareTarget } from "../backup/backup.ts";
import { JournalParted } from "../backup/faults.ts";
import { GROWING } from "../backup/listing.ts";
import { lockBackup } from "../backup/lock.ts";
import {
  findManifest,
  type ManifestBody,
  type StoredContent,
  writeManifest,
} from "../backup/manifest.ts";
import { BackupObjects } from "../backup/objects.ts";
import { RestCopy } from "../backup/rest-copy.ts";
import {
  ARCHIVE_FILE,
  type ArchiveClaim,
  ArchiveTakenOver,
  assertClaimed,
  claimArchive,
} from "./claim.ts";
import { GrowingContent } from "./growing.ts";
import { JournalShipment } from "./journal-tail.ts";
import { keepState, STATES_DIRECTORY, listArchiveStates } from "./states.ts";

/** What no manifest names is there for this long at least, for a copy of the archive that is under way. */
const SWEEP_MS = 15 * 60_000;
/** A snapshot shortens a restore's first start; each is as large as the agent table. */
const SNAPSHOT_MS = 3_600_000;
const FULL: ReadonlySet<string> = new Set(["ENOSPC", "EDQUOT"]);
/** May lie in an archive beside what a backup has. */
const OURS: ReadonlySet<string> = new Set([ARCHIVE_FILE, `${ARCHIVE_FILE}.tmp`, STATES_DIRECTORY]);

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

export interface Shipment {
  /** Up to which the archive goes now. */
  readonly position: number;
  /** Name of the state that was kept because the journal had parted from it at the first shipment. */
  readonly parted: string | undefined;
}

/** Opened by the first shipment; one process writes into an archive at a time. */
export class Archive {
  readonly #options: ArchiveOptions;
  readonly #objects: BackupObjects;
  #release: (() => void) | undefined;
  #takenOver: ArchiveTakenOver | undefined;
  #former: ManifestBody | undefined;
  #parted: string | undefined;
  #journal: JournalShipment | undefined;
  #growing = new Map<string, GrowingContent>();
  #snapshotMs = -Infinity;
  #sweptMs = -Infinity;
  #unnamed: ReadonlySet<string> = new Set();

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
  ship(nowMs: number): Shipment {
    if (this.#takenOver !== undefined) throw this.#takenOver;
    try {
      this.#open();
      this.#shipped(nowMs);
      this.#sweep(nowMs);
      return { position: this.#former!.position, parted: this.#parted };
    } catch (cause) {
      this.#recover(cause);
      throw cause;
    }
  }

  /** Lets another process write there. */
  close(): void {
    this.#release?.();
    this.#release = undefined;
  }

  #open(): void {
    const { files, dataDir, target, claim } = this.#options;
    if (this.#release !== undefined) return assertClaimed(files, target, claim);
    prepareTarget(files, dataDir, target, OURS);
    const release = lockBackup(target);
    try {
      const former = findManifest(files, target);
      claimArchive(files, target, claim, former);
      this.#former = former;
      this.#release = release;
    } finally {
      if (this.#release === undefined) release();
    }
  }

  #shipped(nowMs: number): void {
    const { files, target } = this.#options;
    let body: ManifestBody;
    try {
      body = this.#taken(nowMs);
    } catch (cause) {
      if (!(cause instanceof JournalParted)) throw cause;
      this.#parted = keepState(files, target, this.#former!, "parted");
      this.#former = undefined;
      this.#journal = undefined;
      body = this.#taken(nowMs);
    }
    if (this.#former !== undefined) {
      if (isSame(this.#former, body)) return;
      const isNewDay = this.#former.made_at.slice(0, 10) !== body.made_at.slice(0, 10);
      if (isNewDay) keepState(files, target, this.#former, "daily");
    }
    this.#objects.sync();
    assertClaimed(files, target, this.#options.claim);
    writeManifest(files, target, body);
    if (this.#isSnapshotDue(nowMs)) this.#snapshotMs = nowMs;
    this.#former = body;
    this.#journal!.settle();
    this.#objects.written.length = 0;
  }

  #taken(nowMs: number): ManifestBody {
    const { files, dataDir, madeBy, durable } = this.#options;
    const objects = this.#objects;
    const former = this.#former;
    this.#journal ??= new JournalShipment(files, dataPaths(dataDir).journal, objects, former);
    const journal = this.#journal;
    journal.shipSealed();
    const rest = new RestCopy({
      files,
      root: dataDir,
      objects,
      former,
      isSnapshotKept: !this.#isSnapshotDue(nowMs),
      grow: (path) => this.#grown(path),
    });
    // What the other files name is durable by the time that they are read.
    const taken = ofOneMoment(rest, () => journal.shipTail(durable()));
    const paths = new Set(taken.stored.map(({ path }) => path));
    for (const path of this.#growing.keys()) if (!paths.has(path)) this.#growing.delete(path);
    return buildManifest(taken.journal, taken.stored, nowMs, madeBy);
  }

  #grown(path: string): StoredContent | undefined {
    if (!GROWING.test(path)) return undefined;
    const { files, dataDir } = this.#options;
    const bytes = readWhole(files, join(dataDir, path));
    const known = this.#growing.get(path);
    const from = known !== undefined && known.bytes <= bytes.byteLength ? known : undefined;
    const content = from ?? GrowingContent.EMPTY;
    const grown = content.with(bytes.subarray(content.bytes), this.#objects, () => bytes);
    this.#growing.set(path, grown);
    return grown.bytes === 0 ? undefined : grown.stored();
  }

  #isSnapshotDue(nowMs: number): boolean {
    return nowMs - this.#snapshotMs >= SNAPSHOT_MS;
  }

  /** Removes what no manifest names now, nor did the last time. */
  #sweep(nowMs: number): void {
    const sinceMs = nowMs - this.#sweptMs;
    if (sinceMs >= 0 && sinceMs < SWEEP_MS) return;
    const unnamed = this.#namedByNone();
    this.#objects.clear();
    this.#objects.remove(unnamed.filter((name) => this.#unnamed.has(name)));
    this.#unnamed = new Set(unnamed);
    this.#sweptMs = nowMs;
  }

  #namedByNone(): string[] {
    const { files, target } = this.#options;
    const states = listArchiveStates(files, target).map(({ manifest }) => manifest);
    const all = this.#former === undefined ? states : [...states, this.#former];
    return this.#objects.unnamed(all.flatMap((each) => [...each.segments, ...each.files]));
  }

  /**
   * Leaves nothing behind that a failed shipment has written, but sealed segments; on a full disk nothing
   * that is unnamed.
   */
  #recover(cause: unknown): void {
    if (cause instanceof ArchiveTakenOver) {
      this.#takenOver = cause;
      return this.close();
    }
    if (this.#release === undefined) return;
    const written = new Set(this.#objects.written);
    this.#objects.written.length = 0;
    this.#growing = new Map();
    try {
      this.#objects.clear();
      // A first shipment would read and write them all again.
      const sealed = new Set(this.#journal?.sealed.map(({ sha256 }) => sha256));
      const isFull = FULL.has(readErrno(cause));
      const isToGo = (name: string) => !sealed.has(name) && (isFull || written.has(name));
      this.#objects.remove(this.#namedByNone().filter(isToGo));
    } catch {
      // The next shipment tries again.
    }
  }
}

/** Whether a new manifest would say nothing new. */
function isSame(former: ManifestBody, body: ManifestBody): boolean {
  const textOf = ({ segments, files }: ManifestBody) => JSON.stringify([segments, files]);
  return former.chain === body.chain && textOf(former) === textOf(body);
}
