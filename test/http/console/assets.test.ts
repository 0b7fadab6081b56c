// Files of the console: what a browser gets is whole, linked to files that are there, and small.
import { describe, expect, it } from "vitest";
import { ConsoleAssets } from "../../../src/http/console/assets.ts";

const assets = new ConsoleAssets();
/** First page: what it loads before anything is clicked. Uncompressed. */
const SCRIPT_BYTES_MAX = 150_000;

async function entry(): Promise<{ version: string; main: string; styles: string[] }> {
  const page = await assets.document();
  const found = [...page.matchAll(/(?:href|src)="console\/assets\/([0-9a-f]{16})\/([^"]+)"/g)];
  const names = found.map(([, , name]) => name!);
  return {
    version: found[0]![1]!,
    main: names.find((name) => name.includes("/main."))!,
    styles: names.filter((name) => name.endsWith(".css")),
  };
}

/** Static imports of a module, as paths below the version. */
function importsOf(name: string, text: string, pattern: RegExp): string[] {
  return [...text.matchAll(pattern)].map(([, path]) =>
    new URL(path!, `http://x/${name}`).pathname.slice(1),
  );
}

const STATIC = /^(?:import|export)\s[^;"'=]*?\bfrom\s*["']([^"']+)["']/gm;
const DYNAMIC = /\bimport\(\s*["']([^"']+)["']\s*\)/g;

async function graph(from: string, patterns: readonly RegExp[]) {
  const { version } = await entry();
  const sizes = new Map<string, number>();
  const waiting = [from];
  for (let name = waiting.pop(); name !== undefined; name = waiting.pop()) {
    if (sizes.has(name)) continue;
    const asset = await assets.find(`${version}/${name}`);
    if (asset === undefined) throw new Error(`${name} is not there`);
    sizes.set(name, asset.body.length);
    const text = asset.body.toString();
    for (const pattern of patterns) waiting.push(...importsOf(name, text, pattern));
  }
  return sizes;
}

describe("files of the console", () => {
  it("hold everything that any page imports, at any depth", async () => {
    const { main, styles, version } = await entry();
    const all = await graph(main, [STATIC, DYNAMIC]);
    expect(
      [...all.keys()].filter((name) => name.startsWith("console/pages/")).length,
    ).toBeGreaterThan(0);
    expect([...all.keys()].filter((name) => name.startsWith("vendor/")).length).toBeGreaterThan(2);
    for (const name of styles) expect(await assets.find(`${version}/${name}`)).toBeDefined();
  });

  it("are no more than 150 kB of script for the first page", async () => {
    const { main } = await entry();
    const frame = await graph(main, [STATIC]);
    const first = await graph("console/pages/overview.ts", [STATIC]);
    const all = new Map([...frame, ...first]);
    const bytes = [...all.values()].reduce((sum, each) => sum + each, 0);
    expect(bytes).toBeGreaterThan(50_000);
    expect(bytes).toBeLessThan(SCRIPT_BYTES_MAX);
  });

  it("have types of their own and nothing of another version or outside", async () => {
    const { version, main } = await entry();
    expect((await assets.find(`${version}/${main}`))!.mediaType).toMatch(/^text\/javascript/);
    for (const name of [
      `0000000000000000/${main}`,
      `${version}/../http/console/console.ts`,
      `${version}/console/../../package.json`,
      `${version}/console/tsconfig.json`,
      `${version}/`,
      "",
    ]) {
      expect(await assets.find(name)).toBeUndefined();
    }
  });

  it("hold no TypeScript: what is served parses as a module", async () => {
    const { main, version } = await entry();
    const { default: vm } = await import("node:vm");
    for (const name of (await graph(main, [STATIC, DYNAMIC])).keys()) {
      if (name.startsWith("vendor/")) continue;
      const text = (await assets.find(`${version}/${name}`))!.body.toString();
      // Parsed only: a function's body takes no imports, so those are made comments first.
      const body = text
        .replaceAll(/^import\s[^;]*;/gm, "")
        .replaceAll(/^export (?:default )?/gm, "")
        .replaceAll(/^\{[^}]*\};$/gm, "");
      expect(() => new vm.Script(`(async () => {${body}\n})`), name).not.toThrow();
    }
  });
});
