// Builds the client for its package: JavaScript and types for `import` (build/esm) and the same for
// `require` (build/cjs), one file for each source and nothing bundled. The client's package and the
// service's both publish these files.
import { execFileSync } from "node:child_process";
import { cpSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const PACKAGE = join(ROOT, "clients/typescript");
const TARGET = join(PACKAGE, "build");
const TSC = join(ROOT, "node_modules/typescript/bin/tsc");
const PROJECT = ["-p", join(ROOT, "src/client/tsconfig.build.json")];
const AS_COMMONJS = "--module commonjs --moduleResolution bundler --verbatimModuleSyntax false";

/** The compiler leaves the names of sources in types, where not every compiler follows them. */
const IMPORT = /((?:from|import\() ?"\.{1,2}\/[\w./-]+)\.ts"/g;

rmSync(TARGET, { recursive: true, force: true });
compile("esm", []);
compile("cjs", AS_COMMONJS.split(" "));
// Files of this folder end in .js too: this is where Node and compilers learn what they are.
const manifest = { type: "commonjs", sideEffects: false };
writeFileSync(join(TARGET, "cjs/package.json"), `${JSON.stringify(manifest)}\n`);
// npm packs a licence only from beside the manifest.
cpSync(join(ROOT, "LICENSE"), join(PACKAGE, "LICENSE"));

function compile(format: string, options: readonly string[]): void {
  const folder = join(TARGET, format);
  const args = [TSC, ...PROJECT, ...options, "--outDir", folder];
  execFileSync(process.execPath, args, { stdio: "inherit" });
  const names = readdirSync(folder, { recursive: true, encoding: "utf8" });
  for (const name of names.filter((each) => each.endsWith(".d.ts"))) {
    const path = join(folder, name);
    writeFileSync(path, readFileSync(path, "utf8").replaceAll(IMPORT, '$1.js"'));
  }
}
