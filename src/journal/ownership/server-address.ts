// Address of the server that runs on a data directory, for commands. It names its owner and directory: a
// copied file, or one that a killed server has left, leads nowhere.
import { rmSync } from "node:fs";
import { join } from "node:path";
import { isFileLocked } from "../../platform/file-lock.ts";
import { diskFileLayer, replaceFile } from "../../platform/files.ts";
import { hasOwnerEnded, isFromOtherDirectory, isThisBoot, type DirectoryOwner } from "./owner.ts";
import { readJson, readOwner, readBootAndNamespaces } from "./owner.ts";

export const SERVER_FILE = "server.json";
export const OWNER_LOCK_FILE = "lock";

interface ServerFile extends Pick<DirectoryOwner, "pid" | "host" | "directory" | "boot"> {
  readonly url: string;
  /** Id of the owner that serves. */
  readonly owner: string;
  readonly networkNamespace: string;
}

/** A server that holds a data directory. */
export interface RunningServer {
  readonly url: string;
  readonly pid: number;
  readonly host: string;
  /** False in another network namespace, where the address is another host's. */
  readonly isReachable: boolean;
}

/** Written by `serve` once it listens. */
export function writeServerAddress(root: string, owner: DirectoryOwner, url: string): void {
  const { pid, host, directory, boot, networkNamespace } = owner;
  const file: ServerFile = { url, pid, host, owner: owner.id, directory, boot, networkNamespace };
  replaceFile(diskFileLayer, root, SERVER_FILE, Buffer.from(JSON.stringify(file)));
}

/** Removes the address unless another owner has written its own. */
export function removeOwnServerAddress(root: string, owner: DirectoryOwner): void {
  const file = readJson<ServerFile>(join(root, SERVER_FILE));
  if (file?.owner === owner.id) removeServerAddress(root);
}

/** Removes whatever address lies there: by an owner, when it begins. */
export function removeServerAddress(root: string): void {
  rmSync(join(root, SERVER_FILE), { force: true });
}

/** Whether a process owns the directory now. Changes nothing. */
export function isDirectoryOwned(root: string): boolean {
  return isFileLocked(join(root, OWNER_LOCK_FILE));
}

/**
 * The server that holds this very directory; undefined when none does: nobody holds it, a command
 * does, the address came with a copy, or the server is dying.
 */
export function findServer(root: string): RunningServer | undefined {
  const file = readJson<ServerFile>(join(root, SERVER_FILE));
  if (file === undefined || !isDirectoryOwned(root)) return undefined;
  const owner = readOwner(root);
  if (owner === undefined || owner.id !== file.owner) return undefined;
  if (isFromOtherDirectory(file, root) || isFromOtherDirectory(owner, root) || hasOwnerEnded(owner))
    return undefined;
  const { networkNamespace } = readBootAndNamespaces();
  const isReachable = isThisBoot(file.boot) && file.networkNamespace === networkNamespace;
  return { url: file.url, pid: file.pid, host: file.host, isReachable };
}
