// Settings of the tests, in two projects: `short` is `npm test`, `long` is `npm run test:long`, both together are what
// CI runs. Arguments behind `--` filter by path: `npm test -- journal` runs every file whose path contains the word.
import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";
import { LONG_GLOBS } from "./test/_long.ts";
import { LongestFirst } from "./test/_longest-first.ts";
import { WAIT_MS_MAX } from "./test/_patience.ts";

const at = (path: string) => new URL(path, import.meta.url);

// Compiled code of Node's own kind, for every process and thread that follows: a tenth of the suite.
process.env["NODE_COMPILE_CACHE"] ??= fileURLToPath(at("build/compile-cache"));

const IS_CI = process.env["CI"] !== undefined;

export default defineConfig({
  test: {
    projects: [
      {
        extends: true,
        test: { name: "short", include: ["test/**/*.test.ts"], exclude: LONG_GLOBS },
      },
      { extends: true, test: { name: "long", include: LONG_GLOBS } },
    ],
    reporters: ["default", "./test/_skip-reporter.ts"],
    globalSetup: ["test/cli/_build-command.ts"],
    // Real threads, servers and databases run inside: forks keep native addons apart.
    pool: "forks",
    execArgv: [`--import=${at("test/_built-threads.mjs").href}`],
    // One more than the cores of most machines that run them: many tests wait, for processes, syncs and limits of time,
    // and two workers left a fifth of two cores idle. In CI a load that is lower is worth more than those minutes.
    maxWorkers: IS_CI ? 2 : 3,
    sequence: { sequencer: LongestFirst },
    // Of the tests of one file that run at once: those wait for processes of their own.
    maxConcurrency: 2,
    // In CI one of thousands may meet a machine that stands still for a moment: it is tried once more, and
    // `.ci/summary.mjs` names it. Counterexamples to properties are not forgiven there.
    retry: IS_CI ? 1 : 0,
    // Deadlines matter when a test fails, and only then: see test/_patience.ts.
    testTimeout: 5 * WAIT_MS_MAX,
    hookTimeout: 5 * WAIT_MS_MAX,
    // Of every `expect.poll`, which would else give up after a second.
    expect: { poll: { timeout: WAIT_MS_MAX, interval: 10 } },
  },
});
