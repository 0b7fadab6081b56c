// Published packages as npm makes them: packed, and installed or unpacked into projects without the
// rest of this tree. What is packed was built before the tests (test/cli/_build-command.ts).
import { checkPackage, createPackageFromTarballData } from "@arethetypeswrong/core";
import { execFile } from "node:child_process";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { publint } from "publint";

export const ROOT = fileURLToPath(new URL("../..", import.meta.url));
export const TSC = path.join(ROOT, "node_modules/typescript/bin/tsc");
export const run = promisify(execFile);

/** Folder of each package's manifest. */
export const CLIENT = path.join(ROOT, "clients/typescript");

export interface Packed {
  readonly name: string;
  readonly version: string;
  /** Bytes of the tarball, and of what it unpacks to. */
  readonly size: number;
  readonly unpackedSize: number;
  /** What is in it, by its path in the package. */
  readonly files: ReadonlyMap<string, number>;
  readonly tarball: string;
  /** Makes an empty project beside the tarball; its folder. */
  project(name: string): Promise<string>;
  /** Puts the package where npm would, without its dependencies; where that is. */
  unpack(project: string): Promise<string>;
  remove(): Promise<void>;
}

/** Packs what was built, by the manifest in `folder`. */
export async function pack(folder: string): Promise<Packed> {
  const target = await mkdtemp(path.join(tmpdir(), "trustrank-package-"));
  // Scripts would build again; who runs these tests has built.
  const flags = ["pack", "--ignore-scripts", "--json", "--pack-destination", target];
  const { stdout } = await run("npm", flags, { cwd: folder, maxBuffer: 1e7 });
  const [packed] = JSON.parse(stdout) as [
    Packed & { filename: string; files: { path: string; size: number }[] },
  ];
  const { name, version, size, unpackedSize, filename, files } = packed;
  const tarball = path.join(target, filename);
  return {
    name,
    version,
    size,
    unpackedSize,
    files: new Map(files.map((file) => [file.path, file.size])),
    tarball,
    async project(projectName) {
      const project = path.join(target, projectName);
      await mkdir(project);
      await writeFile(path.join(project, "package.json"), '{"type":"module","private":true}');
      return project;
    },
    async unpack(project) {
      const installed = path.join(project, "node_modules", name);
      await mkdir(installed, { recursive: true });
      await run("tar", ["-xzf", tarball, "--strip-components=1", "-C", installed]);
      return installed;
    },
    remove: () => rm(target, { recursive: true, force: true }),
  };
}

/** What publint and arethetypeswrong have to say about a package; nothing, when all is well. */
export async function faultsIn({ tarball }: Packed): Promise<unknown[]> {
  const bytes = new Uint8Array(await readFile(tarball));
  const { messages } = await publint({ pack: { tarball: bytes.buffer }, strict: true });
  const types = await checkPackage(createPackageFromTarballData(bytes));
  return [...messages, ...(types.types === false ? ["no types"] : types.problems)];
}

/** Source maps that a packed script names and the package lacks. */
export async function danglingMaps(packed: Packed, installed: string): Promise<string[]> {
  const scripts = [...packed.files.keys()].filter((name) => /\.[jt]s$/.test(name));
  const texts = await Promise.all(
    scripts.map(
      async (name) => [name, await readFile(path.join(installed, name), "utf8")] as const,
    ),
  );
  return texts.flatMap(([name, text]) => {
    const [, map] = /^\/\/# sourceMappingURL=(?!data:)(\S+)$/m.exec(text) ?? [];
    return map === undefined || packed.files.has(path.join(path.dirname(name), map)) ? [] : [name];
  });
}
