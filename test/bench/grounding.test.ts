// The bench and the evaluation of grounding in small: they cannot rot, and their last line stays
// one JSON object with the members that people and regression bars read.
import { execFile } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, it } from "vitest";

const run = promisify(execFile);

async function lastLine(script: string, ...args: string[]): Promise<Record<string, unknown>> {
  const flags = ["--disable-warning=ExperimentalWarning", script, ...args];
  const { stdout } = await run(process.execPath, flags);
  return JSON.parse(stdout.trimEnd().split("\n").at(-1)!) as Record<string, unknown>;
}

it("bench -- grounding, with a vault beside an empty one", async () => {
  const flags = ["--smoke", "--vault", "200", "--seconds", "0"];
  const report = await lastLine("bench/grounding.ts", ...flags);
  const { assess } = report["vault"] as { assess: Record<string, number> };
  for (const name of ["popular_empty", "popular_full", "spread_empty", "spread_full"]) {
    expect(assess[`ns_${name}`], name).toBeGreaterThan(0);
  }
  expect(report["scores"]).toHaveLength(2);
});

/** Claims about invented towns: true ones repeat their page, false ones change name and number. */
function writeRows(folder: string): void {
  const town = (at: number) => `Town${String.fromCharCode(65 + (at % 26), 97 + (at % 7))}burg`;
  const rows = Array.from({ length: 240 }, (_, at) => {
    const source = `${town(at)} was founded in ${1000 + at} by miners. It has ${at * 31} houses.`;
    const label = at % 2;
    const resp =
      label === 0
        ? `${town(at)} was founded by miners in ${1000 + at}.`
        : `${town(at + 5)} was conquered by Vikings in ${2000 + at} after ${at} sieges.`;
    return { ds: "towns", group: `town ${at}`, task: "QA", query: "", source, resp, label };
  });
  writeFileSync(join(folder, "towns.jsonl"), rows.map((row) => JSON.stringify(row)).join("\n"));
}

it("eval:grounding by the shipped numbers tells true claims of towns from false ones", async () => {
  const folder = mkdtempSync(join(tmpdir(), "grounding-"));
  try {
    writeRows(folder);
    const report = await lastLine("bench/eval-grounding.ts", "--dir", folder);
    const [file] = report["files"] as Record<string, number>[];
    expect(file).toMatchObject({ rows: 240, positives: 120 });
    expect(file!["auroc"]).toBeGreaterThan(0.95);
    const [qa] = report["coverage"] as { kind: string; doubt: Record<string, number> }[];
    expect(qa).toMatchObject({ kind: "qa", clean_rows: 120, doubt: { nominal: 0.05 } });
    expect(qa!.doubt["achieved"]).toBeLessThan(0.05);
    expect(qa!.doubt["recall"]).toBeGreaterThan(0.5);
    // Fresh rows are scored by the shipped numbers either way.
    const shipped = await lastLine("bench/eval-grounding.ts", "--dir", folder, "--shipped");
    const [same] = shipped["files"] as Record<string, number>[];
    expect(same!["auroc"]).toBe(file!["auroc"]);
    expect(same!["word_overlap_auroc"]).toBeGreaterThan(0.5);
    expect(same!["auroc"]).toBeGreaterThanOrEqual(same!["word_overlap_auroc"]!);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
