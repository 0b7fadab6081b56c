// Restores a backup into an empty directory, whole or up to a point in time. Nobody can own a directory
// whose restore was cut short: a file says so from the first step to the last. Should somebody remove
// that, the high-water mark comes before the journal and the bureau's key after all else: a start finds
// records or the key missing.
import * as fs from "node:fs";
import { dirname, isAbsolute, join, normalize } from "node:path";
import { claimDataDirectory, RESTORING_FILE } from "../../journal/data-directory.ts";
import { type FileLayer, replaceFile, writeFully, writeNewFile } from "../../platform/files.ts";
import { formatSegmentName } from "../../journal/format.ts";
import { type JournalPoint, NEWEST_FILE } from "../../journal/recovery.ts";
import { setHighWater } from "../snapshot/high-water.ts";
import { BackupFault, createBackupDamageFault } from "./faults.ts";
import { findEndPoint } from "./journal-copy.ts";
import {
  type BackupManifest,
  requireManifest,
  type StoredFile,
  type StoredSegment,
} from "./manifest.ts";
import { BackupObjects, writeSlices } from "./objects.ts";
import { isAfterLimit, findLastCommitWithin, type RestoreLimit } from "./segments.ts";
import { readVerifiedSegment } from "./verify.ts";

/** The commit that a restored journal ends with. */
export interface RestoredPoint extends JournalPoint {
  /** Epoch us; 0 for an empty journal. */
  readonly timeUs: number;
}

export interface RestoreOptions {
  readonly files: FileLayer;
  readonly backup: string;
  /** Made when missing; must be empty. */
  readonly dataDir: string;
  /** Of that backup; the one in force when left out. */
  readonly manifest?: BackupManifest | undefined;
  readonly until?: RestoreLimit | undefined;
  /** Leave the service id out: the next start makes another. */
  readonly isNewService?: boolean;
  /**
   * Gives a file the content that it had at an earlier point, by its path; undefined where the one
   * in the backup holds. Asked only if the journal is cut.
   */
  readonly rewindFile?: (
    path: string,
    content: Buffer,
    point: RestoredPoint,
  ) => Uint8Array | undefined;
}

export interface RestoreReport {
  readonly manifest: BackupManifest;
  readonly point: RestoredPoint;
  readonly bytes: number;
  /** Whether a snapshot was restored; else the first start replays. */
  readonly hasSnapshot: boolean;
}

/** What an empty file system and an owner that has gone leave behind. */
const IGNORED_LEFTOVERS: ReadonlySet<string> = new Set(["lost+found", "lock", "epoch"]);
const KEY_FILE = "bureau.key";
const SERVICE_ID_FILE = "service-id";
const SNAPSHOT_PATH = /^snapshots\/snap-(\d+)\.bin$/;

/**
 * Restores. Everything is verified on its way; nothing stays in the directory if it throws.
 * @throws BackupFault when the directory is not empty, the backup does not verify, or `until` lies
 *   before it; DataDirectoryInUse; the file layer's error.
 */
export async function restoreBackup(options: RestoreOptions): Promise<RestoreReport> {
  const { files, backup, dataDir } = options;
  const manifest = options.manifest ?? requireManifest(files, backup);
  assertEmptyDirectory(dataDir);
  const claim = await claimDataDirectory(dataDir);
  const restoration = new Restoration(options, manifest, claim.paths.root);
  try {
    return restoration.run();
  } catch (cause) {
    restoration.removeWritten();
    throw cause;
  } finally {
    await claim.release();
  }
}

function assertEmptyDirectory(dataDir: string): void {
  if (!fs.existsSync(dataDir)) return;
  const found = fs.readdirSync(dataDir).find((name) => !IGNORED_LEFTOVERS.has(name));
  if (found === undefined) return;
  throw new BackupFault(
    `\`${dataDir}\` is not empty (\`${found}\`): restore into a new directory, or empty this one`,
  );
}

/** Where a journal is cut. */
interface JournalCut {
  /** Those that stay as they are. */
  readonly whole: readonly StoredSegment[];
  /** The beginning of the next one, which stays. */
  readonly part: { readonly first: number; readonly bytes: Buffer } | undefined;
  readonly point: RestoredPoint;
}

class Restoration {
  #bytes = 0;
  readonly #options: RestoreOptions;
  readonly #manifest: BackupManifest;
  readonly #root: string;
  readonly #objects: BackupObjects;
  /** What was written, relative to the root. */
  readonly #writtenPaths: string[] = [];
  readonly #directories = new Set<string>();

  constructor(options: RestoreOptions, manifest: BackupManifest, root: string) {
    this.#options = options;
    this.#manifest = manifest;
    this.#root = root;
    this.#objects = new BackupObjects(options.files, options.backup);
  }

  run(): RestoreReport {
    const { files } = this.#options;
    this.#assertFreeSpace();
    const cut = this.#computeCut();
    const { point } = cut;
    const marker = Buffer.from("a restore fills this directory\n");
    this.#writtenPaths.push(
      "high-water",
      "high-water.tmp",
      RESTORING_FILE,
      `${RESTORING_FILE}.tmp`,
    );
    replaceFile(files, this.#root, RESTORING_FILE, marker);
    setHighWater(files, this.#root, point.lsn);
    this.#writeJournal(cut);
    const chosen = this.#manifest.files.filter(({ path }) => this.#isIncluded(path, point));
    for (const file of chosen) if (file.path !== KEY_FILE) this.#writeFile(file, point);
    for (const directory of this.#directories) files.syncDirectory(directory);
    for (const file of chosen) if (file.path === KEY_FILE) this.#writeFile(file, point);
    files.syncDirectory(this.#root);
    files.remove(join(this.#root, RESTORING_FILE));
    files.syncDirectory(this.#root);
    const hasSnapshot = chosen.some(({ path }) => SNAPSHOT_PATH.test(path));
    return { manifest: this.#manifest, point, bytes: this.#bytes, hasSnapshot };
  }

  /** Removes everything again, what was there before is nothing. */
  removeWritten(): void {
    const names = new Set(this.#writtenPaths.map((path) => path.split("/")[0]!));
    for (const name of names) fs.rmSync(join(this.#root, name), { recursive: true, force: true });
  }

  #assertFreeSpace(): void {
    const { segments, files } = this.#manifest;
    const needed = [...segments, ...files].reduce((sum, { bytes }) => sum + bytes, 0);
    const free = this.#options.files.freeBytes(this.#root);
    if (free >= needed) return;
    throw new BackupFault(`no room in \`${this.#root}\`: ${needed} bytes needed, ${free} free`);
  }

  #computeCut(): JournalCut {
    const { segments } = this.#manifest;
    const { until } = this.#options;
    const index =
      until === undefined ? -1 : segments.findIndex((each) => isEndAfterLimit(until, each));
    const whole = index < 0 ? segments : segments.slice(0, index);
    const before = findEndPoint(whole);
    const timeUs = whole.reduce((latest, each) => Math.max(latest, each.time_us), 0);
    const end = { whole, part: undefined, point: { ...before, timeUs } };
    if (index < 0) return this.#assertPositionReached(end);
    const { first } = segments[index]!;
    const bytes = readVerifiedSegment(this.#objects, segments[index]!, before);
    const last = findLastCommitWithin(bytes, bytes.byteLength, until!);
    if (last !== undefined) {
      const part = { first, bytes: bytes.subarray(0, last.end) };
      return { whole, part, point: last };
    }
    if (whole.length > 0) return end;
    throw new BackupFault("the backup's first record is later: nothing is left up to that point");
  }

  /** A position that the backup does not reach is a mistake; a later time is not. */
  #assertPositionReached(cut: JournalCut): JournalCut {
    const { until } = this.#options;
    if (until === undefined || !("position" in until)) return cut;
    if (until.position <= cut.point.lsn) return cut;
    throw new BackupFault(`the backup ends at position ${cut.point.lsn}, before ${until.position}`);
  }

  #isIncluded(path: string, point: RestoredPoint): boolean {
    if (path === SERVICE_ID_FILE) return this.#options.isNewService !== true;
    const [, snapshot] = SNAPSHOT_PATH.exec(path) ?? [];
    return snapshot === undefined || Number(snapshot) <= point.lsn;
  }

  #writeJournal({ whole, part }: JournalCut): void {
    const names: string[] = [];
    let buffer: Buffer | undefined;
    for (const [index, segment] of whole.entries()) {
      const before = findEndPoint(whole.slice(0, index));
      const bytes = readVerifiedSegment(this.#objects, segment, before, buffer);
      if (bytes.byteLength > (buffer?.byteLength ?? 0)) buffer = bytes;
      names.push(formatSegmentName(segment.first));
      this.#writeBytes(`journal/${names.at(-1)}`, bytes);
    }
    if (part !== undefined) {
      names.push(formatSegmentName(part.first));
      this.#writeBytes(`journal/${names.at(-1)}`, part.bytes);
    }
    const newest = names.at(-1);
    if (newest !== undefined) this.#writeBytes(`journal/${NEWEST_FILE}`, Buffer.from(newest));
  }

  #writeFile(file: StoredFile, point: RestoredPoint): void {
    const isCut = point.lsn < this.#manifest.position;
    const { rewindFile } = this.#options;
    if (isCut && rewindFile !== undefined && file.path.endsWith(".json")) {
      const content = this.#objects.read(file, file.path);
      this.#writeBytes(file.path, rewindFile(file.path, content, point) ?? content);
      return;
    }
    this.#write(file.path, (descriptor) =>
      writeSlices(this.#options.files, descriptor, (take) =>
        this.#objects.readSlices(file, file.path, take),
      ),
    );
  }

  #writeBytes(path: string, bytes: Uint8Array): void {
    const { files } = this.#options;
    this.#write(path, (descriptor) => writeFully(files, descriptor, [bytes], 0));
  }

  #write(path: string, fill: (descriptor: number) => number): void {
    const { files } = this.#options;
    const isInside = !isAbsolute(path) && normalize(path) === path && !path.startsWith("..");
    if (!isInside)
      throw createBackupDamageFault(`the manifest names \`${path}\`, outside the directory`);
    this.#writtenPaths.push(path);
    const target = join(this.#root, path);
    files.makeDirectory(dirname(target));
    this.#directories.add(dirname(target));
    this.#bytes += writeNewFile(files, target, fill);
  }
}

/** Whether a segment has a commit that comes after `until`. */
function isEndAfterLimit(until: RestoreLimit, { last, time_us: timeUs }: StoredSegment): boolean {
  return isAfterLimit(until, { lsn: last, timeUs });
}
