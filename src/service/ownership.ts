// The data directory of a service, claimed while a dying owner may still hold it; and the address that
// commands find there while it listens.
import { claimDataDirectory, type DataDirectoryClaim } from "../journal/data-directory.ts";
import { writeServerAddress, removeOwnServerAddress } from "../journal/ownership/server-address.ts";
import type { Log } from "../platform/log.ts";
import type { ServeConfig } from "./settings/config.ts";

/** @throws DataDirectoryInUse when its owner has not ended in time, DataDirectoryUnusable. */
export function claimServiceDirectory(config: ServeConfig, log: Log): Promise<DataDirectoryClaim> {
  return claimDataDirectory(config.dataDir, {
    waitMs: config.ownerWaitMs,
    onWait: (detail) => log.warn("data_directory_waiting", { detail }),
    onCopy: (detail) => log.warn("data_directory_copied", { detail }),
  });
}

/** Tells commands where the service listens; returns what takes it back. */
export function publishServiceUrl({ paths, owner }: DataDirectoryClaim, url: string): () => void {
  writeServerAddress(paths.root, owner, url);
  return () => removeOwnServerAddress(paths.root, owner);
}
