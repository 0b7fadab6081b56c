// File operations behind an interface, and durable atomic replacement of files. Tests put a faulty or
// simulated file system under the code that uses it. The default is node:fs, synchronous: the journal
// has its own thread and must know when a sync returned.
import * as fs from "node:fs";
import { open, rename } from "node:fs/promises";
import { basename, dirname, resolve } from "node:path";

/**
 * Synchronous file operations.
 * @throws an error of the shape of NodeJS.ErrnoException, from every call that fails.
 */
export interface FileLayer {
  /** Names in a directory, unsorted. */
  list(directory: string): string[];
  /** Makes a directory and its missing parents (0700), durably. */
  makeDirectory(directory: string): void;
  /** `create` fails when the file exists: evidence is never overwritten. */
  open(path: string, mode: "read" | "write" | "create"): number;
  close(descriptor: number): void;
  /** Size in bytes. */
  size(descriptor: number): number;
  /** Reads up to `length` bytes at `position`; returns the number of bytes read. */
  read(
    descriptor: number,
    target: Uint8Array,
    offset: number,
    length: number,
    position: number,
  ): number;
  /** Writes at `position`; returns the number of bytes taken, which may be fewer than given. */
  write(descriptor: number, parts: readonly Uint8Array[], position: number): number;
  truncate(descriptor: number, length: number): void;
  /** fdatasync: data and size are on disk when it returns. */
  syncData(descriptor: number): void;
  /** fsync of a directory: creations, renames and removals in it are on disk. */
  syncDirectory(directory: string): void;
  rename(from: string, to: string): void;
  remove(path: string): void;
  /** Bytes that an unprivileged writer may still put on the directory's file system. */
  freeBytes(directory: string): number;
}

const OPEN_FLAGS = { read: "r", write: "r+", create: "wx+" } as const;

/** The real disk. Files are private to the owner (0600). */
export const diskFileLayer: FileLayer = {
  list: (directory) => fs.readdirSync(directory),
  makeDirectory: (directory) => {
    const made = fs.mkdirSync(directory, { recursive: true, mode: 0o700 });
    if (made === undefined) return;
    // A synced file is lost if its directory's own entry was lost.
    const top = dirname(resolve(made));
    let parent = resolve(directory);
    do {
      parent = dirname(parent);
      diskFileLayer.syncDirectory(parent);
    } while (parent !== top);
  },
  open: (path, mode) => fs.openSync(path, OPEN_FLAGS[mode], 0o600),
  close: (descriptor) => fs.closeSync(descriptor),
  size: (descriptor) => fs.fstatSync(descriptor).size,
  read: (...range) => fs.readSync(...range),
  write: (descriptor, parts, position) => fs.writevSync(descriptor, parts, position),
  truncate: (descriptor, length) => fs.ftruncateSync(descriptor, length),
  syncData: (descriptor) => fs.fdatasyncSync(descriptor),
  syncDirectory: (directory) => {
    const descriptor = fs.openSync(directory, "r");
    try {
      fs.fsyncSync(descriptor);
    } finally {
      fs.closeSync(descriptor);
    }
  },
  rename: (from, to) => fs.renameSync(from, to),
  remove: (path) => fs.unlinkSync(path),
  freeBytes: (directory) => {
    const { bavail, bsize } = fs.statfsSync(directory);
    return bavail * bsize;
  },
};

/** The errno name of a failed file operation (`ENOSPC`), or empty. */
export function readErrno(cause: unknown): string {
  const code = (cause as { code?: unknown } | null)?.code;
  return typeof code === "string" ? code : "";
}

/**
 * Writes all parts at `position`, continuing after short writes.
 * @returns bytes written.
 * @throws the layer's error when a write fails; ENOSPC when it takes no bytes.
 */
export function writeFully(
  files: FileLayer,
  descriptor: number,
  parts: readonly Uint8Array[],
  position: number,
): number {
  let pending = parts.filter((part) => part.byteLength > 0);
  let at = position;
  while (pending.length > 0) {
    const taken = files.write(descriptor, pending, at);
    if (taken <= 0) {
      throw Object.assign(new Error("the disk took no bytes"), { code: "ENOSPC" });
    }
    at += taken;
    pending = dropBytes(pending, taken);
  }
  return at - position;
}

function dropBytes(parts: readonly Uint8Array[], count: number): Uint8Array[] {
  let left = count;
  const rest: Uint8Array[] = [];
  for (const part of parts) {
    if (left >= part.byteLength) {
      left -= part.byteLength;
    } else {
      rest.push(left > 0 ? part.subarray(left) : part);
      left = 0;
    }
  }
  return rest;
}

/** Opens a file for `work`, and closes it after. */
export function withFile<T>(
  files: FileLayer,
  path: string,
  mode: "read" | "write" | "create",
  work: (descriptor: number) => T,
): T {
  const descriptor = files.open(path, mode);
  try {
    return work(descriptor);
  } finally {
    files.close(descriptor);
  }
}

/** Size of a file in bytes. */
export function readFileSize(files: FileLayer, path: string): number {
  return withFile(files, path, "read", (descriptor) => files.size(descriptor));
}

/** Reads up to `length` bytes of a file from `position` on. */
export function readFileRange(
  files: FileLayer,
  path: string,
  position: number,
  length: number,
): Buffer {
  return withFile(files, path, "read", (descriptor) =>
    readFully(files, descriptor, Buffer.alloc(length), position),
  );
}

/** Reads a whole file into `reuse` when it fits, else into a new buffer. */
export function readWhole(files: FileLayer, path: string, reuse?: Buffer): Buffer {
  return withFile(files, path, "read", (descriptor) => {
    const bytes = files.size(descriptor);
    const target = reuse !== undefined && reuse.byteLength >= bytes ? reuse : Buffer.alloc(bytes);
    return readFully(files, descriptor, target.subarray(0, bytes), 0);
  });
}

/** Fills `target` from `position` on; returns the part that the file had bytes for. */
export function readFully<Bytes extends Uint8Array>(
  files: FileLayer,
  descriptor: number,
  target: Bytes,
  position: number,
): Bytes {
  let at = 0;
  while (at < target.byteLength) {
    const taken = files.read(descriptor, target, at, target.byteLength - at, position + at);
    if (taken <= 0) break;
    at += taken;
  }
  return target.subarray(0, at) as Bytes;
}

/**
 * Replaces a file atomically and durably: temporary file, sync, rename, sync of the directory. A crash
 * leaves the old file or the new one.
 */
export function replaceFile(
  files: FileLayer,
  directory: string,
  name: string,
  content: Uint8Array,
): void {
  const path = `${directory}/${name}`;
  removeIfPresent(files, `${path}.tmp`);
  writeNewFile(files, `${path}.tmp`, (descriptor) => writeFully(files, descriptor, [content], 0));
  files.rename(`${path}.tmp`, path);
  files.syncDirectory(directory);
}

/** Removes a temporary file that an interrupted attempt left. */
export function removeIfPresent(files: FileLayer, path: string): void {
  if (files.list(dirname(path)).includes(basename(path))) files.remove(path);
}

/**
 * Creates a file, and syncs it after `write`.
 * @throws the layer's error; EEXIST when the file exists.
 */
export function writeNewFile<T>(
  files: FileLayer,
  path: string,
  write: (descriptor: number) => T,
): T {
  return withFile(files, path, "create", (descriptor) => {
    const written = write(descriptor);
    files.syncData(descriptor);
    return written;
  });
}

/** Moves a complete file to its path; content and name are on disk when it returns. */
export function moveDurably(from: string, to: string): void {
  withFile(diskFileLayer, from, "read", (descriptor) => diskFileLayer.syncData(descriptor));
  diskFileLayer.rename(from, to);
  diskFileLayer.syncDirectory(dirname(to));
}

/** Like `replaceFile` on the real disk, without blocking the thread. Resolves when it is durable. */
export async function replaceFileAsync(path: string, content: string | Uint8Array): Promise<void> {
  const temporary = `${path}.tmp`;
  const handle = await open(temporary, "w", 0o600);
  try {
    // The mode of `open` does not apply to a file that an interrupted attempt left.
    await handle.chmod(0o600);
    await handle.writeFile(content);
    await handle.sync();
  } finally {
    await handle.close();
  }
  await rename(temporary, path);
  await syncDirectoryAsync(dirname(path));
}

/** fsync of a directory without blocking the thread. */
export async function syncDirectoryAsync(path: string): Promise<void> {
  const handle = await open(path, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
