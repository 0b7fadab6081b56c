// Fits the weights, the bias, the idf table and the thresholds of grounding on a
// folder of labelled rows and writes the numbers into data/grounding. The rows stay where they are;
// of them only word-hash frequencies and names of groups (short digests) are kept.
import { writeFileSync } from "node:fs";
import { fitOn } from "./grounding-fit.ts";
import { groupDigest, readRows, RowBench } from "./grounding-rows.ts";
import { parsed } from "./load/parsed.ts";

function write(name: string, text: string): void {
  writeFileSync(new URL(`../data/grounding/${name}`, import.meta.url), text);
}

const { values } = parsed(import.meta.filename, { options: { dir: { type: "string" } } });
if (values.dir === undefined) throw new Error("--dir names the folder of labelled rows");
const rows = readRows(values.dir);
const { numbers, weights } = fitOn(new RowBench(), rows);
const byWeight = new Map<number, number[]>();
for (const [stem, weight] of weights) {
  byWeight.set(weight, [...(byWeight.get(weight) ?? []), stem]);
}
const lines = [...byWeight]
  .toSorted((a, b) => a[0] - b[0])
  .map(([weight, stems]) => `"${weight}":${JSON.stringify(stems.toSorted((a, b) => a - b))}`);
const groups = [...new Set(rows.map(groupDigest))].toSorted();
write("numbers.json", `${JSON.stringify(numbers, undefined, 2)}\n`);
write("idf.json", `{\n${lines.join(",\n")}\n}\n`);
write("fitted-groups.json", `${JSON.stringify(groups)}\n`);
process.stdout.write(`${JSON.stringify({ rows: rows.length, stems: weights.size, numbers })}\n`);
