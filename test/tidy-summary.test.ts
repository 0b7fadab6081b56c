// The last line of `.ci/run`: what counts as passed, and who needed a second try.
import { spawnSync } from "node:child_process";
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";

const SUMMARY = join(import.meta.dirname, "../.ci/summary.mjs");
const directory = mkdtempSync(join(tmpdir(), "trustrank-summary-"));

type Test = [status: string, ...failureMessages: string[]];

function summaryOf(status: string, tests: Test[], meta = {}) {
  const assertionResults = tests.map(([each, ...failureMessages], index) => {
    return { status: each, fullName: `test ${index}`, failureMessages, meta };
  });
  const path = join(directory, "report.json");
  writeFileSync(path, JSON.stringify({ testResults: [{ status, assertionResults }] }));
  const { stdout, status: code } = spawnSync(process.execPath, [SUMMARY, path], {
    encoding: "utf8",
  });
  return { lines: stdout.trim().split("\n"), code };
}

it("counts", () => {
  expect(summaryOf("passed", [["passed"], ["passed"], ["pending"]])).toEqual({
    lines: ["2 passed, 0 failed, 1 skipped"],
    code: 0,
  });
  expect(summaryOf("failed", [["passed"], ["failed", "Error: no"]])).toEqual({
    lines: ["1 passed, 1 failed"],
    code: 1,
  });
});

it("names what passed on its second try, and forgives no counterexample", () => {
  const late = "AssertionError: expected 1 to be 2\n    at here";
  expect(summaryOf("passed", [["passed"], ["passed", late]])).toEqual({
    lines: [
      "defect, passed on its second try: test 1: AssertionError: expected 1 to be 2",
      "2 passed, 0 failed",
    ],
    code: 0,
  });
  const found = "Error: Property failed after 2 tests\n{ seed: 1 }";
  expect(summaryOf("passed", [["passed", found]])).toEqual({
    lines: [
      "failed on its first try: test 0: Error: Property failed after 2 tests",
      "0 passed, 1 failed",
    ],
    code: 1,
  });
});

it("takes a test skipped for a missing program for a failure", () => {
  expect(summaryOf("passed", [["skipped"]], { missing: ["nginx", "wrk"] })).toEqual({
    lines: ["failed, nginx and wrk missing: test 0", "0 passed, 1 failed"],
    code: 1,
  });
  expect(summaryOf("passed", [["skipped"]], { skipReason: "only on Linux" })).toEqual({
    lines: ["0 passed, 0 failed, 1 skipped"],
    code: 0,
  });
});

it("takes a file that did not load, and a report that is not there, for failures", () => {
  expect(summaryOf("failed", [])).toMatchObject({ lines: ["0 passed, 1 failed"], code: 1 });
  const { stdout, status } = spawnSync(process.execPath, [SUMMARY, join(directory, "none")], {
    encoding: "utf8",
  });
  expect([stdout, status]).toEqual(["0 passed, 1 failed\n", 1]);
});
