// Reports of policy cases for build servers: JUnit XML, and Markdown for the summary of a GitHub job.
import type { CaseResult } from "./run-cases.ts";

/** JUnit XML, one suite per file. */
export function formatJunit(results: readonly CaseResult[]): string {
  const files = [...new Set(results.map(({ file }) => file))];
  const suites = files.map((file) => {
    const own = results.filter((result) => result.file === file);
    const failed = own.filter(({ failures }) => failures.length > 0).length;
    const cases = own.map(({ name, failures }) => {
      const head = `<testcase name="${escapeXml(name)}" classname="${escapeXml(file)}"`;
      if (failures.length === 0) return `    ${head}/>`;
      const text = escapeXml(failures.join("; "));
      return `    ${head}><failure message="${text}"/></testcase>`;
    });
    const head = `name="${escapeXml(file)}" tests="${own.length}" failures="${failed}"`;
    return `  <testsuite ${head}>\n${cases.join("\n")}\n  </testsuite>`;
  });
  return `<?xml version="1.0" encoding="UTF-8"?>\n<testsuites>\n${suites.join("\n")}\n</testsuites>\n`;
}

const FORBIDDEN_IN_XML = /[^\u{20}-\u{D7FF}\u{E000}-\u{FFFD}\u{10000}-\u{10FFFF}]/gu;

/** Text of an attribute; characters that XML 1.0 forbids are left out. */
function escapeXml(text: string): string {
  return text
    .toWellFormed()
    .replaceAll(FORBIDDEN_IN_XML, "")
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;");
}

/** Markdown with the failed cases. */
export function formatJobSummary(results: readonly CaseResult[]): string {
  const failed = results.filter(({ failures }) => failures.length > 0);
  const head = `### Policy cases: ${results.length - failed.length} of ${results.length} passed\n`;
  if (failed.length === 0) return head;
  const rows = failed.map(
    ({ file, name, failures }) =>
      `| ${escapeCell(file)} | ${escapeCell(name)} | ${escapeCell(failures.join("; "))} |`,
  );
  return `${head}\n| file | case | what differs |\n|---|---|---|\n${rows.join("\n")}\n`;
}

function escapeCell(text: string): string {
  return text
    .replaceAll(/\s+/g, " ")
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll("|", "\\|");
}
