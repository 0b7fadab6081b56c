// The lock of the packages: what is installed is known by its content, and by no registry's address.
import { readFileSync } from "node:fs";
import { expect, it } from "vitest";

interface LockedPackage {
  readonly integrity?: string;
  readonly resolved?: string;
  readonly link?: boolean;
  readonly optional?: boolean;
  readonly os?: readonly string[];
  readonly cpu?: readonly string[];
}

/** Binaries of other systems that the registry of the last update did not have. Never more. */
const UNKNOWN_MAX = 63;

const lock = readFileSync(new URL("../package-lock.json", import.meta.url), "utf8");
const { packages } = JSON.parse(lock) as { packages: Record<string, LockedPackage> };
/** Of the registry: the tree's own folders and the links to them are not. */
const entries = Object.entries(packages).filter(
  ([at, { link }]) => at.startsWith("node_modules/") && link !== true,
);

/** Optional, and for another system than the one that all is tested on. */
function isElsewhere(at: string, { optional, os, cpu }: LockedPackage): boolean {
  const isHere = (os ?? ["linux"]).includes("linux") && (cpu ?? ["x64"]).includes("x64");
  return optional === true && (!isHere || at.endsWith("-musl"));
}

it("knows every package that is installed here by its content", () => {
  const unknown = entries.filter(([, { integrity }]) => integrity === undefined);
  const here = unknown.filter(([at, entry]) => !isElsewhere(at, entry));
  expect(here.map(([at]) => at)).toEqual([]);
  expect(unknown.length).toBeLessThanOrEqual(UNKNOWN_MAX);
});

it("names no registry", () => {
  expect(entries.filter(([, { resolved }]) => resolved !== undefined)).toEqual([]);
  expect(lock).not.toMatch(/https?:\/\/[^"]*\.tgz/);
});
