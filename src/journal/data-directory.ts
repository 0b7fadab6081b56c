// Data directory: its paths and its owner. One process at a time owns it, by a lock that the kernel
// releases with the process, whichever container it ran in; each owner has a higher epoch.
import * as fs from "node:fs";
import { dirname, join, resolve } from "node:path";
import { type FileLock, lockFile, findNetworkFileSystem } from "../platform/file-lock.ts";
import { readErrno, diskFileLayer } from "../platform/files.ts";
import {
  isFromOtherDirectory,
  type DirectoryOwner,
  OWNER_FILE,
  buildThisProcessOwner,
  formatOwner,
  readEpoch,
  readOwner,
  writeOwner,
} from "./ownership/owner.ts";
import { OWNER_LOCK_FILE, removeServerAddress, SERVER_FILE } from "./ownership/server-address.ts";

/** Interval in ms between two tries while an owner ends. */
const POLL_MS = 50;

export interface DataPaths {
  readonly root: string;
  readonly journal: string;
  readonly snapshots: string;
  readonly store: string;
  readonly bureauKey: string;
  readonly apiKeys: string;
  readonly server: string;
  readonly owner: string;
  readonly lock: string;
}

/** Paths inside a data directory; creates nothing. */
export function resolveDataPaths(root: string): DataPaths {
  return {
    root,
    journal: join(root, "journal"),
    snapshots: join(root, "snapshots"),
    store: join(root, "store"),
    bureauKey: join(root, "bureau.key"),
    apiKeys: join(root, "keys.json"),
    server: join(root, SERVER_FILE),
    owner: join(root, OWNER_FILE),
    lock: join(root, OWNER_LOCK_FILE),
  };
}

/** Another process owns the directory. `pid` is 0 when it is unknown. */
export class DataDirectoryInUse extends Error {
  readonly pid: number;

  constructor(root: string, owner: DirectoryOwner | undefined) {
    super(`data directory \`${root}\` is in use by ${describeOwner(owner)}`);
    this.name = "DataDirectoryInUse";
    this.pid = owner?.pid ?? 0;
  }
}

/** There while a restore fills the directory: half of one is nobody's to own. */
export const RESTORING_FILE = "restoring";

/** No process can own the directory: it cannot be written, or has no lock that holds. */
export class DataDirectoryUnusable extends Error {
  constructor(root: string, reason: string, options?: ErrorOptions) {
    super(`data directory \`${root}\` cannot be used: ${reason}`, options);
    this.name = "DataDirectoryUnusable";
  }
}

export interface DataDirectoryClaim {
  readonly paths: DataPaths;
  readonly owner: DirectoryOwner;
  /** Rises with every owner; segment headers carry it. */
  readonly epoch: number;
  /** Releases the directory once every claim of this process is released. */
  release(): Promise<void>;
}

export interface DataDirectoryClaimOptions {
  /** Longest wait in ms for an owner that is ending; none when left out. */
  readonly waitMs?: number;
  /** Asked before each further wait: true ends it. */
  readonly isWaitOver?: () => boolean;
  /** Called once with a sentence, when another owner is waited for. */
  readonly onWait?: (detail: string) => void;
  /** Called with a sentence, when the directory is a copy of one that had an owner. */
  readonly onCopy?: (detail: string) => void;
}

interface SharedClaim {
  claim: Promise<{ lock: FileLock; owner: DirectoryOwner }>;
  count: number;
}

// One process may hold a directory in several parts (ledger and store): they share one lock.
const sharedClaims = new Map<string, SharedClaim>();

/**
 * Claims a data directory for this process, creating it (0700) when missing.
 * @throws DataDirectoryInUse when another process owns it, for as long as `waitMs`;
 *   DataDirectoryUnusable when nobody can.
 */
export async function claimDataDirectory(
  root: string,
  options: DataDirectoryClaimOptions = {},
): Promise<DataDirectoryClaim> {
  const paths = explainDiskErrors(root, () => {
    makeDataDirectory(root);
    return resolveDataPaths(fs.realpathSync(root));
  });
  const holding = sharedClaims.get(paths.root) ?? {
    claim: acquireOwnership(paths, options),
    count: 0,
  };
  sharedClaims.set(paths.root, holding);
  holding.count++;
  let owner: DirectoryOwner;
  try {
    ({ owner } = await holding.claim);
  } catch (error) {
    sharedClaims.delete(paths.root);
    throw error;
  }
  let isReleased = false;
  const release = async () => {
    if (isReleased) return;
    isReleased = true;
    holding.count--;
    if (holding.count > 0) return;
    sharedClaims.delete(paths.root);
    const { lock } = await holding.claim;
    // A later owner, which a fence has found, keeps its own.
    if (readOwner(paths.root)?.id === owner.id) fs.rmSync(paths.owner, { force: true });
    lock.release();
  };
  return { paths, owner, epoch: owner.epoch, release };
}

/** Makes the directory where it is missing. @throws the error of the disk that refuses it. */
function makeDataDirectory(root: string): void {
  try {
    diskFileLayer.makeDirectory(root);
  } catch (error) {
    // Node says ENOENT of a read-only disk, too: what is there above tells them apart.
    let above = dirname(resolve(root));
    while (!fs.existsSync(above)) above = dirname(above);
    fs.accessSync(above, fs.constants.W_OK);
    throw error;
  }
}

async function acquireOwnership(paths: DataPaths, options: DataDirectoryClaimOptions) {
  const network = findNetworkFileSystem(paths.root);
  if (network !== undefined) {
    const advice = "put it on a disk of this machine";
    const why = "where another machine may not see its lock";
    throw new DataDirectoryUnusable(paths.root, `it lies on ${network}, ${why}: ${advice}`);
  }
  const lock = await waitForLock(paths, options);
  try {
    if (fs.existsSync(join(paths.root, RESTORING_FILE))) {
      const advice = "empty it, and restore again";
      throw new DataDirectoryUnusable(paths.root, `its restore did not end: ${advice}`);
    }
    const previous = readOwner(paths.root);
    if (previous !== undefined && isFromOtherDirectory(previous, paths.root)) {
      const whose = `a directory that ${formatOwner(previous)} owned`;
      options.onCopy?.(`${paths.root} is a copy of ${whose}: working on the copy's own files`);
    }
    return explainDiskErrors(paths.root, () => {
      const owner = buildThisProcessOwner(paths.root, readEpoch(paths.root) + 1);
      // Whoever listened under it is gone, or never held this directory.
      removeServerAddress(paths.root);
      writeOwner(paths.root, owner);
      return { lock, owner };
    });
  } catch (error) {
    lock.release();
    throw error;
  }
}

async function waitForLock(
  paths: DataPaths,
  options: DataDirectoryClaimOptions,
): Promise<FileLock> {
  const { waitMs = 0, isWaitOver, onWait } = options;
  for (let waitedMs = 0; ; waitedMs += POLL_MS) {
    const lock = explainDiskErrors(paths.root, () => lockFile(paths.lock));
    if (lock !== undefined) return lock;
    const owner = readCurrentOwner(paths.root);
    if (waitedMs >= waitMs || isWaitOver?.() === true) {
      throw new DataDirectoryInUse(paths.root, owner);
    }
    if (waitedMs === 0) {
      const who = describeOwner(owner);
      onWait?.(`${paths.root} is in use by ${who}: waiting up to ${waitMs / 1000} s for it to end`);
    }
    await new Promise((done) => setTimeout(done, POLL_MS));
  }
}

/** The owner that wrote its file here; not one that a copy has brought. */
export function readCurrentOwner(root: string): DirectoryOwner | undefined {
  const owner = readOwner(root);
  return owner === undefined || isFromOtherDirectory(owner, root) ? undefined : owner;
}

function describeOwner(owner: DirectoryOwner | undefined): string {
  return owner === undefined ? "another process" : formatOwner(owner);
}

const ERRNO_REASONS: Readonly<Record<string, string>> = {
  EROFS: "its file system is read-only",
  ENOSPC: "its disk is full, make room first",
  EDQUOT: "its disk quota is used up, make room first",
  EACCES: "this user may not write there",
  EPERM: "this user may not write there",
  ENOLCK: "its file system has no locks",
  ENOSYS: "its file system has no locks",
  EOPNOTSUPP: "its file system has no locks",
};

/** Runs `act`; what the disk says becomes a sentence. */
function explainDiskErrors<T>(root: string, act: () => T): T {
  try {
    return act();
  } catch (cause) {
    const { message } = cause as Error;
    throw new DataDirectoryUnusable(root, ERRNO_REASONS[readErrno(cause)] ?? message, { cause });
  }
}
