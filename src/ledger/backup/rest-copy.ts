// Copies the files of a data directory beside the journal into a backup. What looks as it did at the
// last copy is not read again.
import * as fs from "node:fs";
import { join } from "node:path";
import { dataPaths } from "../../journal/data-directory.ts";
import { readErrno, type FileLayer } from "../../journal/files.ts";
import { listSnapshots } from "../snapshot/format.ts";
import { listSource, computeListingSignature, type SourceFile, readFileStamp } from "./listing.ts";
import type { Manifest, StoredContent, StoredFile } from "./manifest.ts";
import type { BackupObjects } from "./objects.ts";

const SNAPSHOTS = "snapshots/";

export interface RestCopyOptions {
  readonly files: FileLayer;
  /** The data directory. */
  readonly root: string;
  readonly objects: BackupObjects;
  readonly former: Pick<Manifest, "files"> | undefined;
  /** Keep the snapshot that is there, if there is one; else the newest is taken. */
  readonly isSnapshotKept?: boolean;
  /** Stores a file that only grows, by its path; undefined for any other one. */
  readonly grow?: (path: string) => StoredContent | undefined;
}

export class RestCopy {
  readonly #options: RestCopyOptions;
  #known: ReadonlyMap<string, StoredFile>;
  #signature = "";

  constructor(options: RestCopyOptions) {
    this.#options = options;
    this.#known = new Map(options.former?.files.map((each) => [each.path, each]));
  }

  copy(): StoredFile[] {
    const found = listSource(this.#options.root);
    this.#signature = computeListingSignature(found);
    const stored = found.flatMap((each) => this.#copied(each));
    stored.push(...(this.#keptSnapshot() ?? this.#newestSnapshot()));
    this.#known = new Map(stored.map((each) => [each.path, each]));
    return stored;
  }

  hasChanged(): boolean {
    return computeListingSignature(listSource(this.#options.root)) !== this.#signature;
  }

  #keptSnapshot(): StoredFile[] | undefined {
    if (this.#options.isSnapshotKept !== true) return undefined;
    const kept = [...this.#known.values()].filter(({ path }) => path.startsWith(SNAPSHOTS));
    return kept.length > 0 && kept.every((each) => this.#options.objects.has(each))
      ? kept
      : undefined;
  }

  #newestSnapshot(): StoredFile[] {
    const { snapshots } = dataPaths(this.#options.root);
    if (!fs.existsSync(snapshots)) return [];
    const [name] = listSnapshots(this.#options.files.list(snapshots));
    const stamp = name === undefined ? undefined : readFileStamp(join(snapshots, name));
    return stamp === undefined ? [] : this.#copied({ path: `${SNAPSHOTS}${name}`, stamp });
  }

  #copied({ path, stamp }: SourceFile): StoredFile[] {
    const { root, objects, grow } = this.#options;
    const known = this.#known.get(path);
    if (known?.stamp === stamp && objects.has(known)) return [known];
    try {
      return [{ ...(grow?.(path) ?? objects.putFile(join(root, path))), path, stamp }];
    } catch (cause) {
      // Gone since it was listed: the next look finds the list changed.
      if (readErrno(cause) === "ENOENT" && readFileStamp(join(root, path)) === undefined) return [];
      throw cause;
    }
  }
}
