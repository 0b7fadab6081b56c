// The published surface as an editor shows it: everything that an entry exports says on hover what
// it is.
import { readdirSync, readFileSync } from "node:fs";
import { expect, it } from "vitest";
import manifest from "../../src/client/package.json" with { type: "json" };

const FOLDER = new URL("../../src/client/", import.meta.url);
const read = (name: string) => readFileSync(new URL(name, FOLDER), "utf8");

/** What `entry.ts` passes on, by name, types included. */
const passedOn = new Set(
  [...read("entry.ts").matchAll(/\{([^}]*)\}/g)].flatMap(([, names = ""]) =>
    names.split(",").map((name) => name.replace("type ", "").trim()),
  ),
);
/** Adapters are entries themselves: all they export is published. */
const adapters = Object.values(manifest.exports).flatMap((source) =>
  source.startsWith("./adapters/") ? [source.slice(2)] : [],
);

it("is documented, every export of it", () => {
  const found = new Set<string>();
  const silent: string[] = [];
  for (const name of readdirSync(FOLDER, { recursive: true, encoding: "utf8" }).filter((each) =>
    each.endsWith(".ts"),
  )) {
    const lines = read(name).split("\n");
    for (const [at, line] of lines.entries()) {
      const declared = /^export (?:async )?(?:interface|type|class|function|const) (\w+)/.exec(
        line,
      );
      if (declared === null) continue;
      const [, what = ""] = declared;
      found.add(what);
      const isPublished = adapters.includes(name) || passedOn.has(what);
      if (isPublished && lines[at - 1]?.endsWith("*/") !== true) silent.push(`${name}: ${what}`);
    }
  }
  expect(silent).toEqual([]);
  expect(adapters).toHaveLength(6);
  expect([...passedOn].filter((name) => name !== "" && !found.has(name))).toEqual([]);
});
