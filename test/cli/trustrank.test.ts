// Modules that the command line loads before it knows which command runs: neither DuckDB nor the wire schemas, which
// more than doubled the time of `trustrank --version` (0.56 s instead of 0.26 s).
import { execFileSync } from "node:child_process";
import { expect, test } from "vitest";
import { ENTRY } from "./_process.ts";

/** Prints the address of every module that the process has loaded, one a line, when it ends. */
const LIST_MODULES = `
  import { registerHooks } from "node:module";
  import { writeSync } from "node:fs";
  const urls = [];
  registerHooks({ load(url, context, next) { urls.push(url); return next(url, context); } });
  process.on("exit", () => writeSync(1, urls.join("\\n")));
`;

function listLoadedModules(parameters: readonly string[]): readonly string[] {
  const hook = `data:text/javascript,${encodeURIComponent(LIST_MODULES)}`;
  const command = ["--import", hook, ENTRY, ...parameters];
  return execFileSync(process.execPath, command, { encoding: "utf8" }).split("\n");
}

test("`--version` loads neither DuckDB nor TypeBox", () => {
  const modules = listLoadedModules(["--version"]);
  expect(modules).toContainEqual(expect.stringMatching(/\/service\/settings\/settings\.[jt]s$/));
  const heavy = /\/node_modules\/(?:@duckdb|typebox)\//;
  expect(modules.filter((url) => heavy.test(url))).toEqual([]);
});
