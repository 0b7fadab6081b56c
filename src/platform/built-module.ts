// Reads WebAssembly modules that `npm run build` makes; a checkout has none before it.
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

/** A module of the build is missing. */
export class BuildMissing extends Error {
  /** As of a file: commands print the message without a stack. */
  readonly code = "ENOENT";

  constructor(path: string, cause: unknown) {
    super(
      `${path} is missing: run \`npm run build\` in the checkout, or \`npm ci\`, which does so`,
      {
        cause,
      },
    );
  }
}

/**
 * Bytes of the module at `url`, a `file:` URL.
 * @throws BuildMissing where there is no such file; the file system's error where it cannot be read.
 */
export function readBuiltModule(url: URL): Buffer<ArrayBuffer> {
  const path = fileURLToPath(url);
  try {
    return readFileSync(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
    throw new BuildMissing(path, error);
  }
}
