// Prints `N passed, N failed[, N skipped]` from a vitest JSON report, and exits 1 on any failure.
// A test file that could not be loaded has no tests to count, so it counts as one failure itself.
import { readFileSync } from "node:fs";

function readReport(path) {
  try {
    return JSON.parse(readFileSync(path, "utf8"));
  } catch {
    return undefined;
  }
}

const report = readReport(process.argv[2]);
let passed = 0;
// No report means that the tests never ran to the end.
let failed = report === undefined ? 1 : 0;
let skipped = 0;
for (const file of report?.testResults ?? []) {
  const statuses = file.assertionResults.map((test) => test.status);
  const failures = statuses.filter((status) => status === "failed").length;
  passed += statuses.filter((status) => status === "passed").length;
  failed += failures === 0 && file.status === "failed" ? 1 : failures;
  skipped += statuses.filter((status) => status !== "passed" && status !== "failed").length;
}
process.stdout.write(
  `${passed} passed, ${failed} failed${skipped === 0 ? "" : `, ${skipped} skipped`}\n`,
);
process.exitCode = failed === 0 ? 0 : 1;
