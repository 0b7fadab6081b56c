// Random id of a data directory, kept in it: tells two directories apart that have the same name in a cluster.
// A copy of a directory is another directory, and gets an id of its own.
import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { diskFileLayer, replaceFile } from "../../platform/files.ts";
import {
  buildThisProcessOwner,
  type DirectoryOwner,
  isFromOtherDirectory,
  readJson,
} from "./owner.ts";

const DIRECTORY_ID_FILE = "directory-id.json";

type DirectoryIdentity = Pick<DirectoryOwner, "id" | "directory" | "boot">;

/** Loads the id, or makes one. Call it as the directory's owner. @throws the disk's error. */
export function loadOrCreateDirectoryId(root: string): string {
  const found = readJson<DirectoryIdentity>(join(root, DIRECTORY_ID_FILE));
  if (typeof found?.id === "string" && !isFromOtherDirectory(found, root)) return found.id;
  const { directory, boot } = buildThisProcessOwner(root, 0);
  const made: DirectoryIdentity = { id: randomUUID(), directory, boot };
  replaceFile(diskFileLayer, root, DIRECTORY_ID_FILE, Buffer.from(JSON.stringify(made)));
  return made.id;
}
