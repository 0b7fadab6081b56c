// Versions of frameworks that would ignore a gate's option are refused when the gate is made, in one sentence.
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  assertFrameworkHook,
  isInCaretRange,
} from "../../../src/client/adapters/framework-version.ts";
import { ROOT, run } from "../_package.ts";

it.each([
  ["7.0.0", "^7.0.0", true],
  ["7.0.173", "^7.0.0", true],
  ["7.3.0", "^7.2.9", true],
  ["7.2.8", "^7.2.9", false],
  ["6.0.326", "^7.0.0", false],
  ["8.0.0", "^7.0.0", false],
  ["8.0.0-beta.1", "^7.0.0", false],
  ["7.1.0-canary.3", "^7.0.0", true],
  ["0.80.1", "^0.80.1", true],
  ["0.80.0", "^0.80.1", false],
  ["0.81.0", "^0.80.1", false],
  ["0.5.4", "^0.80.1", false],
  ["no version", "^7.0.0", false],
])("counts %s to %s: %s", (version, range, expected) => {
  expect(isInCaretRange(version, range)).toBe(expected);
});

const HOOK = { packageName: "some-sdk", range: "^7.0.0", option: "ask", advice: "wrap the tools" };

it("names what it found and what it needs", () => {
  expect(() => assertFrameworkHook(HOOK, "6.0.326")).toThrow(
    "`ask` needs some-sdk ^7.0.0, but 6.0.326 is installed, which may ignore it and run tools " +
      "without a decision: wrap the tools",
  );
  assertFrameworkHook(HOOK, "7.0.1");
  // A browser, an edge worker: nothing to read a version from.
  assertFrameworkHook(HOOK, undefined);
});

describe("the version that a program gets", () => {
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(path.join(tmpdir(), "trustrank-version-"));
    await install("", "6.0.326");
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  async function install(below: string, version: string): Promise<void> {
    const target = path.join(folder, below, "node_modules/ai");
    await mkdir(target, { recursive: true });
    await writeFile(path.join(target, "package.json"), JSON.stringify({ name: "ai", version }));
  }

  /** Runs a program in the folder below; what it threw, or `made`. */
  async function make(below: string, call: string): Promise<string> {
    const adapter = path.join(ROOT, "src/client/adapters/ai-sdk.ts");
    const text = `import * as sdk from ${JSON.stringify(adapter)};
try { ${call}; console.log("made"); } catch (error) { console.log(error.name + ": " + error.message); }`;
    await mkdir(path.join(folder, below), { recursive: true });
    const program = path.join(folder, below, "program.mjs");
    await writeFile(program, text);
    const flags = ["--disable-warning=ExperimentalWarning", program];
    return (await run(process.execPath, flags, { cwd: ROOT })).stdout.trim();
  }

  it.each([
    ["toolApproval", "sdk.aiSdkApproval(() => {})"],
    ["toolApproval", 'sdk.aiSdkToolApproval(() => {}, "pay")'],
    ["onToolExecutionEnd", "sdk.aiSdkOutcomes(() => {})"],
  ])("is the nearest to the main script: `%s` is refused on AI SDK 6", async (option, call) => {
    const refusal = `TypeError: \`${option}\` needs ai ^7.0.0, but 6.0.326 is installed`;
    expect(await make("app/src", call)).toContain(refusal);
  });

  it("may be another one than above it, and does not matter to wrapped tools", async () => {
    await install("newer", "7.0.1");
    expect(await make("newer/src", "sdk.aiSdkApproval(() => {})")).toBe("made");
    const tools = "sdk.aiSdkTools({ pay: { execute() {} } }, { policy: () => {} })";
    expect(await make("app/src", tools)).toBe("made");
  });
});
