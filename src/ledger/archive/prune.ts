// Removes old states of an archive and, where no service ships to it, what is then named by none.
import * as fs from "node:fs";
import { join } from "node:path";
import type { FileLayer } from "../../platform/files.ts";
import { BackupFault } from "../backup/faults.ts";
import { lockBackup } from "../backup/lock.ts";
import { requireManifest } from "../backup/manifest.ts";
import { BackupObjects, OBJECTS_DIRECTORY } from "../backup/objects.ts";
import { pruneStates, listArchiveStates } from "./states.ts";

/** Younger ones may belong to a copy that is under way. */
const OBJECT_AGE_MS = 3_600_000;

export interface PruneReport {
  readonly states: readonly string[];
  /** Objects removed; undefined while a service ships there, which removes them itself. */
  readonly objects: number | undefined;
}

/** @throws BackupFault when the directory holds no archive, or a state of it does not verify. */
export function pruneArchive(
  files: FileLayer,
  root: string,
  beforeMs: number,
  nowMs: number,
): PruneReport {
  const states = pruneStates(files, root, beforeMs);
  let release: () => void;
  try {
    release = lockBackup(root);
  } catch (error) {
    if (error instanceof BackupFault) return { states, objects: undefined };
    throw error;
  }
  try {
    return { states, objects: removeUnreferencedObjects(files, root, nowMs) };
  } finally {
    release();
  }
}

function removeUnreferencedObjects(files: FileLayer, root: string, nowMs: number): number {
  const kept = [
    ...listArchiveStates(files, root).map((each) => each.manifest),
    requireManifest(files, root),
  ];
  const objects = new BackupObjects(files, root);
  const isOld = (name: string) =>
    nowMs - fs.statSync(join(root, OBJECTS_DIRECTORY, name)).mtimeMs >= OBJECT_AGE_MS;
  const names = objects.listUnreferenced(kept.flatMap((each) => [...each.segments, ...each.files]));
  const old = names.filter(isOld);
  objects.remove(old);
  return old.length;
}
