// A checkout without a build: the command says how to make it, and prints no stack.
import { spawnSync } from "node:child_process";
import { cpSync, mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { readBuiltModule } from "../../src/platform/built-module.ts";

const ROOT = join(import.meta.dirname, "../..");
const folder = mkdtempSync("/tmp/trustrank-checkout-");
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test("a module that is there is read, and a missing one named with the command that makes it", () => {
  const module = readBuiltModule(new URL(`file://${ROOT}/build/wire.wasm`));
  expect(module.subarray(0, 4).toString("latin1")).toBe("\0asm");
  const missing = new URL(`file://${folder}/build/wire.wasm`);
  expect(() => readBuiltModule(missing)).toThrow(
    /build\/wire\.wasm is missing: run `npm run build`/,
  );
});

test("`trustrank serve` in a checkout without a build ends with one sentence", () => {
  for (const name of ["src", "assembly", "data/config", "data/grounding", "package.json"])
    cpSync(join(ROOT, name), join(folder, name), { recursive: true });
  symlinkSync(join(ROOT, "node_modules"), join(folder, "node_modules"));
  const flags = ["--disable-warning=ExperimentalWarning", "src/cli/trustrank.ts", "serve"];
  const { status, stderr } = spawnSync(
    process.execPath,
    [...flags, "--data-dir", join(folder, "data/local")],
    { cwd: folder, encoding: "utf8" },
  );
  expect(status).toBe(1);
  expect(stderr).toContain("is missing: run `npm run build`");
  expect(stderr).not.toMatch(/\n\s+at /);
});
