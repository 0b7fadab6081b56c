// The snippets of the README, run as they stand against the running service: every fenced block
// after a `runs:` marker, and the output that the README shows under it.
import { execFile } from "node:child_process";
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type LiveService, startLiveService } from "./_live.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
/** Inside the package, so that `trustrank/client` is this very tree. */
const FOLDER = path.join(ROOT, "build/readme");
const SNIPPET = /<!-- runs: ([\w-]+) -->\n```ts\n([^]*?)\n```\n(?:\n```text\n([^]*?)\n```\n)?/g;
/** What a snippet shows is not how fast it is: its timers run slow, so that 100 ms are long. */
const SLOW_TIMERS = `const { setTimeout: timer } = globalThis;
globalThis.setTimeout = (run, ms, ...rest) => timer(run, ms * 200, ...rest);`;

const readme = await readFile(path.join(ROOT, "README.md"), "utf8");
const snippets = [...readme.matchAll(SNIPPET)].map(([, name = "", code = "", output = ""]) => ({
  name,
  code,
  output,
}));

// Skipped while the README has no such snippet.
describe.skipIf(snippets.length === 0)("README", () => {
  let service: LiveService;
  beforeAll(async () => {
    service = await startLiveService();
    await mkdir(FOLDER, { recursive: true });
  });
  afterAll(async () => {
    await service.stop();
    await rm(FOLDER, { recursive: true, force: true });
  });

  it("marks every snippet it shows of the client", () => {
    const shown = readme.match(/^import .* from "trustrank\/client/gm) ?? [];
    expect(snippets.length).toBeGreaterThan(0);
    expect(new Set(snippets.map(({ name }) => name)).size).toBe(snippets.length);
    const run = snippets.map(({ code }) => code).join("\n");
    for (const line of shown) expect(run).toContain(line);
  });

  it.each(snippets)("runs: $name", async ({ name, code, output }) => {
    const file = path.join(FOLDER, `${name}.ts`);
    await writeFile(file, code);
    const flags = ["--disable-warning=ExperimentalWarning", "--conditions=trustrank-source"];
    const slow = `data:text/javascript,${encodeURIComponent(SLOW_TIMERS)}`;
    const args = [...flags, "--experimental-strip-types", "--import", slow, file];
    const { baseUrl, apiKey } = service;
    const env = { PATH: process.env["PATH"], TRUSTRANK_URL: baseUrl, TRUSTRANK_KEY: apiKey };
    const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: ROOT, env });
    expect(stdout.trimEnd()).toBe(output);
  });
});
