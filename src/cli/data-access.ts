// Access of a command to the data: the files of the data directory, when no server holds it, or the
// server that does. Notes on stderr when it is the server, when it waits, and when the files are a copy.
import { readEnvironment } from "./environment.ts";
import {
  parseDataDirectory,
  parseOwnerWaitMs,
  type ServerAccess,
} from "../service/settings/config.ts";
import { parseServerAccess } from "../service/settings/config.ts";
import { claimDataDirectory, DataDirectoryInUse } from "../journal/data-directory.ts";
import type { DataDirectoryClaimOptions, DataDirectoryClaim } from "../journal/data-directory.ts";
import { findServer, type RunningServer } from "../journal/ownership/server-address.ts";
import { CommandFailure } from "../service/failure.ts";
import { printNote } from "./output.ts";
import { ServerClient } from "./server-client.ts";

export interface DataAccess {
  readonly dataDir: string;
  readonly server: ServerAccess;
  /** Longest wait in ms for an owner that is ending. */
  readonly ownerWaitMs: number;
}

interface AccessFlags {
  dataDir?: string;
  ownerWait?: string;
  url?: string;
  key?: string;
}

/** Access by the flags of a command, then by the environment. */
export function resolveDataAccess(flags: AccessFlags): DataAccess {
  return {
    dataDir: parseDataDirectory(flags.dataDir, readEnvironment()),
    server: parseServerAccess(flags, readEnvironment()),
    ownerWaitMs: parseOwnerWaitMs(flags.ownerWait, readEnvironment()),
  };
}

/**
 * Runs `onServer` when a server is named or holds the directory, else `onFiles` while this process
 * holds it.
 * @throws CommandFailure when another command holds it.
 */
export function runOnFilesOrServer<T>(
  access: DataAccess,
  onFiles: (dataDir: string) => Promise<T>,
  onServer: (client: ServerClient) => Promise<T>,
): Promise<T> {
  return runOnClaimOrServer(access, (claim) => onFiles(claim.paths.root), onServer);
}

/** The same for a command that writes to the journal, which asks who does. */
export async function runOnClaimOrServer<T>(
  access: DataAccess,
  onFiles: (claim: DataDirectoryClaim) => Promise<T>,
  onServer: (client: ServerClient) => Promise<T>,
): Promise<T> {
  if (access.server.url !== undefined) {
    return onServer(new ServerClient(access.server.url, access.server));
  }
  const claim = await claimOrServer(access);
  if (typeof claim === "string") {
    printNote(`the server at ${claim} holds the data directory: asking it`);
    return onServer(new ServerClient(claim, access.server));
  }
  try {
    return await onFiles(claim);
  } finally {
    await claim.release();
  }
}

/** How a command claims a directory: what it waits for, and that it is a copy, goes to stderr. */
export function createClaimOptions(waitMs: number): DataDirectoryClaimOptions {
  return { waitMs, onWait: printNote, onCopy: printNote };
}

/** The same, but not while a server holds it: that one does not end for a command. */
export function createUnservedClaimOptions(
  dataDir: string,
  waitMs: number,
): DataDirectoryClaimOptions {
  return { ...createClaimOptions(waitMs), isWaitOver: () => findServer(dataDir) !== undefined };
}

async function claimOrServer({ dataDir, ownerWaitMs }: DataAccess) {
  try {
    return await claimDataDirectory(dataDir, createUnservedClaimOptions(dataDir, ownerWaitMs));
  } catch (error) {
    if (!(error instanceof DataDirectoryInUse)) throw error;
    const server = findServer(dataDir);
    if (server === undefined) throw new CommandFailure(`${error.message}, which is not a server`);
    return requireReachableUrl(server);
  }
}

/** @throws CommandFailure when the address leads to another host from here. */
export function requireReachableUrl({ url, pid, host, isReachable }: RunningServer): string {
  if (isReachable) return url;
  throw new CommandFailure(
    `the server that holds the data directory (pid ${pid} on host \`${host}\`) is in another network: give the address that leads there with --url`,
  );
}
