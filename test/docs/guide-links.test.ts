// Links of the guide and of examples/README.md: every file they name exists, and every heading.
import { existsSync } from "node:fs";
import path from "node:path";
import { expect, it } from "vitest";
import { ROOT } from "../examples/_sample-service.ts";
import { GUIDES, readPage } from "./_pages.ts";

const LINK = /\]\(([^)\s]+)\)/g;

/** Anchors of a page as GitHub makes them. */
function anchorsOf(page: string): Set<string> {
  const headings = [...readPage(page).matchAll(/^#+ (.+)$/gm)].map(([, text = ""]) => text);
  return new Set(
    headings.map((text) =>
      text
        .toLowerCase()
        .replaceAll(/[^\w\- ]/g, "")
        .replaceAll(" ", "-"),
    ),
  );
}

it.each([...GUIDES, "examples/README.md"])("resolve: %s", (page) => {
  const broken = [...readPage(page).matchAll(LINK)].filter(([, link = ""]) => {
    const [file = "", anchor] = link.split("#");
    const target = file === "" ? page : path.join(path.dirname(page), file);
    if (!existsSync(ROOT + target)) return true;
    return anchor !== undefined && !anchorsOf(target).has(anchor);
  });
  expect(broken.map(([, link]) => link)).toEqual([]);
});
