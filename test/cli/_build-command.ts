// Builds the command and the client as they are published, once before the tests. Plain JavaScript
// starts with less than half of the work of the sources, whose types Node strips anew in every
// process and thread; the tests start some two hundred processes.
import { execFileSync } from "node:child_process";
import { cpSync, existsSync, rmSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { isBuildCurrent } from "../../src/cli/build-inputs.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
/** A copy: who packs the tree while the tests run builds the package again. */
const TARGET = join(ROOT, "build/test-command");
/** Written last. */
const STAMP = join(TARGET, "built");
const BUILT = ["build/package", "clients/typescript/build"].map((path) => join(ROOT, path));

/** Vitest's global set-up: the processes of the tests inherit where the command is. */
export default function setup(): void {
  const isBuilt = BUILT.every((path) => existsSync(path));
  if (!isBuilt || !isBuildCurrent(relative(ROOT, STAMP))) {
    for (const script of ["build-package", "build-client"]) {
      const flags = ["--disable-warning=ExperimentalWarning", `src/cli/${script}.ts`];
      execFileSync(process.execPath, flags, { cwd: ROOT, stdio: "inherit" });
    }
    rmSync(TARGET, { recursive: true, force: true });
    cpSync(join(ROOT, "build/package"), TARGET, { recursive: true });
    writeFileSync(STAMP, "");
  }
  process.env["TRUSTRANK_TEST_COMMAND"] = join(TARGET, "src/cli/trustrank.js");
}
