// Access of a command to the data: the files of the data directory, when no server holds it, or the
// server that does. Notes on stderr when it is the server.
import { environment } from "./environment.ts";
import { dataDirOf, type ServerAccess, serverAccessOf } from "../service/config.ts";
import { claimDataDirectory, DataDirectoryInUse, findServer } from "../journal/data-directory.ts";
import { CommandFailure } from "../service/failure.ts";
import { note } from "./output.ts";
import { ServerClient } from "./server-client.ts";

export interface DataAccess {
  readonly dataDir: string;
  readonly server: ServerAccess;
}

interface AccessFlags {
  dataDir?: string;
  url?: string;
  key?: string;
}

/** Access by the flags of a command, then by the environment. */
export function accessOf(flags: AccessFlags): DataAccess {
  return {
    dataDir: dataDirOf(flags.dataDir, environment()),
    server: serverAccessOf(flags, environment()),
  };
}

/**
 * Runs `onServer` when a server is named or holds the directory, else `onFiles` while this process
 * holds it.
 * @throws CommandFailure when another command holds it.
 */
export async function withData<T>(
  access: DataAccess,
  onFiles: (dataDir: string) => Promise<T>,
  onServer: (client: ServerClient) => Promise<T>,
): Promise<T> {
  if (access.server.url !== undefined) {
    return onServer(new ServerClient(access.server.url, access.server));
  }
  const claim = await claimOrServer(access.dataDir);
  if (typeof claim === "string") {
    note(`the server at ${claim} holds the data directory: asking it`);
    return onServer(new ServerClient(claim, access.server));
  }
  try {
    return await onFiles(claim.paths.root);
  } finally {
    await claim.release();
  }
}

async function claimOrServer(dataDir: string) {
  try {
    return await claimDataDirectory(dataDir);
  } catch (error) {
    if (!(error instanceof DataDirectoryInUse)) throw error;
    const server = findServer(dataDir);
    if (server === undefined) throw new CommandFailure(`${error.message}, which is not a server`);
    return server.url;
  }
}
