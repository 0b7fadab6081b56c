// Rules for names that a program can hold (docs/internals/style.md): functions begin with a verb, exported types have
// one owner, and no type is a bare participle.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const SOURCES = readdirSync(join(ROOT, "src"), { recursive: true, encoding: "utf8" })
  .filter((path) => path.endsWith(".ts"))
  .map((path) => ({ path: `src/${path}`, text: readFileSync(join(ROOT, "src", path), "utf8") }));

/** Clients and the console run elsewhere and declare what they receive themselves. */
const SERVER_SOURCES = SOURCES.filter(({ path }) => !/^src\/(client|console)\//.test(path));

const FUNCTION =
  /^(export )?(?:default )?(?:async )?function\*? (\w+)|^(export )?const (\w+) = (?:async )?\(/gm;
const TYPE = /^(export )?(?:abstract )?(?:class|interface|type) (\w+)/gm;

/** Words that describe a state but not what has it. */
const BARE_PARTICIPLES = new Set(
  (
    "Answered Asked Asking Begun Chosen Counted Done Drawn Ended Found Given Held Kept Known Left Listed Loaded Lost " +
    "Made Moved Named Opened Placed Read Ruled Said Seen Sent Shown Started Taken Told Waiting Wanted Written"
  ).split(" "),
);

function listFunctions(text: string): { name: string; isExported: boolean }[] {
  return [...text.matchAll(FUNCTION)].map(([, exported, name, exportedConst, constName]) => ({
    name: (name ?? constName)!,
    isExported: exported !== undefined || exportedConst !== undefined,
  }));
}

test("a function called `somethingOf` is exported and the only one of that name", () => {
  const found = SOURCES.flatMap(({ path, text }) =>
    listFunctions(text)
      .filter(({ name }) => /[a-z]Of$/.test(name))
      .map((each) => ({ path, ...each })),
  );
  expect(SOURCES.flatMap(({ text }) => listFunctions(text)).length).toBeGreaterThan(2000);
  const names = found.map(({ name }) => name);
  const wrong = found.filter(
    ({ name, isExported }) => !isExported || names.indexOf(name) !== names.lastIndexOf(name),
  );
  expect(wrong.map(({ path, name }) => `${path} ${name}`)).toEqual([]);
  expect(found.length).toBeLessThan(60);
});

test("an exported type or class of a server room has one owner", () => {
  const owners = new Map<string, string[]>();
  for (const { path, text } of SERVER_SOURCES) {
    for (const [, exported, name] of text.matchAll(TYPE)) {
      if (exported !== undefined) owners.set(name!, [...(owners.get(name!) ?? []), path]);
    }
  }
  expect(owners.size).toBeGreaterThan(500);
  expect([...owners].filter(([, paths]) => paths.length > 1)).toEqual([]);
});

test("a type is a noun", () => {
  const found = SOURCES.flatMap(({ path, text }) =>
    [...text.matchAll(TYPE)]
      .filter(([, , name]) => BARE_PARTICIPLES.has(name!))
      .map(([, , name]) => `${path} ${name}`),
  );
  expect(found).toEqual([]);
});
