// Files of a data directory that go into a backup beside the journal: all but those that belong to
// the running process, or are made again from the rest. What is not known is kept.
import * as fs from "node:fs";
import { join } from "node:path";

export interface ListedFile {
  /** Relative to the data directory, with `/`. */
  readonly path: string;
  /** Changes whenever the content does. */
  readonly stamp: string;
}

/** Owner, address and lock of a process; marks of one disk; what is half written. */
const EXCLUDED_PATHS: readonly RegExp[] = [
  /^(lock|owner\.json|server\.json|epoch|high-water|restoring)$/,
  // Segments have a way of their own; the rest is made again.
  /^journal\/(?!quarantine-)/,
  /\.tmp$/,
];

/** Made again from the rest; the newest snapshot goes its own way. */
const DERIVED_DIRECTORIES: ReadonlySet<string> = new Set([
  "store",
  "store-export",
  "store-queries",
  "snapshots",
]);

/** Files that only grow; any length of them is as good as a crash leaves. */
export const GROWING_FILE = /\.spool$/;

export function listBackupFiles(root: string): ListedFile[] {
  return listPaths(root, "")
    .filter((path) => !EXCLUDED_PATHS.some((pattern) => pattern.test(path)))
    .toSorted()
    .flatMap((path) => {
      const stamp = readFileStamp(join(root, path));
      return stamp === undefined ? [] : [{ path, stamp }];
    });
}

/** What a file looks like from outside; undefined when it is gone or no file. */
export function readFileStamp(path: string): string | undefined {
  const found = fs.statSync(path, { bigint: true, throwIfNoEntry: false });
  if (found === undefined || !found.isFile()) return undefined;
  return `${found.ino}.${found.size}.${found.mtimeNs}`;
}

/** Equal for two lists between which no file has changed, but for those that only grow. */
export function computeListingFingerprint(files: readonly ListedFile[]): string {
  const still = files.filter(({ path }) => !GROWING_FILE.test(path));
  return JSON.stringify(still.map(({ path, stamp }) => [path, stamp]));
}

function listPaths(root: string, folder: string): string[] {
  let entries: fs.Dirent[];
  try {
    entries = fs.readdirSync(join(root, folder), { withFileTypes: true });
  } catch (cause) {
    // Of a directory that goes away meanwhile there is nothing to keep.
    if (folder !== "" && (cause as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw cause;
  }
  return entries.flatMap((entry) => {
    const path = folder === "" ? entry.name : `${folder}/${entry.name}`;
    if (entry.isDirectory()) {
      return DERIVED_DIRECTORIES.has(path) ? [] : listPaths(root, path);
    }
    // A link to a file (a mounted secret) is kept as the file.
    return entry.isFile() || entry.isSymbolicLink() ? [path] : [];
  });
}
