// Builds build/package: the command as plain JavaScript, because Node runs no TypeScript from
// within node_modules. Types are stripped in place, so lines and columns stay as in src; names of
// files end in .js instead. Laid out like the tree, so that relative paths (modules, threads, data)
// resolve there too.
import {
  chmodSync,
  cpSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { stripTypeScriptTypes } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const TARGET = join(ROOT, "build/package");
/** Target of the package's `bin`. */
const COMMAND = "./bin.ts";
const SHEBANG = "#!/usr/bin/env node\n";

/** The client is a build of its own, but for what asks a service for `mcp`; build scripts have no use. */
const EXCLUDED_SOURCE =
  /^src\/(client\/(?!(errors|runtime|socket-fetch|transport|nodes\/[\w-]+)\.ts$)|cli\/build-[\w-]+\.ts$)/;
/** Of the data plane's sources the command reads only how memory is laid out, and its numbers. */
const SHARED_ASSEMBLY_SOURCE = /(^|\/)(layout|codes)\.ts$/;
const DATA = [
  "data/config",
  "data/grounding",
  "data/sample/outcomes.ndjson",
  "data/sample/requests.ndjson",
  "src/http/grpc/ext_authz.proto",
  "src/console/styles",
  "src/console/icon.svg",
];
/** Imports, and the files of threads: every string that names a TypeScript file. */
const FILE_NAME = /(["'])((?:\.{1,2}\/)?[\w./-]+)\.ts\1/g;

rmSync(TARGET, { recursive: true, force: true });
const sources = listSources("src").filter((path) => !EXCLUDED_SOURCE.test(path));
const shared = listSources("assembly").filter((path) => SHARED_ASSEMBLY_SOURCE.test(path));
const written = new Set([...sources, ...shared]);
for (const path of written) writeScript(path);
const modules = readdirSync(join(ROOT, "build")).filter((name) => name.endsWith(".wasm"));
for (const path of [...DATA, ...modules.map((name) => join("build", name))])
  cpSync(join(ROOT, path), join(TARGET, path), { recursive: true });
writePackageFile();

function listSources(folder: string): string[] {
  return readdirSync(join(ROOT, folder), { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile() && /(?<!\.d)\.ts$/.test(entry.name))
    .map((entry) => join(entry.parentPath, entry.name).slice(ROOT.length));
}

function writeScript(path: string): void {
  const isCommand = path === join("src/cli", COMMAND);
  const target = join(TARGET, path.replace(/\.ts$/, ".js"));
  const script = stripTypeScriptTypes(readFileSync(join(ROOT, path), "utf8"));
  for (const [, , name] of script.matchAll(FILE_NAME)) {
    const named = join(dirname(path), `${name}.ts`);
    if (!written.has(named)) throw new Error(`${path} names ${named}, which is not packed`);
  }
  mkdirSync(dirname(target), { recursive: true });
  writeFileSync(target, (isCommand ? SHEBANG : "") + script.replaceAll(FILE_NAME, "$1$2.js$1"));
  if (isCommand) chmodSync(target, 0o755);
}

/** Members of the manifest that the command reads. */
function writePackageFile(): void {
  const manifest = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8"));
  const { name, version, type } = manifest as Record<string, string>;
  writeFileSync(join(TARGET, "package.json"), `${JSON.stringify({ name, version, type })}\n`);
}
