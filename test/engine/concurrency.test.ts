// Readers in other threads while the writer folds, grows the table and swaps configs: every
// reading is one consistent state, and names the config it was made with.
import { once } from "node:events";
import { Worker } from "node:worker_threads";
import { expect, test } from "vitest";
import {
  CHUNK_DIRECTORY_BASE,
  ROW_ID_LENGTH,
  ROW_ID_PTR,
  ROW_MEAN_A,
  ROW_SEQ,
} from "../../assembly/layout.ts";
import {
  computeConfigDigest,
  formatConfigVersion,
  loadDefaultConfig,
} from "../../src/engine/config.ts";
import { openEngine, START_MS } from "./_engine.ts";

const READER = new URL("./_reader-thread.ts", import.meta.url);
const AGENTS = 60_000;
const SWAPS = 200;

test("growth and config swaps under readers", async () => {
  const { memory, writer, config } = openEngine({ base_variance: 0, subject_tau_days: 1e9 });
  const anchor = "agent://grow/anchor";
  for (let i = 0; i < 10; i++) fold(anchor, `agent://grow/witness-${i}`);
  // The offsets of the swapped configs: each moves every score by a known amount.
  const versions = new Map<string, number>();
  for (let i = 0; i < SWAPS; i++) {
    const swapped = { ...config, score_offset: 380 + (i % 50) };
    versions.set(formatConfigVersion(computeConfigDigest(swapped)), i % 50);
  }
  versions.set(formatConfigVersion(computeConfigDigest(config)), 0);
  const workers = [1, 2].map(
    (slot) => new Worker(READER, { workerData: { memory, slot, anchor, nowMs: START_MS } }),
  );
  await Promise.all(workers.map((worker) => once(worker, "message")));
  for (let i = 0; i < AGENTS; i++) {
    fold(`agent://grow/${i}`, `agent://grow/${(i * 7) % AGENTS}`);
    if (i % (AGENTS / SWAPS) === 0) {
      const step = i / (AGENTS / SWAPS);
      writer.installConfig({ ...config, score_offset: 380 + (step % 50) });
    }
  }
  for (const worker of workers) {
    const answer = once(worker, "message");
    worker.postMessage("stop");
    const [{ readings, seen }] = (await answer) as [{ readings: number; seen: [string, number][] }];
    await worker.terminate();
    expect(readings).toBeGreaterThan(1000);
    const anchored = new Set<number>();
    for (const [version, score] of seen) {
      expect(versions.has(version), version).toBe(true);
      anchored.add(Math.round((score - versions.get(version)!) * 1e6) / 1e6);
    }
    // Same agent, same evidence: once the config's offset is taken off, one score is left.
    expect(anchored.size).toBe(1);
    expect(seen.length).toBeGreaterThan(3);
  }
  expect(writer.readTableByteCounts().agents).toBe(AGENTS + 11);

  function fold(subject: string, reporter: string): void {
    writer.fold({
      subject,
      reporter,
      outcome: 1,
      stakes: 10,
      gradeIndex: 3,
      signatureIndex: 1,
      settledAtMs: START_MS,
    });
  }
});

test("a writer that is put to sleep inside a row is waited for", async () => {
  const { memory, writer } = openEngine();
  const anchor = "agent://sleep/anchor";
  writer.fold({
    subject: anchor,
    reporter: "agent://sleep/witness",
    outcome: 1,
    stakes: 10,
    gradeIndex: 3,
    signatureIndex: 1,
    settledAtMs: START_MS,
  });
  const view = new DataView(memory.buffer);
  const row = view.getUint32(CHUNK_DIRECTORY_BASE, true);
  const idAt = view.getUint32(row + ROW_ID_PTR, true);
  const id = new Uint8Array(memory.buffer, idAt, view.getUint16(row + ROW_ID_LENGTH, true));
  expect(Buffer.from(id).toString()).toBe(anchor);

  const workerData = { memory, slot: 1, anchor, nowMs: START_MS };
  const worker = new Worker(READER, { workerData });
  await once(worker, "message");
  const seq = new Int32Array(memory.buffer, row + ROW_SEQ, 1);
  Atomics.add(seq, 0, 1);
  const mean = view.getFloat64(row + ROW_MEAN_A, true);
  view.setFloat64(row + ROW_MEAN_A, mean + 3, true);
  // Far longer than any reader looks at the row without a pause.
  await new Promise((resolve) => setTimeout(resolve, 200));
  view.setFloat64(row + ROW_MEAN_A, mean, true);
  Atomics.add(seq, 0, 1);
  const answer = once(worker, "message");
  worker.postMessage("stop");
  const [{ seen }] = (await answer) as [{ seen: [string, number][] }];
  await worker.terminate();
  expect(seen).toHaveLength(1);
});

test("every identifier folded is found again, through all growth steps", () => {
  const { writer, reader } = openEngine();
  const id = (i: number) => `agent://find/${(i * 2_654_435_761) % 4_294_967_296}-${i}`;
  const count = 20_000;
  for (let i = 0; i < count; i++) {
    writer.fold({
      subject: id(i),
      reporter: "agent://find/reporter",
      outcome: 1,
      stakes: 1,
      gradeIndex: 0,
      signatureIndex: 1,
      settledAtMs: START_MS,
    });
  }
  for (let i = 0; i < count; i++) expect(reader.check(id(i), 1, START_MS).isKnown).toBe(true);
  expect(reader.check(id(count), 1, START_MS).isKnown).toBe(false);
  expect(reader.agentCount).toBe(count + 1);
});

test("a second writer over one memory is refused", async () => {
  const { openEngineWriter } = await import("../../src/engine/writer.ts");
  const { memory } = openEngine();
  expect(() => openEngineWriter(memory, loadDefaultConfig(), 2n)).toThrow("already has a writer");
});
