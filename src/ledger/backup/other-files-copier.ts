// Copies the files of a data directory beside the journal into a backup. What looks as it did at the
// last copy is not read again.
import * as fs from "node:fs";
import { join } from "node:path";
import { resolveDataPaths } from "../../journal/data-directory.ts";
import { readErrno, type FileLayer } from "../../platform/files.ts";
import { selectSnapshotNames } from "../snapshot/format.ts";
import {
  listBackupFiles,
  computeListingFingerprint,
  type ListedFile,
  readFileStamp,
} from "./listing.ts";
import type { BackupManifest, StoredContent, StoredFile } from "./manifest.ts";
import type { BackupObjects } from "./objects.ts";

const SNAPSHOTS_PREFIX = "snapshots/";

export interface OtherFilesCopierOptions {
  readonly files: FileLayer;
  /** The data directory. */
  readonly root: string;
  readonly objects: BackupObjects;
  readonly former: Pick<BackupManifest, "files"> | undefined;
  /** Keep the snapshot that is there, if there is one; else the newest is taken. */
  readonly isSnapshotKept?: boolean;
  /** Stores a file that only grows, by its path; undefined for any other one. */
  readonly grow?: (path: string) => StoredContent | undefined;
}

export class OtherFilesCopier {
  readonly #options: OtherFilesCopierOptions;
  #storedByPath: ReadonlyMap<string, StoredFile>;
  #listingFingerprint = "";

  constructor(options: OtherFilesCopierOptions) {
    this.#options = options;
    this.#storedByPath = new Map(options.former?.files.map((each) => [each.path, each]));
  }

  copyAll(): StoredFile[] {
    const found = listBackupFiles(this.#options.root);
    this.#listingFingerprint = computeListingFingerprint(found);
    const stored = found.flatMap((each) => this.#copyFile(each));
    stored.push(...(this.#findKeptSnapshot() ?? this.#copyNewestSnapshot()));
    this.#storedByPath = new Map(stored.map((each) => [each.path, each]));
    return stored;
  }

  hasSourceChanged(): boolean {
    return (
      computeListingFingerprint(listBackupFiles(this.#options.root)) !== this.#listingFingerprint
    );
  }

  #findKeptSnapshot(): StoredFile[] | undefined {
    if (this.#options.isSnapshotKept !== true) return undefined;
    const kept = [...this.#storedByPath.values()].filter(({ path }) =>
      path.startsWith(SNAPSHOTS_PREFIX),
    );
    return kept.length > 0 && kept.every((each) => this.#options.objects.hasContent(each))
      ? kept
      : undefined;
  }

  #copyNewestSnapshot(): StoredFile[] {
    const { snapshots } = resolveDataPaths(this.#options.root);
    if (!fs.existsSync(snapshots)) return [];
    const [name] = selectSnapshotNames(this.#options.files.list(snapshots));
    const stamp = name === undefined ? undefined : readFileStamp(join(snapshots, name));
    return stamp === undefined ? [] : this.#copyFile({ path: `${SNAPSHOTS_PREFIX}${name}`, stamp });
  }

  #copyFile({ path, stamp }: ListedFile): StoredFile[] {
    const { root, objects, grow } = this.#options;
    const known = this.#storedByPath.get(path);
    if (known?.stamp === stamp && objects.hasContent(known)) return [known];
    try {
      return [{ ...(grow?.(path) ?? objects.putFile(join(root, path))), path, stamp }];
    } catch (cause) {
      // Gone since it was listed: the next look finds the list changed.
      if (readErrno(cause) === "ENOENT" && readFileStamp(join(root, path)) === undefined) return [];
      throw cause;
    }
  }
}
