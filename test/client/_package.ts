// Published package as npm makes it: built, packed, and unpacked into projects without the rest of
// this tree.
import { execFile } from "node:child_process";
import { mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

export const ROOT = fileURLToPath(new URL("../..", import.meta.url));
export const TSC = path.join(ROOT, "node_modules/.bin/tsc");
export const run = promisify(execFile);

export interface Packed {
  /** Makes a project with the package in its node_modules; its folder. */
  install(name: string): Promise<string>;
  remove(): Promise<void>;
}

/** Builds and packs the tree as it stands. */
export async function packTree(): Promise<Packed> {
  const folder = await mkdtemp(path.join(tmpdir(), "trustrank-package-"));
  await run(TSC, ["-p", "src/client/tsconfig.build.json"], { cwd: ROOT });
  const flags = ["--disable-warning=ExperimentalWarning", "src/cli/build-package.ts"];
  await run(process.execPath, flags, { cwd: ROOT });
  // Scripts would build the modules again; who runs these tests has built them.
  const pack = ["pack", "--ignore-scripts", "--json", "--pack-destination", folder];
  await run("npm", pack, { cwd: ROOT, maxBuffer: 1e7 });
  const tarball = (await readdir(folder)).find((name) => name.endsWith(".tgz"))!;
  return {
    async install(name) {
      const project = path.join(folder, name);
      const installed = path.join(project, "node_modules/trustrank");
      await mkdir(installed, { recursive: true });
      const from = path.join(folder, tarball);
      await run("tar", ["-xzf", from, "--strip-components=1", "-C", installed]);
      await writeFile(path.join(project, "package.json"), '{"type":"module","private":true}');
      return project;
    },
    remove: () => rm(folder, { recursive: true, force: true }),
  };
}

/**
 * Does the rest of what `npm install` does, without a registry: puts the dependencies beside the
 * package, and its command where `npx` looks; the command's path.
 */
export async function linkCommand(project: string): Promise<string> {
  const modules = path.join(project, "node_modules");
  const manifest = await readFile(path.join(modules, "trustrank/package.json"), "utf8");
  const { bin, dependencies } = JSON.parse(manifest) as {
    bin: { trustrank: string };
    dependencies: Record<string, string>;
  };
  for (const name of Object.keys(dependencies)) {
    const link = path.join(modules, name);
    await mkdir(path.dirname(link), { recursive: true });
    await symlink(path.join(ROOT, "node_modules", name), link);
  }
  await mkdir(path.join(modules, ".bin"));
  const command = path.join(modules, ".bin/trustrank");
  await symlink(path.join("../trustrank", bin.trustrank), command);
  return command;
}
