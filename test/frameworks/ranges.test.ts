// Versions in one place: the client's optional peer ranges, which are what `npm run check:frameworks` has passed,
// agree with the other manifest, with the adapters' own check and with the pages.
import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import client from "../../clients/typescript/package.json" with { type: "json" };
import root from "../../package.json" with { type: "json" };
import { ADAPTERS } from "./_adapters.ts";

const read = (name: string) => readFileSync(new URL(`../../${name}`, import.meta.url), "utf8");
const ranges = Object.entries(client.peerDependencies);

it("are those of the frameworks that the matrix runs, and of both manifests", () => {
  const frameworks = new Set(ADAPTERS.map(({ framework }) => framework));
  expect(ranges.map(([name]) => name)).toEqual([...frameworks].toSorted());
  expect(root.peerDependencies).toEqual(client.peerDependencies);
  const optional = ranges.map(([name]) => [name, { optional: true }]);
  expect(client.peerDependenciesMeta).toEqual(Object.fromEntries(optional));
  expect(root.peerDependenciesMeta).toEqual(client.peerDependenciesMeta);
});

it.each(["docs/guide/client.md", "clients/typescript/README.md"])("are on the page %s", (page) => {
  const rows = read(page)
    .split("\n")
    .filter((line) => line.startsWith("| "));
  for (const [name, range] of ranges) {
    // Two packages of one range stand before it together.
    const cell = `\`${name}\`(?:, \`[\\w@/-]+\`)? ${range.replaceAll("^", "\\^").replaceAll(" || ", " or ")}[ ,]`;
    expect(
      rows.some((row) => new RegExp(cell).test(row)),
      `${name} ${range}`,
    ).toBe(true);
  }
});

it.each([
  ["ai", "ai-sdk"],
  ["@mastra/core", "mastra"],
])("hold the range that the adapter of %s asks for", (name, adapter) => {
  const source = read(`src/client/adapters/${adapter}.ts`);
  const [, range = ""] =
    new RegExp(`packageName: "${name}",\\s+range: "([^"]+)"`).exec(source) ?? [];
  expect(Object.fromEntries(ranges)[name]?.split(" || ")).toContain(range);
});
