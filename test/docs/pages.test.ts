// Rules of the pages: links, named paths and citations of sections exist, and what is read to the end
// is short. The rules of the code are in test/tidy.test.ts.
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

import { describe, expect, it } from "vitest";
import { citationsIn, numberedHeadings } from "./_citations.ts";
import { danglingLinks, missingPaths } from "./_pages.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const IGNORED = new Set(["node_modules", "build", ".git", "local", "coverage"]);
const IN_SOURCE = /^(src|assembly)\//;

/** Pages that are read to the end are short. */
const PAGE_LINES_MAX: Readonly<Record<string, number>> = {
  "README.md": 120,
  "ARCHITECTURE.md": 150,
};

function listFiles(folder: string): string[] {
  return readdirSync(join(ROOT, folder), { withFileTypes: true }).flatMap((entry) => {
    if (IGNORED.has(entry.name)) return [];
    const path = join(folder, entry.name);
    return entry.isDirectory() ? listFiles(path) : [path];
  });
}

const files = listFiles(".");
const code = files.filter((path) => /^(src|assembly|bench|test|data|examples)\/.*\.ts$/.test(path));
const texts = new Map(code.map((path) => [path, readFileSync(join(ROOT, path), "utf8")]));
const pages = files.filter((path) => path.endsWith(".md"));

describe("the pages", () => {
  it("cites only sections that docs/ has", () => {
    const cited = files.filter((path) => /^docs\/(contract|design\/\w+)\.md$/.test(path));
    const sections = new Map(
      cited.map((path) => [path, numberedHeadings(readFileSync(join(ROOT, path), "utf8"))]),
    );
    const offences = [...texts].flatMap(([path, text]) =>
      citationsIn(text)
        .filter(({ page, section }) => sections.get(page)?.has(section) !== true)
        .map(({ page, section }) => `${path}: ${page} ${section}`),
    );
    expect(offences).toEqual([]);
  });

  it("gives each README one title", () => {
    const offences = files.filter((path) => {
      if (!/(^|\/)README\.md$/.test(path)) return false;
      const prose = readFileSync(join(ROOT, path), "utf8").replaceAll(/^```[^]*?^```/gm, "");
      return prose.match(/^# .+$/gm)?.length !== 1;
    });
    expect(offences).toEqual([]);
  });

  it("links only to pages, files and headings that exist", () => {
    expect(pages.flatMap((page) => danglingLinks(ROOT, page))).toEqual([]);
  });

  it("names only paths that exist in its pages", () => {
    expect(pages.flatMap((page) => missingPaths(ROOT, page))).toEqual([]);
  });

  it.each(Object.entries(PAGE_LINES_MAX))("keeps %s within %i lines", (page, linesMax) => {
    const lines = readFileSync(join(ROOT, page), "utf8").split("\n").length - 1;
    expect(lines).toBeLessThanOrEqual(linesMax);
  });

  it("lists every file that states an invariant in ARCHITECTURE.md", () => {
    const architecture = readFileSync(join(ROOT, "ARCHITECTURE.md"), "utf8");
    const stating = code.filter(
      (path) => IN_SOURCE.test(path) && /INVARIANT( \(.+?\))?:/.test(texts.get(path)!),
    );
    expect(stating.length).toBeGreaterThan(0);
    expect(stating.filter((path) => !architecture.includes(`(${path})`))).toEqual([]);
  });
});
