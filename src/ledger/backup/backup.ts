// A backup of a data directory, whether a service runs on it or not. Order: the sealed segments, which
// are most of it and never change; the other files; the journal's end, again if a file has changed
// meanwhile, so that all are of one moment; then the manifest, which puts the new state in force.
import * as fs from "node:fs";
import { join, sep } from "node:path";
import { errnoOf, type FileLayer } from "../../journal/files.ts";
import { JOURNAL_VERSION } from "../../journal/format.ts";
import { dataPaths } from "../../journal/data-directory.ts";
import { readHighWater } from "../snapshot/high-water.ts";
import { SNAPSHOT_VERSION, snapshotsOf } from "../snapshot/format.ts";
import { BackupFault } from "./faults.ts";
import { type CopiedJournal, JournalCopy } from "./journal-copy.ts";
import { listSource, signatureOf, type SourceFile, stampOf } from "./listing.ts";
import { LOCK_FILE, lockBackup } from "./lock.ts";
import {
  findManifest,
  type Manifest,
  MANIFEST_FILE,
  type ManifestBody,
  type StoredFile,
  writeManifest,
} from "./manifest.ts";
import { BackupObjects, OBJECTS_DIRECTORY } from "./objects.ts";

/** Times that the other files are copied until none has changed while the journal's end was. */
const PASSES_MAX = 5;

/** What may lie in a backup's directory. */
const OURS: ReadonlySet<string> = new Set([
  MANIFEST_FILE,
  `${MANIFEST_FILE}.tmp`,
  OBJECTS_DIRECTORY,
  LOCK_FILE,
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
  readonly manifest: ManifestBody;
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
  if (!fs.existsSync(dataPaths(dataDir).journal)) {
    throw new BackupFault(`\`${dataDir}\` holds no journal: there is nothing to back up`);
  }
  prepare(files, dataDir, target);
  const objects = new BackupObjects(files, target);
  const former = findManifest(files, target);
  let release = () => undefined as void;
  try {
    release = lockBackup(target);
    const body = taken(options, objects, former);
    objects.sync();
    writeManifest(files, target, body);
    objects.collect([...body.segments, ...body.files]);
    const { bytesWritten } = objects;
    return { manifest: body, bytesWritten, formerPosition: former?.position };
  } catch (cause) {
    throw explained(cause, target, former, cause instanceof BackupFault ? undefined : objects);
  } finally {
    release();
  }
}

function prepare(files: FileLayer, dataDir: string, target: string): void {
  const isNew = !fs.existsSync(target);
  files.makeDirectory(target);
  const [source, place] = [fs.realpathSync(dataDir), fs.realpathSync(target)];
  if (`${place}${sep}`.startsWith(`${source}${sep}`)) {
    if (isNew) fs.rmdirSync(target);
    throw new BackupFault("the backup would lie within the data directory: name another one");
  }
  const foreign = files.list(target).find((name) => !OURS.has(name));
  if (foreign !== undefined) {
    throw new BackupFault(
      `\`${target}\` holds other files (\`${foreign}\`): name another directory`,
    );
  }
  files.makeDirectory(join(target, OBJECTS_DIRECTORY));
}

function taken(
  { files, dataDir, nowMs, madeBy }: BackupOptions,
  objects: BackupObjects,
  former: Manifest | undefined,
): ManifestBody {
  const copy = new JournalCopy(files, dataPaths(dataDir).journal, objects, former);
  const rest = new RestCopy(files, dataDir, objects, former);
  copy.copySealed();
  let journal: CopiedJournal;
  let stored: StoredFile[];
  let passes = 0;
  do {
    stored = rest.copy();
    const known = readHighWater(files, dataDir);
    journal = copy.copyTail(known);
    passes++;
  } while (passes < PASSES_MAX && rest.hasChanged());
  return {
    made_by: madeBy,
    made_at: new Date(nowMs).toISOString(),
    position: journal.lsn,
    chain: Buffer.from(journal.chain).toString("hex"),
    formats: { journal: JOURNAL_VERSION, snapshot: SNAPSHOT_VERSION },
    segments: journal.segments,
    files: stored,
  };
}

/** The files beside the journal. What looks as it did at the last copy is not read again. */
class RestCopy {
  readonly #files: FileLayer;
  readonly #root: string;
  readonly #objects: BackupObjects;
  #known: ReadonlyMap<string, StoredFile>;
  #signature = "";

  constructor(
    files: FileLayer,
    root: string,
    objects: BackupObjects,
    former: Manifest | undefined,
  ) {
    this.#files = files;
    this.#root = root;
    this.#objects = objects;
    this.#known = new Map(former?.files.map((each) => [each.path, each]));
  }

  copy(): StoredFile[] {
    const found = listSource(this.#root);
    this.#signature = signatureOf(found);
    const stored = [...found, ...this.#newestSnapshot()].flatMap((each) => this.#copied(each));
    this.#known = new Map(stored.map((each) => [each.path, each]));
    return stored;
  }

  hasChanged(): boolean {
    return signatureOf(listSource(this.#root)) !== this.#signature;
  }

  #newestSnapshot(): SourceFile[] {
    const { snapshots } = dataPaths(this.#root);
    if (!fs.existsSync(snapshots)) return [];
    const [name] = snapshotsOf(this.#files.list(snapshots));
    const stamp = name === undefined ? undefined : stampOf(join(snapshots, name));
    return stamp === undefined ? [] : [{ path: `snapshots/${name}`, stamp }];
  }

  #copied({ path, stamp }: SourceFile): StoredFile[] {
    const known = this.#known.get(path);
    if (known?.stamp === stamp && this.#objects.has(known)) return [known];
    try {
      return [{ ...this.#objects.putFile(join(this.#root, path)), path, stamp }];
    } catch (cause) {
      // Gone since it was listed: the next look finds the list changed.
      if (errnoOf(cause) === "ENOENT" && stampOf(join(this.#root, path)) === undefined) return [];
      throw cause;
    }
  }
}

/** A full disk in words; half a file does not stay behind, unless it is another process's. */
function explained(
  cause: unknown,
  target: string,
  former: Manifest | undefined,
  objects: BackupObjects | undefined,
): unknown {
  try {
    objects?.clear();
  } catch {
    // The next run tries again.
  }
  if (!["ENOSPC", "EDQUOT"].includes(errnoOf(cause))) return cause;
  const kept =
    former === undefined
      ? "there is no backup yet"
      : `the backup of ${former.made_at}, up to position ${former.position}, is unchanged`;
  return new BackupFault(`no room in \`${target}\` (${errnoOf(cause)}): ${kept}`, 1, { cause });
}
