// Recipes of CONTRIBUTING against the tree: each names an example, and every file that names the example is listed.
import { readFileSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
/** Where a recipe sends its reader. Tests and experiments name examples for reasons of their own. */
const FOLDERS = ["assembly", "clients/typescript", "deploy", "docs", "src", "test"];
const PASSED_OVER =
  /\.test\.ts$|^test\/(?:goldens\/|attack\/|spec\/_)|\/(?:build|node_modules)\/|^docs\/(?:decisions\/|design\/learning)/;

interface Recipe {
  readonly title: string;
  /** Words of the example; any of them counts. */
  readonly examples: readonly string[];
  /** Files, and folders with a slash at the end. */
  readonly paths: readonly string[];
}

const quoted = (text: string) => [...text.matchAll(/`([^`\s]+)`/g)].map(([, word]) => word!);
const isPath = (word: string) => /^[a-z]+(?:\/[\w.-]+)+\/?$|^package\.json$/.test(word);

function parseRecipe(section: string): Recipe | undefined {
  const [title = ""] = section.split("\n", 1);
  const example = /^Example: (.*)\.$/m.exec(section);
  if (example === null) return undefined;
  return {
    title,
    examples: quoted(example[1]!),
    paths: quoted(section).filter((word) => isPath(word) && !word.startsWith("pages/")),
  };
}

const [, tasks = ""] = readFileSync(join(ROOT, "CONTRIBUTING.md"), "utf8").split("## Common tasks");
const recipes = tasks
  .split(/^### /m)
  .slice(1)
  .flatMap((section) => parseRecipe(section) ?? []);

const files = FOLDERS.flatMap((folder) =>
  readdirSync(join(ROOT, folder), { recursive: true, encoding: "utf8" })
    .map((name) => `${folder}/${name}`)
    .filter((path) => !PASSED_OVER.test(path) && statSync(join(ROOT, path)).isFile()),
);
const texts = new Map(
  [...files, "package.json"].map((path) => [path, readFileSync(join(ROOT, path), "utf8")]),
);

function listFilesNaming(examples: readonly string[]): string[] {
  const escaped = examples.map((word) => word.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`));
  const pattern = new RegExp(`(?<![\\w-])(?:REASON_)?(?:${escaped.join("|")})(?![\\w-])`);
  return [...texts].filter(([, text]) => pattern.test(text)).map(([path]) => path);
}

const isCovered = (path: string, listed: readonly string[]) =>
  listed.some((each) => (each.endsWith("/") ? path.startsWith(each) : path === each));

describe("CONTRIBUTING", () => {
  it("has recipes with an example each", () => {
    expect(recipes.length).toBeGreaterThanOrEqual(8);
    expect(recipes.filter(({ examples }) => examples.length === 0)).toEqual([]);
  });

  it.each(recipes)("lists every file that $title touches", ({ examples, paths }) => {
    const naming = listFilesNaming(examples);
    expect(naming.length).toBeGreaterThan(0);
    expect(naming.filter((path) => !isCovered(path, paths))).toEqual([]);
  });
});
