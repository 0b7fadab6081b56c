// Name of this deployment in signatures (`aud`): made once and kept in the data directory, so that
// signatures for it stay good and those for another are refused.
import * as fs from "node:fs";
import { join } from "node:path";
import { AUDIENCE_LENGTH_MAX } from "../contract/limits.ts";
import type { DataPaths } from "../journal/data-directory.ts";
import { diskFileLayer, replaceFile } from "../platform/files.ts";

const SERVICE_ID_FILE = "service-id";
const SERVICE_ID_PATTERN = /^[\x21-\x7e]+$/;

/** Visible ASCII, bounded: it stands in every signature. */
export function isServiceId(text: string): boolean {
  return SERVICE_ID_PATTERN.test(text) && text.length <= AUDIENCE_LENGTH_MAX;
}

/**
 * Loads the stored id; `make` gives the first one.
 * @throws Error when the file holds something else.
 */
export function loadOrCreateServiceId(paths: DataPaths, make: () => string): string {
  const path = join(paths.root, SERVICE_ID_FILE);
  if (fs.existsSync(path)) {
    const text = fs.readFileSync(path, "utf8").trim();
    if (isServiceId(text)) return text;
    throw new Error(`\`${path}\` does not hold a service id`);
  }
  const made = make();
  replaceFile(diskFileLayer, paths.root, SERVICE_ID_FILE, Buffer.from(`${made}\n`));
  return made;
}
