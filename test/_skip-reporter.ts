// Reporter of skipped tests: a line for each missing program with the command that installs it, then a line for each
// other reason. With CI set, a test skipped for a program that can be installed fails the run.
import type { Reporter, TestCase, TestModule, Vitest } from "vitest/node";
import { type Program, readPrograms } from "./_needs.ts";

/** Of a group of skipped tests at most this many are named. */
const NAMED_MAX = 3;

export default class SkipReporter implements Reporter {
  #isFiltered = false;

  onInit(vitest: Vitest): void {
    this.#isFiltered = vitest.config.testNamePattern !== undefined;
  }

  onTestRunEnd(modules: readonly TestModule[]): void {
    const byProgram = new Map<string, TestCase[]>();
    const byReason = new Map<string, TestCase[]>();
    for (const test of modules.flatMap(({ children }) => [...children.allTests("skipped")])) {
      const { missing = [], skipReason } = test.meta();
      for (const name of missing) addTo(byProgram, name, test);
      const reason = skipReason ?? noteOf(test);
      // Tests that `-t` leaves out are skipped without a reason.
      if (missing.length === 0 && !(reason === undefined && this.#isFiltered)) {
        addTo(byReason, reason ?? "no reason given", test);
      }
    }
    const programs = readPrograms();
    const lines = [...byProgram].map(([name, tests]) =>
      describeMissing(programs.get(name)!, tests),
    );
    for (const [reason, tests] of byReason) lines.push(describeReason(reason, tests));
    if (lines.length > 0) process.stdout.write(`\n${lines.join("\n")}\n`);
    if (process.env["CI"] !== undefined && byProgram.size > 0) {
      process.stdout.write("with CI set, a test skipped for a missing program is a failure\n");
      process.exitCode = 1;
    }
  }
}

function addTo(groups: Map<string, TestCase[]>, key: string, test: TestCase): void {
  const group = groups.get(key);
  if (group === undefined) groups.set(key, [test]);
  else group.push(test);
}

function noteOf(test: TestCase): string | undefined {
  const result = test.result();
  return result.state === "skipped" ? result.note : undefined;
}

const countOf = ({ length }: readonly TestCase[]): string =>
  length === 1 ? "1 test" : `${length} tests`;

function describeMissing({ name, from }: Program, tests: readonly TestCase[]): string {
  const install = from!.startsWith(".ci/") ? from : `apt-get install ${from}`;
  return `skipped, ${name} is missing: ${countOf(tests)} (${install})`;
}

function describeReason(reason: string, tests: readonly TestCase[]): string {
  const names = tests.slice(0, NAMED_MAX).map(({ fullName }) => `"${fullName}"`);
  const more = tests.length > NAMED_MAX ? ", ..." : "";
  return `skipped, ${reason.trim()}: ${countOf(tests)} (${names.join(", ")}${more})`;
}
