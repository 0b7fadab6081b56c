// Inputs of build/package, and whether one has changed since it was built.
import { existsSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const INPUTS = ["src", "assembly", "data/config", "data/grounding", "data/sample", "package.json"];

/** True when nothing that build/package is made of is newer than `output`, a path from the root of the tree. */
export function isBuildCurrent(output: string): boolean {
  if (!existsSync(join(ROOT, output))) return false;
  const modules = readdirSync(join(ROOT, "build")).filter((name) => name.endsWith(".wasm"));
  const inputs = [...INPUTS, ...modules.map((name) => join("build", name))];
  const builtMs = statSync(join(ROOT, output)).mtimeMs;
  return inputs.every((path) => readNewestMs(join(ROOT, path)) < builtMs);
}

/** When a file, or anything below a folder, was last changed, epoch ms; folders change with their names. */
function readNewestMs(path: string): number {
  const found = statSync(path);
  if (!found.isDirectory()) return found.mtimeMs;
  const names = readdirSync(path, { recursive: true, encoding: "utf8" });
  return Math.max(found.mtimeMs, ...names.map((name) => statSync(join(path, name)).mtimeMs));
}
