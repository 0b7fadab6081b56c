// Lock on a file, kept by the kernel for as long as the descriptor that took it is open: an open file
// description lock on Linux, flock on macOS, LockFileEx on Windows. It ends with its process, however
// that ends, and holds across namespaces of processes and networks. Unlike the older record locks (those
// of SQLite among them) it is not lost when another part of the process closes the same file.
import { closeSync, fstatSync, openSync, statfsSync, statSync } from "node:fs";
import { createRequire } from "node:module";

interface NativeLocks {
  readonly tryLock: (descriptor: number, options?: { shared: boolean }) => boolean;
}

export interface FileLock {
  release(): void;
}

const require = createRequire(import.meta.url);

/** File systems by the kernel's number, on which other machines may not see a lock. */
const NETWORK_FILE_SYSTEMS: ReadonlyMap<number, string> = new Map([
  [0x6969, "NFS"],
  [0x517b, "SMB"],
  [0xff534d42, "SMB"],
  [0xfe534d42, "SMB"],
]);

/**
 * Locks a file, making it (0600) when missing; undefined while another holds it.
 * @throws NodeJS.ErrnoException when the file cannot be opened, or its file system has no locks.
 */
export function lockFile(path: string): FileLock | undefined {
  const { tryLock } = loadNativeLocks();
  const descriptor = openSync(path, "a+", 0o600);
  try {
    // One that was removed meanwhile guards nothing: the next try makes another.
    if (tryLock(descriptor) && isSameFile(descriptor, path)) {
      return { release: () => closeSync(descriptor) };
    }
  } catch (error) {
    closeSync(descriptor);
    throw error;
  }
  closeSync(descriptor);
  return undefined;
}

/** Whether somebody holds the lock, this process included. Changes nothing. */
export function isFileLocked(path: string): boolean {
  let descriptor: number;
  try {
    descriptor = openSync(path, "r");
  } catch {
    return false;
  }
  try {
    return !loadNativeLocks().tryLock(descriptor, { shared: true });
  } finally {
    closeSync(descriptor);
  }
}

/** Name of the network file system that a directory lies on; undefined on any other. */
export function findNetworkFileSystem(
  directory: string,
  typeOf: (directory: string) => number = (at) => statfsSync(at).type,
): string | undefined {
  // Elsewhere these numbers mean other things.
  if (process.platform !== "linux") return undefined;
  return NETWORK_FILE_SYSTEMS.get(typeOf(directory) >>> 0);
}

function isSameFile(descriptor: number, path: string): boolean {
  try {
    return statSync(path, { bigint: true }).ino === fstatSync(descriptor, { bigint: true }).ino;
  } catch {
    return false;
  }
}

function loadNativeLocks(): NativeLocks {
  try {
    return require("fs-native-extensions") as NativeLocks;
  } catch (cause) {
    const system = `${process.platform}-${process.arch}`;
    throw new Error(`no file locks for ${system}: fs-native-extensions does not load`, { cause });
  }
}
