// Runner of the benches: every suite is listed once, in a group, with a summary.
import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { listSuites, readSummary } from "../../bench/front/suites.ts";

const run = promisify(execFile);
const front = (...flags: string[]) =>
  run(process.execPath, ["--disable-warning=ExperimentalWarning", "bench/bench.ts", ...flags]);

const HELP_MS_MAX = 30_000;
const suites = [...listSuites((file) => readFileSync(file, "utf8")).values()].flat();

test("every suite is listed once, with a summary", async () => {
  expect(new Set(suites.map(({ name }) => name)).size).toBe(suites.length);
  const { stdout } = await front("--help");
  for (const { name, summary } of suites) {
    expect(summary.length, name).toBeGreaterThan(20);
    expect(stdout).toContain(summary);
  }
});

test("an npm script of a bench starts the suite of its name", () => {
  const manifest = readFileSync("package.json", "utf8");
  const { scripts } = JSON.parse(manifest) as { scripts: Record<string, string> };
  const commands = Object.entries(scripts).filter(([name]) => /^(bench|eval):/.test(name));
  expect(commands.length).toBeGreaterThan(10);
  for (const [script, command] of commands) {
    const suite = suites.find(({ name }) => name === script.replace(/^bench:/, ""));
    expect(command.split(" ").at(-1), script).toBe(suite?.file);
  }
});

test("every suite tells of itself and its flags under --help, and does nothing else", async () => {
  const waiting = [...suites];
  const silent: string[] = [];
  const look = async () => {
    for (let suite = waiting.pop(); suite !== undefined; suite = waiting.pop()) {
      const command = ["--disable-warning=ExperimentalWarning", suite.file, "--help"];
      const { stdout, stderr } = await run(process.execPath, command, { timeout: HELP_MS_MAX });
      if (!/^ +-/m.test(stdout) || stderr !== "") silent.push(suite.name);
    }
  };
  await Promise.all([look(), look()]);
  expect(silent).toEqual([]);
}, 120_000);

test("the sentence ends at a full stop, or at a clause when it is long", () => {
  expect(readSummary("// bench:x: counts 1.5 of all. More.\ncode")).toBe("counts 1.5 of all");
  const long = `// bench:x: counts one, ${"and another ".repeat(9)}, and a third.`;
  expect(readSummary(long).length).toBeLessThan(93);
});

test("a suite is run with its flags, and its last line kept", async () => {
  const directory = mkdtempSync(path.join(tmpdir(), "trustrank-front-"));
  try {
    const { stdout } = await front("metrics", "--smoke", "--out-dir", directory);
    const kept = readFileSync(path.join(directory, "metrics.json"), "utf8");
    expect(kept.trimEnd()).toBe(stdout.trimEnd().split("\n").at(-1));
    expect(JSON.parse(kept)).toHaveProperty("request_ns");
  } finally {
    rmSync(directory, { recursive: true });
  }
});

test("what is neither suite nor group is refused, and a suite's failure is the front's", async () => {
  await expect(front("nothing")).rejects.toMatchObject({
    stderr: expect.stringContaining("no suite or group is called `nothing`"),
  });
  await expect(front("metrics", "--no-such-flag")).rejects.toMatchObject({ code: 1 });
});
