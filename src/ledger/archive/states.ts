// Earlier states of an archive: manifests that stay beside the one in force, and what they name with
// them. One a day, and one for each history that the journal has parted from.
import * as fs from "node:fs";
import { join } from "node:path";
import type { FileLayer } from "../../platform/files.ts";
import { BackupFault } from "../backup/faults.ts";
import {
  readManifestIfPresent,
  type BackupManifest,
  type BackupManifestBody,
  writeManifest,
} from "../backup/manifest.ts";

export const STATES_DIRECTORY = "states";
/** States of a day that an archive keeps by itself. */
export const DAILY_STATES_MAX = 30;
const STATE_NAME = /^(daily|parted)-([0-9TZ-]+)$/;
const SUFFIX = ".json";

export interface ArchiveState {
  /** As `restore --state` takes it. */
  readonly name: string;
  /** Of a journal that the archive's own has parted from. */
  readonly isParted: boolean;
  readonly manifest: BackupManifest;
}

/** All of them, oldest first. @throws BackupFault when one does not verify. */
export function listArchiveStates(files: FileLayer, root: string): ArchiveState[] {
  const states = listStateNames(files, root).map((name) => {
    const manifest = readManifestIfPresent(files, join(root, STATES_DIRECTORY), name + SUFFIX)!;
    return { name, isParted: name.startsWith("parted"), manifest };
  });
  return states.toSorted((a, b) => (a.manifest.made_at < b.manifest.made_at ? -1 : 1));
}

/** @throws BackupFault when there is no such state, or it does not verify. */
export function readArchiveState(files: FileLayer, root: string, name: string): BackupManifest {
  const found = listStateNames(files, root).includes(name);
  const directory = join(root, STATES_DIRECTORY);
  if (found) return readManifestIfPresent(files, directory, name + SUFFIX)!;
  throw new BackupFault(`\`${root}\` has no state \`${name}\`: \`trustrank archive list\` has all`);
}

/**
 * Keeps a manifest that is about to be replaced: once a day, without its snapshot, which is only a
 * short cut; and whole where the journal parts from it.
 */
export function saveArchiveState(
  files: FileLayer,
  root: string,
  body: BackupManifestBody,
  kind: "daily" | "parted",
): string {
  const isDaily = kind === "daily";
  const at = isDaily ? body.made_at.slice(0, 10) : body.made_at.replaceAll(/[:.]/g, "-");
  const name = `${kind}-${at}`;
  const kept = body.files.filter(({ path }) => !isDaily || !path.startsWith("snapshots/"));
  const directory = join(root, STATES_DIRECTORY);
  files.makeDirectory(directory);
  if (isDaily && listStateNames(files, root).includes(name)) return name;
  writeManifest(files, directory, { ...body, files: kept }, name + SUFFIX);
  if (isDaily) removeExcessDailyStates(files, root);
  return name;
}

/** Removes states made before a time (epoch ms); what only they name is removed later. */
export function pruneStates(files: FileLayer, root: string, beforeMs: number): string[] {
  const old = listArchiveStates(files, root).filter(
    ({ manifest }) => Date.parse(manifest.made_at) < beforeMs,
  );
  for (const { name } of old) removeStateFile(files, root, name);
  return old.map(({ name }) => name);
}

function removeExcessDailyStates(files: FileLayer, root: string): void {
  const daily = listStateNames(files, root).filter((name) => name.startsWith("daily"));
  const excess = daily.toSorted().slice(0, Math.max(0, daily.length - DAILY_STATES_MAX));
  for (const name of excess) removeStateFile(files, root, name);
}

function removeStateFile(files: FileLayer, root: string, name: string): void {
  files.remove(join(root, STATES_DIRECTORY, name + SUFFIX));
}

function listStateNames(files: FileLayer, root: string): string[] {
  const directory = join(root, STATES_DIRECTORY);
  if (!fs.existsSync(directory)) return [];
  const names = files.list(directory).filter((name) => name.endsWith(SUFFIX));
  return names.map((name) => name.slice(0, -SUFFIX.length)).filter((name) => STATE_NAME.test(name));
}
