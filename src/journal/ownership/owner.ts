// Owner file of a data directory: which process owns it, on which host, since when, and which directory
// it was written in, so that a copy of the directory is known as one. It informs; the lock decides.
import { randomUUID } from "node:crypto";
import { readFileSync, readlinkSync, statSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { diskFileLayer, replaceFile } from "../../platform/files.ts";

export const OWNER_FILE = "owner.json";
/** Outlives the owner file, which a clean stop removes. */
export const EPOCH_FILE = "epoch";

export interface DirectoryOwner {
  /** Random name of this ownership: the same process that owns the directory again has another. */
  readonly id: string;
  readonly pid: number;
  readonly host: string;
  /** Start of the process, ISO 8601. */
  readonly startedAt: string;
  /** Rises with every owner of the directory; segment headers carry it. */
  readonly epoch: number;
  /** Device and inode of the directory that the file was written in. */
  readonly directory: string;
  /** The kernel's name of this boot; empty where it has none, as the next two. */
  readonly boot: string;
  /** Namespace in which the pid means a process. */
  readonly pidNamespace: string;
  /** Namespace in which a loopback address means this host. */
  readonly networkNamespace: string;
}

/** This process as the owner of a directory. */
export function buildThisProcessOwner(root: string, epoch: number): DirectoryOwner {
  return {
    id: randomUUID(),
    pid: process.pid,
    host: hostname(),
    startedAt: new Date(Math.round(performance.timeOrigin)).toISOString(),
    epoch,
    directory: readDirectoryId(root),
    ...readBootAndNamespaces(),
  };
}

/** Boot and namespaces of this process. */
export function readBootAndNamespaces(): Pick<
  DirectoryOwner,
  "boot" | "pidNamespace" | "networkNamespace"
> {
  return {
    boot: readTextOrEmpty(() => readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim()),
    pidNamespace: readTextOrEmpty(() => readlinkSync("/proc/self/ns/pid")),
    networkNamespace: readTextOrEmpty(() => readlinkSync("/proc/self/ns/net")),
  };
}

/** The owner file as it lies there, of an owner that may be gone; undefined without a whole one. */
export function readOwner(root: string): DirectoryOwner | undefined {
  const owner = readJson<DirectoryOwner>(join(root, OWNER_FILE));
  return typeof owner?.id === "string" ? owner : undefined;
}

/** Highest epoch that the directory knows of; 0 in a new one. */
export function readEpoch(root: string): number {
  const epoch = readJson<number>(join(root, EPOCH_FILE));
  return Math.max(typeof epoch === "number" ? epoch : 0, readOwner(root)?.epoch ?? 0);
}

/** Puts an owner and its epoch on disk. @throws the disk's error. */
export function writeOwner(root: string, owner: DirectoryOwner): void {
  replaceFile(diskFileLayer, root, EPOCH_FILE, Buffer.from(String(owner.epoch)));
  replaceFile(diskFileLayer, root, OWNER_FILE, Buffer.from(JSON.stringify(owner)));
}

/** Whether a file with these marks was written in another directory and came here by a copy. */
export function isFromOtherDirectory(
  mark: Pick<DirectoryOwner, "directory" | "boot">,
  root: string,
): boolean {
  const here = readDirectoryId(root);
  if (mark.directory === here) return false;
  // Numbers of devices may change at a boot; those of inodes stay.
  return parseInode(mark.directory) !== parseInode(here) || isThisBoot(mark.boot);
}

/** Whether a file is of this boot; one that was written without a look at `/proc/sys` may be. */
export function isThisBoot(boot: string): boolean {
  const { boot: here } = readBootAndNamespaces();
  return boot === here || boot === "" || here === "";
}

/**
 * Whether the kernel has no such process any more, or a zombie. False where this process cannot know:
 * the owner is in another namespace of processes, or on another machine.
 */
export function hasOwnerEnded(
  owner: Pick<DirectoryOwner, "pid" | "boot" | "pidNamespace">,
): boolean {
  const { boot, pidNamespace } = readBootAndNamespaces();
  if (pidNamespace === "" || owner.boot !== boot || owner.pidNamespace !== pidNamespace)
    return false;
  try {
    const stat = readFileSync(`/proc/${owner.pid}/stat`, "latin1");
    // The command may hold spaces and brackets; the state stands behind its last bracket.
    return /^[ZX]/.test(stat.slice(stat.lastIndexOf(")") + 2));
  } catch {
    return true;
  }
}

/** The owner as a person looks for it. */
export function formatOwner({ pid, host, startedAt }: DirectoryOwner): string {
  return `pid ${pid} on host \`${host}\`, started ${startedAt}`;
}

export function readJson<T>(path: string): T | undefined {
  try {
    return (JSON.parse(readFileSync(path, "utf8")) as T | null) ?? undefined;
  } catch {
    return undefined;
  }
}

/** Device and inode: two directories of one machine never share them. */
function readDirectoryId(root: string): string {
  const { dev, ino } = statSync(root, { bigint: true });
  return `${dev}:${ino}`;
}

function parseInode(directory: string): string {
  return directory.slice(directory.indexOf(":") + 1);
}

function readTextOrEmpty(read: () => string): string {
  try {
    return read();
  } catch {
    return "";
  }
}
