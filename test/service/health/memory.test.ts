// Metrics of memory: their values move when a part takes some, and a store that is closed leaves its own out.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { LabelledMetricValue, MetricValues } from "../../../src/http/metrics/metric-values.ts";
import { MemorySampler } from "../../../src/service/health/memory.ts";
import { type Connection, type DuckDatabase, openDatabase } from "../../../src/store/duckdb.ts";

const MIB = 1024 * 1024;
const directory = mkdtempSync(join(tmpdir(), "trustrank-memory-"));
let database: DuckDatabase;
let connection: Connection;

beforeAll(async () => {
  const options = { memoryMegabytes: 512, exportDirectory: directory };
  database = await openDatabase(join(directory, "rows.duckdb"), options);
  connection = await database.connect();
});

afterAll(() => {
  connection.close();
  database.close();
  rmSync(directory, { recursive: true, force: true });
});

const HEAPS = {
  read: () => Promise.resolve([{ name: "main", used: 5, committed: 9, external: 2 }]),
};
const queryTrusted = (sql: string) => connection.rows(sql);

function sumOf(figures: MetricValues, name: keyof MetricValues): number {
  const values = (figures[name] ?? []) as readonly LabelledMetricValue[];
  return values.reduce((sum, { value }) => sum + Number(value), 0);
}

test("DuckDB's memory by tag rises with what it holds", async () => {
  const wasmBytes = () => ({ table: 64 });
  const memory = new MemorySampler({ heaps: HEAPS, store: { queryTrusted }, wasmBytes });
  expect(memory.figures()).not.toHaveProperty("store_memory_bytes");
  await memory.sample();
  const before = memory.figures();
  expect(before).toMatchObject({
    thread_heap_used_bytes: [{ labels: ["main"], value: 5 }],
    thread_heap_committed_bytes: [{ labels: ["main"], value: 9 }],
    thread_external_bytes: [{ labels: ["main"], value: 2 }],
    wasm_memory_bytes: [{ labels: ["table"], value: 64 }],
  });
  await connection.run("CREATE TEMP TABLE taken AS SELECT random() AS r FROM range(5_000_000)");
  await memory.sample();
  const after = memory.figures();
  const more = sumOf(after, "store_memory_bytes") - sumOf(before, "store_memory_bytes");
  expect(more).toBeGreaterThan(30 * MIB);
});

test.runIf(process.platform === "linux")("resident memory rises with a buffer", () => {
  const wasmBytes = () => ({});
  const memory = new MemorySampler({ heaps: HEAPS, store: { queryTrusted }, wasmBytes });
  const before = sumOf(memory.figures(), "resident_memory_bytes");
  const taken = new Uint8Array(64 * MIB).fill(1);
  const more = sumOf(memory.figures(), "resident_memory_bytes") - before;
  expect(more + taken.at(-1)!).toBeGreaterThan(32 * MIB);
});

test("a store that is closed leaves its metric out; a slow reading is not begun twice", async () => {
  const asked = Promise.withResolvers<unknown[][]>();
  let askedCount = 0;
  const store = {
    queryTrusted: () => {
      askedCount += 1;
      return asked.promise;
    },
  };
  const memory = new MemorySampler({ heaps: HEAPS, store, wasmBytes: () => ({}) });
  const first = memory.sample();
  await memory.sample();
  await Promise.resolve();
  expect(askedCount).toBe(1);
  asked.reject(new Error("the store is closed"));
  await first;
  expect(memory.figures()).not.toHaveProperty("store_memory_bytes");
  expect(memory.figures()).toMatchObject({ thread_heap_used_bytes: [{ labels: ["main"] }] });
});
