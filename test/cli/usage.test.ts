// Usage of the command line: wrong calls are exit code 2 and a sentence, help is exit code 0.
import { existsSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { describe, expect, it } from "vitest";

import { runCommand, startCommand } from "./_process.ts";

const dataDir = join(tmpdir(), "trustrank-usage-never-made");
const at = ["--data-dir", dataDir];

describe("usage", () => {
  it.concurrent.each([
    ["no command", []],
    ["an unknown command", ["fly"]],
    ["an unknown flag", ["serve", "--fast"]],
    ["a port that is none", ["serve", "--port", "many"]],
    ["a format that is none", ["import", "x", "--format", "xml"]],
    ["a scope that is none", ["keys", "create", "--scopes", "root", ...at]],
    ["a missing argument", ["query"]],
  ])("%s is exit code 2", async (_, parameters) => {
    const ended = await runCommand(parameters);
    expect(ended.code).toBe(2);
    expect(ended.stdout).toBe("");
    expect(ended.stderr).not.toContain("    at ");
  });

  it("an admin key that is too short is exit code 2", async () => {
    const ended = await runCommand(["serve", ...at], { TRUSTRANK_ADMIN_KEY: "short" });
    expect(ended).toMatchObject({ code: 2, stderr: expect.stringContaining("32 or more") });
  });

  it.concurrent.each([
    [["--help"]],
    [["serve", "--help"]],
    [["keys", "create", "--help"]],
    [["--version"]],
  ])("%j is exit code 0", async (parameters) => {
    const ended = await runCommand(parameters);
    expect(ended).toMatchObject({ code: 0, stderr: "" });
    expect(ended.stdout).not.toBe("");
  });

  it("a file that is not there is a failure in one sentence", async () => {
    const ended = await runCommand(["import", join(tmpdir(), "trustrank-missing"), ...at]);
    expect(ended.code).toBe(1);
    expect(ended.stderr).toMatch(/^trustrank: cannot read [^\n]+\n$/);
    expect(existsSync(dataDir)).toBe(false);
  });
});

it("ends in order when nobody reads on, as before `| head`", async () => {
  const { process: child, ended } = startCommand(["config", "check"]);
  child.stdout!.destroy();
  expect(await ended).toMatchObject({ code: 0, stderr: "" });
});
