// The sample history: the file in the tree is what its generator writes, and every line is an
// outcome the import accepts.
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

import { describe, expect, it } from "vitest";

import { sampleText } from "../../data/sample/generate.ts";
import { readOutcomes } from "../../src/service/import/read-outcomes.ts";
import { ServiceFault } from "../../src/contract/faults.ts";

const path = fileURLToPath(new URL("../../data/sample/outcomes.ndjson", import.meta.url));

describe("sample history", () => {
  it("is what the generator writes", () => {
    expect(sampleText() === readFileSync(path, "utf8")).toBe(true);
  });

  it("holds about 3,000 outcomes over 120 days, in order of time, all well-formed", () => {
    const rows = [...readOutcomes(path, "ndjson", "")];
    expect(rows.filter((row) => row.outcome instanceof ServiceFault)).toEqual([]);
    const times = rows.map((row) => (row.outcome as { settled_at: number }).settled_at);
    expect(times).toEqual(times.toSorted((a, b) => a - b));
    expect(rows.length).toBeGreaterThan(2900);
    expect((times.at(-1)! - times[0]!) / 86_400_000).toBeCloseTo(120, 0);
  });
});
