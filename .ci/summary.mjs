// Prints `N passed, N failed[, N skipped]` from a vitest JSON report, and exits 1 on any failure.
// A test file that could not be loaded has no tests to count, so it counts as one failure itself. So does a test
// that was skipped for a program that .ci/run should have installed. A test that passed only on its second try is a
// defect: it is named before the last line, with its first error. One whose first try found a counterexample to a
// property has failed: another try only looked elsewhere.
import { readFileSync } from "node:fs";

const COUNTEREXAMPLE = "Property failed after";

function readReport(path) {
  try {
    return JSON.parse(readFileSync(path, "utf8"));
  } catch {
    return undefined;
  }
}

/** `passed`, `failed` or anything else for skipped; prints what the last line does not say. */
function readStatus({ status, fullName, failureMessages, meta }) {
  const missing = meta?.missing ?? [];
  if (status !== "passed" && status !== "failed" && missing.length > 0) {
    process.stdout.write(`failed, ${missing.join(" and ")} missing: ${fullName}\n`);
    return "failed";
  }
  if (status !== "passed" || failureMessages.length === 0) return status;
  const hasCounterexample = failureMessages.some((message) => message.includes(COUNTEREXAMPLE));
  const [reason] = failureMessages[0].split("\n");
  const verdict = hasCounterexample
    ? "failed on its first try"
    : "defect, passed on its second try";
  process.stdout.write(`${verdict}: ${fullName}: ${reason}\n`);
  return hasCounterexample ? "failed" : "passed";
}

const report = readReport(process.argv[2]);
let passed = 0;
// No report means that the tests never ran to the end.
let failed = report === undefined ? 1 : 0;
let skipped = 0;
for (const file of report?.testResults ?? []) {
  const statuses = file.assertionResults.map(readStatus);
  const failures = statuses.filter((status) => status === "failed").length;
  passed += statuses.filter((status) => status === "passed").length;
  failed += failures === 0 && file.status === "failed" ? 1 : failures;
  skipped += statuses.filter((status) => status !== "passed" && status !== "failed").length;
}
process.stdout.write(
  `${passed} passed, ${failed} failed${skipped === 0 ? "" : `, ${skipped} skipped`}\n`,
);
process.exitCode = failed === 0 ? 0 : 1;
