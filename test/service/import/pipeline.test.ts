// The import pipeline in front of a sink: batches, order, time shift, identities, bad lines.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterAll, describe, expect, it } from "vitest";

import { importOutcomeFile } from "../../../src/service/import/pipeline.ts";
import type { ImportOptions, ImportSink } from "../../../src/service/import/pipeline.ts";
import { BATCH_ITEMS_MAX, OUTCOME_ID_LENGTH_MAX } from "../../../src/contract/limits.ts";
import type { OutcomeRequest } from "../../../src/contract/schemas/outcomes.ts";

const folder = mkdtempSync(join(tmpdir(), "trustrank-import-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const NOW_MS = Date.UTC(2026, 5, 1);

function ratings(count: number): string {
  return Array.from({ length: count }, (_, i) => `1,${i + 2},5,${1000 + i}\n`).join("");
}

function optionsFor(text: string, more: Partial<ImportOptions> = {}): ImportOptions {
  const path = join(folder, "ratings.csv");
  writeFileSync(path, text);
  return {
    path,
    format: "snap-ratings",
    namespace: "otc",
    isRebased: false,
    nowMs: NOW_MS,
    badLinesMax: 3,
    ...more,
  };
}

/** Takes everything, after a while, as a server would. */
function collector(): { taken: OutcomeRequest[]; sizes: number[]; sink: ImportSink } {
  const taken: OutcomeRequest[] = [];
  const sizes: number[] = [];
  return {
    taken,
    sizes,
    sink: async (batch) => {
      taken.push(...batch);
      sizes.push(batch.length);
      await new Promise((resolve) => setTimeout(resolve, 1));
      return { accepted: batch.length, duplicates: 0, rejected: [] };
    },
  };
}

const quiet = () => undefined;

const refusesSecond: ImportSink = (batch) =>
  Promise.resolve({
    accepted: batch.length - 1,
    duplicates: 0,
    rejected: [{ index: 1, code: "self_report", detail: "no" }],
  });

const down: ImportSink = () => Promise.reject(new Error("disk full"));

describe("import", () => {
  it("sends full batches in order and counts what was taken", async () => {
    const { taken, sizes, sink } = collector();
    const total = 3 * BATCH_ITEMS_MAX + 17;
    const progress: number[] = [];
    const summary = await importOutcomeFile(optionsFor(ratings(total)), sink, (done, all) => {
      progress.push(done / all);
    });
    expect(summary).toEqual({
      source: "ratings:ratings.csv",
      accepted: total,
      duplicates: 0,
      rejected: [],
    });
    expect(sizes).toEqual([BATCH_ITEMS_MAX, BATCH_ITEMS_MAX, BATCH_ITEMS_MAX, 17]);
    expect(taken.map((each) => each.settled_at)).toEqual(
      Array.from({ length: total }, (_, i) => (1000 + i) * 1000),
    );
    expect(progress).toEqual(progress.toSorted((a, b) => a - b));
    expect(progress.at(-1)).toBeLessThanOrEqual(1);
  });

  it("shifts every time by the same amount when rebased", async () => {
    const { taken, sink } = collector();
    await importOutcomeFile(optionsFor("1,2,5,100\n1,3,5,40\n", { isRebased: true }), sink, quiet);
    expect(taken.map((each) => each.settled_at)).toEqual([NOW_MS - 60_000, NOW_MS]);
  });

  it("gives rows the same identities every time, and others to other files", async () => {
    const runs = await Promise.all(
      [ratings(3), ratings(3), ratings(4)].map(async (text, i) => {
        const { taken, sink } = collector();
        const path = join(folder, `run-${i}`);
        writeFileSync(path, text);
        await importOutcomeFile({ ...optionsFor(""), path, isRebased: i === 1 }, sink, quiet);
        return taken.map((each) => each.id!);
      }),
    );
    expect(runs[0]).toEqual(runs[1]);
    expect(new Set(runs.flat()).size).toBe(7);
    expect(runs[0]![0]!.length).toBeLessThanOrEqual(OUTCOME_ID_LENGTH_MAX);
  });

  it("keeps the identity a row brings", async () => {
    const { taken, sink } = collector();
    const row = {
      subject: "agent://a/x",
      reporter: "agent://b/y",
      outcome: 1,
      stakes: 1,
      grade: "self",
      id: "mine",
    };
    const text = `${JSON.stringify(row)}\n`;
    await importOutcomeFile(optionsFor(text, { format: "ndjson" }), sink, quiet);
    expect(taken[0]!.id).toBe("mine");
  });

  it("reports bad lines by number, its own and the sink's", async () => {
    const text = "1,2,5,100\n1,3,0,200\n4,4,5,300\n";
    const summary = await importOutcomeFile(optionsFor(text), refusesSecond, quiet);
    expect(summary.rejected.map(({ line, code }) => [line, code])).toEqual([
      [2, "malformed_body"],
      [3, "self_report"],
    ]);
  });

  it("ends when there are more bad lines than allowed", async () => {
    const { sink } = collector();
    const run = importOutcomeFile(optionsFor("x\n".repeat(5)), sink, quiet);
    await expect(run).rejects.toThrow(/more than 3 bad lines[^]*line 1: /);
  });

  it("fails when the sink fails, and when the file is not there", async () => {
    await expect(importOutcomeFile(optionsFor(ratings(5000)), down, quiet)).rejects.toThrow(
      "disk full",
    );
    const missing = { ...optionsFor(""), path: join(folder, "missing") };
    await expect(importOutcomeFile(missing, down, quiet)).rejects.toThrow("cannot read");
  });
});
