// The client's package as a registry would get it: what is in it, how large it is, and that every way
// to load it and to resolve its types works, in a project into which npm has installed it alone.
import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import path from "node:path";
import { gzipSync } from "node:zlib";
import { rolldown } from "rolldown";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import sources from "../../src/client/package.json" with { type: "json" };
import { CLIENT, danglingMaps, faultsIn, pack, type Packed, ROOT, run, TSC } from "./_package.ts";
import { PROGRAM } from "./_program.ts";

/** Bytes of the core, minified and compressed; fail-over among nodes and webhooks are part of it. */
const CORE_BYTES_MAX = 24_000;

let packed: Packed;
let project: string;
let installed: string;
let manifest: Record<string, unknown> & { exports: Record<string, unknown> };

beforeAll(async () => {
  packed = await pack(CLIENT);
  project = await packed.project("project");
  const flags = ["--offline", "--ignore-scripts", "--no-audit", "--no-fund"];
  await run("npm", ["install", ...flags, packed.tarball], { cwd: project });
  installed = path.join(project, "node_modules/@trustrank/client");
  manifest = JSON.parse(await readFile(path.join(installed, "package.json"), "utf8"));
});
afterAll(async () => {
  await packed?.remove();
});

it("holds scripts and types for both formats, and nothing else", async () => {
  const names = [...packed.files.keys()];
  const others = names.filter(
    (name) => !/^build\/(esm|cjs)\/(client|contract)\/[\w/-]+(\.d\.ts|\.js)$/.test(name),
  );
  expect(others.toSorted()).toEqual([
    "LICENSE",
    "README.md",
    "build/cjs/package.json",
    "package.json",
  ]);
  const esm = names.filter((name) => name.startsWith("build/esm/"));
  for (const name of esm) expect(names).toContain(name.replace("/esm/", "/cjs/"));
  expect(names).toHaveLength(2 * esm.length + others.length);
  expect(await danglingMaps(packed, installed)).toEqual([]);
  expect(packed.size).toBeLessThan(150_000);
});

it("may be published, with the entries that the tree itself imports, and needs nothing", () => {
  const { version, dependencies, publishConfig } = manifest;
  expect([version, dependencies]).toEqual([packed.version, undefined]);
  expect(manifest).not.toHaveProperty("private");
  expect(publishConfig).toEqual({ access: "public", provenance: true });
  const published = Object.keys(manifest.exports).filter((name) => name !== "./package.json");
  expect(published).toEqual(Object.keys(sources.exports));
});

it("is what publint and arethetypeswrong ask for", async () => {
  expect(await faultsIn(packed)).toEqual([]);
});

it("has a core below 24 kB, without adapters and conformance kit", async () => {
  const input = path.join(project, "all.mjs");
  await writeFile(input, 'export * from "@trustrank/client";');
  const bundle = await rolldown({ input, platform: "browser" });
  const { output } = await bundle.generate({ format: "es", minify: true });
  await bundle.close();
  const [{ code, moduleIds }, ...more] = output;
  expect(more).toEqual([]);
  expect(code).toContain("withTrustRank");
  const besides = moduleIds.filter((id) => /\/(adapters|conformance)\//.test(id));
  // Eve's words are the specification's, and part of the core.
  expect(besides.map((id) => path.basename(id))).toEqual(["eve.js"]);
  expect(gzipSync(code, { level: 9 }).length).toBeLessThan(CORE_BYTES_MAX);
});

const LOADS = `
  const seen = entries.map((name) => [name, Object.keys(loaded[name]).length]);
  console.log(JSON.stringify(seen.filter(([, count]) => count === 0)));`;

/** Node as it runs the tests, and the system's where that is another one. */
const NODES = [process.execPath, "/usr/bin/node"].filter(
  (node, at) => at === 0 || (existsSync(node) && versionOf(node) !== process.version),
);

function versionOf(node: string): string {
  return execFileSync(node, ["--version"], { encoding: "utf8" }).trim();
}

describe.each(NODES)("%s", (node) => {
  const entries = Object.keys(sources.exports).map((name) =>
    name.replace(".", "@trustrank/client"),
  );

  it.each([
    [
      "import",
      "mjs",
      entries.map((name) => `import * as m${entries.indexOf(name)} from "${name}";`),
    ],
    ["require", "cjs", entries.map((name, at) => `const m${at} = require("${name}");`)],
  ])("loads every entry by %s", async (_way, extension, lines) => {
    const named = entries.map((name, at) => `"${name}": m${at}`).join(", ");
    const text = `${lines.join("\n")}
const entries = ${JSON.stringify(entries)};
const loaded = { ${named} };${LOADS}`;
    await writeFile(path.join(project, `loads.${extension}`), text);
    const { stdout, stderr } = await run(node, [`loads.${extension}`], { cwd: project });
    expect([JSON.parse(stdout), stderr]).toEqual([[], ""]);
  });

  it("knows the errors and the client of its other copy", async () => {
    const text = `
import * as imported from "@trustrank/client";
import { createRequire } from "node:module";
const required = createRequire(import.meta.url)("@trustrank/client");
imported.useTrustRank(new imported.TrustRankClient({ baseUrl: "http://127.0.0.1:1" }));
const refused = new imported.TrustGateError("no");
const unavailable = new imported.TrustGateUnavailableError(new imported.TrustRankError("timeout", "late"));
class Mine extends required.TrustRankError {}
const run = required.withTrustRank(() => 1, { agentId: () => "agent://a/b", stakes: () => 1 });
const fault = await run().catch((error) => error);
console.log(JSON.stringify([
  imported.TrustGateError === required.TrustGateError,
  refused instanceof required.TrustGateError, refused instanceof required.TrustRankError,
  unavailable instanceof required.TrustRankError, unavailable instanceof Mine,
  new Mine("timeout", "x") instanceof Mine, new Mine("timeout", "x") instanceof imported.TrustRankError,
  fault.code, fault instanceof required.TrustRankError, fault instanceof imported.TrustRankError,
]));`;
    await writeFile(path.join(project, "both.mjs"), text);
    const { stdout } = await run(node, ["both.mjs"], { cwd: project });
    const same = [false, true, false, true, false, true, true];
    expect(JSON.parse(stdout)).toEqual([...same, "unreachable", true, true]);
  });
});

it("has a README whose program type-checks", async () => {
  const readme = await readFile(path.join(installed, "README.md"), "utf8");
  const [, program = ""] = /^```ts\n([^]*?)^```/m.exec(readme) ?? [];
  const wrong = "export const wrong: Promise<number> = order('', 1);";
  await writeFile(
    path.join(project, "readme.mts"),
    `declare const apiKey: string;\n${program}${wrong}`,
  );
  const options = ["--noEmit", "--strict", "--target", "es2024", "--lib", "es2024,dom"];
  const args = [TSC, ...options, "--types", "", "readme.mts"];
  const { stdout } = await run(process.execPath, args, { cwd: project }).catch(
    (error: { stdout: string }) => error,
  );
  expect(stdout.match(/error TS\d+: .*/g)).toEqual([
    "error TS2322: Type 'Promise<string>' is not assignable to type 'Promise<number>'.",
  ]);
});

describe("type-checks with nothing skipped", () => {
  const old = createRequire(path.join(ROOT, "node_modules/@arethetypeswrong/core/package.json"));
  const tscOf5 = old.resolve("typescript/bin/tsc");
  const none = { types: [], lib: ["es2024", "dom"] };
  const cases = [
    [
      "Node's types",
      TSC,
      "mts",
      { types: ["node"], typeRoots: [path.join(ROOT, "node_modules/@types")] },
    ],
    ["a browser's types", TSC, "mts", none],
    ["Node's resolution of 2022 (node16)", TSC, "mts", { ...none, module: "node16" }],
    ["CommonJS (node16)", TSC, "cts", { ...none, module: "node16" }],
    [
      "a bundler's resolution",
      TSC,
      "mts",
      { ...none, module: "esnext", moduleResolution: "bundler" },
    ],
    [
      "TypeScript 5.6 and the resolution before `exports` (node10)",
      tscOf5,
      "ts",
      {
        types: [],
        lib: ["es2022", "dom"],
        target: "es2022",
        module: "commonjs",
        moduleResolution: "node10",
      },
    ],
  ] as const;

  it.each(cases)("%s", async (name, tsc, extension, options) => {
    const file = `typed.${extension}`;
    const isNode = name.startsWith("Node's types");
    const text = isNode ? PROGRAM : PROGRAM.replaceAll(/process\.env\["(\w+)"\] \?\? ""/g, '"$1"');
    // Wrong on purpose: shows that the compiler looked.
    const wrong = `export const wrong: Promise<number> = pay("", 1);`;
    await writeFile(path.join(project, file), `${text}\n${wrong}`);
    const compilerOptions = {
      target: "es2024",
      module: "nodenext",
      strict: true,
      exactOptionalPropertyTypes: true,
      noEmit: true,
      skipLibCheck: false,
      ...options,
    };
    const config = JSON.stringify({ compilerOptions, files: [file] });
    await writeFile(path.join(project, `tsconfig.${extension}.json`), config);
    const args = [tsc, "-p", `tsconfig.${extension}.json`];
    const { stdout } = await run(process.execPath, args, { cwd: project }).catch(
      (error: { stdout: string }) => error,
    );
    // Node's own types need not be sound together with every library: ours must be.
    const found = stdout.split("\n").filter((line) => /trustrank|typed\./.test(line));
    expect(found.map((line) => line.replace(/\(.*?\)/, ""))).toEqual([
      `${file}: error TS2322: Type 'Promise<string>' is not assignable to type 'Promise<number>'.`,
    ]);
  });
});
