// Manifest of a backup: which files it holds, by hash, and up to which commit of the journal it goes.
// It is replaced last, in one step: until then the backup is what it was before.
import { hash } from "node:crypto";
import { join } from "node:path";
import { formatCanonicalJson } from "../../contract/canonical-json.ts";
import { type FileLayer, readWhole, replaceFile } from "../../platform/files.ts";
import { BackupFault, createBackupDamageFault } from "./faults.ts";

export const MANIFEST_FILE = "manifest.json";
/** Form of the manifest and of the files beside it: 1, or 2 where a content lies in parts. */
const BACKUP_VERSION = 2;
const VERSION_WITHOUT_PARTS = 1;

/** A stored file: its content lies in `objects/` under its SHA-256. */
export interface StoredObject {
  readonly bytes: number;
  readonly sha256: string;
}

/** The content of a file: one object, or several that follow one another. */
export interface StoredContent extends StoredObject {
  /** Left out where the content is one object. */
  readonly parts?: readonly StoredObject[];
}

/** A file of the data directory that is no journal segment. */
export interface StoredFile extends StoredContent {
  /** Relative to the data directory, with `/`. */
  readonly path: string;
  /** What the source looked like: unchanged means that its content need not be read again. */
  readonly stamp: string;
}

/** A segment of the journal, up to its last commit. */
export interface StoredSegment extends StoredContent {
  readonly first: number;
  /** Below `first` for a segment without a record. */
  readonly last: number;
  /** Hex of the chain at its end. */
  readonly chain: string;
  /** Time of its latest commit, epoch us; 0 without one. */
  readonly time_us: number;
  /** Never written again. */
  readonly is_sealed: boolean;
}

export interface BackupManifest {
  readonly version: number;
  /** Version of the release that made it. */
  readonly made_by: string;
  /** RFC 3339. */
  readonly made_at: string;
  /** Last position of the journal. */
  readonly position: number;
  /** Hex of the journal's chain there. */
  readonly chain: string;
  /** Versions of the formats within. */
  readonly formats: { readonly journal: number; readonly snapshot: number };
  readonly segments: readonly StoredSegment[];
  readonly files: readonly StoredFile[];
}

export type BackupManifestBody = Omit<BackupManifest, "version">;

/** The objects that a content consists of. */
export function listStoredParts(content: StoredContent): readonly StoredObject[] {
  return content.parts ?? [content];
}

/** Puts a manifest in force, durably; under another name it only stays beside it. */
export function writeManifest(
  files: FileLayer,
  root: string,
  body: BackupManifestBody,
  name = MANIFEST_FILE,
): void {
  const hasParts = [...body.segments, ...body.files].some(({ parts }) => parts !== undefined);
  const version = hasParts ? BACKUP_VERSION : VERSION_WITHOUT_PARTS;
  const manifest: BackupManifest = { ...body, version };
  const text = JSON.stringify({ sha256: digestManifest(manifest), manifest }, null, 1);
  replaceFile(files, root, name, Buffer.from(`${text}\n`));
}

/**
 * The manifest in force; undefined when there is none.
 * @throws BackupFault when it does not verify or is of a later version.
 */
export function readManifestIfPresent(
  files: FileLayer,
  root: string,
  name = MANIFEST_FILE,
): BackupManifest | undefined {
  if (!files.list(root).includes(name)) return undefined;
  const path = join(root, name);
  let read: { sha256?: unknown; manifest?: BackupManifest };
  try {
    read = JSON.parse(readWhole(files, path).toString()) as typeof read;
  } catch {
    throw createBackupDamageFault(`\`${path}\` is not JSON: use another copy of the backup`);
  }
  const { sha256, manifest } = read;
  if (manifest === undefined || digestManifest(manifest) !== sha256) {
    throw createBackupDamageFault(
      `\`${path}\` does not have its own hash: use another copy of the backup`,
    );
  }
  if (manifest.version > BACKUP_VERSION) {
    throw new BackupFault(
      `the backup is of version ${manifest.version}, this release reads up to ${BACKUP_VERSION}`,
    );
  }
  return manifest;
}

/**
 * The manifest of a backup.
 * @throws BackupFault when the directory holds none, or one that does not verify.
 */
export function requireManifest(files: FileLayer, root: string): BackupManifest {
  let manifest: BackupManifest | undefined;
  try {
    manifest = readManifestIfPresent(files, root);
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== "ENOENT") throw cause;
  }
  if (manifest === undefined) throw new BackupFault(`\`${root}\` holds no backup`);
  return manifest;
}

function digestManifest(manifest: BackupManifest): string {
  return hash("sha256", formatCanonicalJson(manifest));
}
