// Rule about programs of the machine: tests and benches start only those that .ci/programs.txt lists, so that a bare
// machine knows what to install and a test can be skipped for it.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { readPrograms } from "./_needs.ts";

const ROOT = join(import.meta.dirname, "..");
const FOLDERS = ["test", "bench", "examples"];
/** Node and npm are required anyway; oxfmt is found in node_modules by npm's scripts. */
const WITH_NODE = new Set(["node", "npm", "oxfmt"]);
/** A call of node:child_process, or of a helper that passes its arguments on to one, with a literal program. */
const STARTS =
  /\b(?:spawn|spawnSync|execFile|execFileSync|sh|promisify\(execFile\))\(\s*"(?:\/bin\/)?([^"\s]+)"/g;
const RUN = /\brun\(\s*"([^"\s]+)"/g;

/** Names of the programs that the text starts. */
function listStarted(text: string): string[] {
  if (!text.includes("node:child_process")) return [];
  const found = [...text.matchAll(STARTS)];
  if (/\brun = promisify\(execFile\)/.test(text)) found.push(...text.matchAll(RUN));
  return found.map(([, name]) => name!);
}

it("finds programs that are started", () => {
  const text = 'import "node:child_process"; spawn("wrk", []); sh("ip", "link"); run("ls");';
  expect(listStarted(text)).toEqual(["wrk", "ip"]);
  expect(listStarted(`${text} const run = promisify(execFile);`)).toEqual(["wrk", "ip", "ls"]);
});

it("tests and benches start only programs of .ci/programs.txt", () => {
  const known = new Set([...readPrograms().keys(), ...WITH_NODE]);
  const unknown = FOLDERS.flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, encoding: "utf8" })
      .filter((name) => /\.(ts|mjs)$/.test(name) && !name.startsWith("tidy-programs"))
      .flatMap((name) =>
        listStarted(readFileSync(join(ROOT, folder, name), "utf8"))
          .filter((program) => !known.has(program))
          .map((program) => `${folder}/${name}: ${program}`),
      ),
  );
  expect(unknown).toEqual([]);
});
