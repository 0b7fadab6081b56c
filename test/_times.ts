// Program that prints where the time of a test run went, as a Markdown table by folder:
// `node test/_times.ts REPORT`, a report of vitest's JSON reporter. File-seconds: wall time of each file, summed.
import { readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { isLong } from "./_long.ts";

interface Report {
  readonly testResults: readonly {
    readonly name: string;
    readonly startTime: number;
    readonly endTime: number;
    readonly assertionResults: readonly object[];
  }[];
}

interface Sum {
  files: number;
  tests: number;
  seconds: number;
}

const ROOT = join(import.meta.dirname, "..");
const [, , path = join(ROOT, "build/test-report.json")] = process.argv;
const { testResults } = JSON.parse(readFileSync(path, "utf8")) as Report;

const sums = new Map<string, Sum>();
for (const { name, startTime, endTime, assertionResults } of testResults) {
  const file = relative(ROOT, name);
  const folder = file.split("/").slice(0, -1).slice(0, 2).join("/");
  const key = `\`${folder}\` | ${isLong(file) ? "long" : "short"}`;
  const sum = sums.get(key) ?? { files: 0, tests: 0, seconds: 0 };
  sum.files += 1;
  sum.tests += assertionResults.length;
  sum.seconds += (endTime - startTime) / 1000;
  sums.set(key, sum);
}

const rows = [...sums].toSorted(([, one], [, other]) => other.seconds - one.seconds);
const lines = rows.map(
  ([key, { files, tests, seconds }]) => `| ${key} | ${files} | ${tests} | ${seconds.toFixed(0)} |`,
);
for (const length of ["short", "long"]) {
  const some = rows.filter(([key]) => key.endsWith(length)).map(([, sum]) => sum);
  const total = (pick: (sum: Sum) => number) => some.reduce((all, sum) => all + pick(sum), 0);
  const seconds = total((sum) => sum.seconds).toFixed(0);
  lines.push(
    `| all | ${length} | ${total((sum) => sum.files)} | ${total((sum) => sum.tests)} | ${seconds} |`,
  );
}
process.stdout.write(
  "| folder | project | files | tests | file-seconds |\n|---|---|---|---|---|\n",
);
process.stdout.write(`${lines.join("\n")}\n`);
