// Links and paths named by the Markdown pages: relative links with their headings, and paths of the
// repository in backticks. For the test over the tree.
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";

const FENCED = /^```[^]*?^```/gm;
const LINK = /\]\(([^)\s]+)\)/g;
const PATH = /`((?:src|assembly|test|bench|docs|examples)\/[\w./-]*)`/g;
const HAS_SCHEME = /^[a-z]+:/;

function proseOf(path: string): string {
  return readFileSync(path, "utf8").replaceAll(FENCED, "");
}

/** Fragments of a page's headings as GitHub makes them: repeated ones are counted. */
function fragmentsOf(path: string): Set<string> {
  const found = new Set<string>();
  for (const [, title = ""] of proseOf(path).matchAll(/^#{1,6} +(.+?) *$/gm)) {
    const text = title.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, "$1").toLowerCase();
    const name = text.replaceAll(/[^\p{L}\p{N}\p{M} _-]/gu, "").replaceAll(" ", "-");
    let fragment = name;
    for (let count = 1; found.has(fragment); count++) fragment = `${name}-${count}`;
    found.add(fragment);
  }
  return found;
}

/** Relative links of a page that lead nowhere, to a file or to a heading. */
export function danglingLinks(root: string, page: string): string[] {
  const prose = proseOf(join(root, page)).replaceAll(/`[^`\n]*`/g, "");
  return [...prose.matchAll(LINK)].flatMap(([, link = ""]) => {
    if (HAS_SCHEME.test(link)) return [];
    const [file = "", fragment = ""] = link.split("#");
    const target = file === "" ? join(root, page) : join(root, dirname(page), file);
    if (!existsSync(target)) return [`${page}: ${link}`];
    const isFound = fragment === "" || fragmentsOf(target).has(fragment);
    return isFound ? [] : [`${page}: ${link}`];
  });
}

/** Paths of the repository that a page names in backticks and that are not there. */
export function missingPaths(root: string, page: string): string[] {
  const named = [...proseOf(join(root, page)).matchAll(PATH)].map(([, path = ""]) => path);
  return named.filter((path) => !existsSync(join(root, path))).map((path) => `${page}: ${path}`);
}
