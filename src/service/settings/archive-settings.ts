// Settings of the archive that a running service ships to.
import { resolve } from "node:path";
import { createTextKind, createSecondsKind, type Setting } from "./setting-kinds.ts";

export const ARCHIVE_SETTINGS = {
  archive: {
    flag: "--archive <dir>",
    variables: ["TRUSTRANK_ARCHIVE"],
    kind: createTextKind("a directory"),
    default: undefined,
    sentence: "directory on another disk that gets all that a backup has, while the service runs",
  },
  archiveEvery: {
    flag: "--archive-every <seconds>",
    variables: ["TRUSTRANK_ARCHIVE_EVERY_SECONDS"],
    kind: createSecondsKind(1, 300),
    default: 10,
    sentence: "seconds between two shipments to the archive: what a lost disk takes with it",
  },
} satisfies Record<string, Setting>;

/** An archive of a service. */
export interface ArchiveConfig {
  readonly directory: string;
  readonly everyMs: number;
}

/** A relative directory is resolved against the command's working directory. */
export function parseArchiveConfig(
  directory: string | undefined,
  everySec: number,
  workingDirectory: string | undefined,
): ArchiveConfig | undefined {
  if (directory === undefined || directory === "") return undefined;
  return { directory: resolve(workingDirectory || ".", directory), everyMs: everySec * 1000 };
}
