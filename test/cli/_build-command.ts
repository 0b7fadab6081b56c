// Builds the command and the client as they are published, once before the tests. Plain JavaScript
// starts with less than half of the work of the sources, whose types Node strips anew in every
// process and thread; the tests start some two hundred processes.
import { execFileSync } from "node:child_process";
import { cpSync, existsSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
/** A copy: who packs the tree while the tests run builds the package again. */
const TARGET = join(ROOT, "build/test-command");
/** Written last. */
const STAMP = join(TARGET, "built");
const BUILT = ["build/package", "clients/typescript/build"].map((path) => join(ROOT, path));
const INPUTS = ["src", "assembly", "data/config", "data/grounding", "data/sample", "package.json"];

/** Vitest's global set-up: the processes of the tests inherit where the command is. */
export default function setup(): void {
  const modules = readdirSync(join(ROOT, "build")).filter((name) => name.endsWith(".wasm"));
  const inputs = [...INPUTS, ...modules.map((name) => join("build", name))];
  const isBuilt = [STAMP, ...BUILT].every((path) => existsSync(path));
  if (!isBuilt || inputs.some((path) => newestMs(path) >= statSync(STAMP).mtimeMs)) {
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

/** When a file, or anything below a folder, was last changed; folders change with their names. */
function newestMs(path: string): number {
  const at = join(ROOT, path);
  const { mtimeMs } = statSync(at);
  if (!statSync(at).isDirectory()) return mtimeMs;
  const names = readdirSync(at, { recursive: true, encoding: "utf8" });
  return Math.max(mtimeMs, ...names.map((name) => statSync(join(at, name)).mtimeMs));
}
