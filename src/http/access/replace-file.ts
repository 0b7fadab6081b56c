// Replacement of a small file of the data directory, keys or quotas: written to a temporary file, synced
// and renamed, so a crash leaves the old one or the new one.
import { open, rename } from "node:fs/promises";
import path from "node:path";

/** Resolves when the new text is durable; only its owner may read it. */
export async function replaceFile(file: string, text: string): Promise<void> {
  const temporary = `${file}.tmp`;
  const handle = await open(temporary, "w", 0o600);
  try {
    await handle.chmod(0o600);
    await handle.writeFile(text);
    await handle.sync();
  } finally {
    await handle.close();
  }
  await rename(temporary, file);
  // The rename itself is durable only once its directory is.
  const directory = await open(path.dirname(file), "r");
  try {
    await directory.sync();
  } finally {
    await directory.close();
  }
}
