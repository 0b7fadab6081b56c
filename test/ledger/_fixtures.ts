// Fixtures of the ledger's and the store's tests: records, keys, directories, an opened core.
import { generateKeyPairSync } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach } from "vitest";
import type { Assessment } from "../../src/contract/assessments.ts";
import { encodeAssessment } from "../../src/journal/assessments.ts";
import { FRAME_KINDS } from "../../src/journal/format.ts";
import { type BureauKey, buildBureauKey } from "../../src/journal/signing-key.ts";
import { type FileLayer, diskFileLayer } from "../../src/platform/files.ts";
import type { Fence } from "../../src/journal/ownership/fence.ts";
import type { FrameRun } from "../../src/journal/writer.ts";
import type { OutcomeRecord } from "../../src/journal/records.ts";
import { LedgerCore } from "../../src/ledger/core.ts";
import type { FoldedOutcome } from "../../src/journal/folded-outcome.ts";
import type { LedgerMetrics } from "../../src/ledger/metrics.ts";
import { FrameBatch } from "../../src/ledger/frame-batch.ts";

export const NOW_MS = Date.UTC(2026, 0, 2, 3, 4, 5, 678);

/** A reproducible generator of numbers in [0, 1): mulberry32. */
export function seededRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** The id of the n-th record of a test. */
export function outcomeIdOf(index: number): string {
  return `00000000-0000-7000-8000-${index.toString(16).padStart(12, "0")}`;
}

export function recordOf(index: number, changes: Partial<OutcomeRecord> = {}): OutcomeRecord {
  return {
    outcomeId: outcomeIdOf(index),
    idempotencyKey: "",
    subject: `agent://shop/seller-${index % 7}`,
    reporter: `agent://shop/buyer-${index % 5}`,
    outcome: index % 3 === 0 ? 0 : 1,
    stakes: index + 0.25,
    gradeIndex: index % 5,
    signature: "none",
    settledAtMs: NOW_MS - 1000,
    recordedAtMs: NOW_MS + index,
    isAgentFault: true,
    tenant: "acme",
    action: "purchase",
    requestId: "",
    source: "api",
    body: Buffer.from(`{"n":${index}}`),
    ...changes,
  };
}

export function runOf(records: readonly OutcomeRecord[]): FrameRun {
  const batch = new FrameBatch();
  for (const record of records) batch.addOutcome(record);
  return batch.drain();
}

/** The n-th failed text of an agent. */
export function assessed(n: number, changes: Partial<Assessment> = {}): Assessment {
  return {
    agent: "agent://shop/seller-1",
    tenant: "acme",
    keyId: "key-acme",
    code: "CONTENT_RECORDED_FALSE",
    kindIndex: 0,
    digest: n.toString(16).padStart(64, "0"),
    assessedAtMs: NOW_MS + n,
    ...changes,
  };
}

export function assessedRunOf(assessments: readonly Assessment[]): FrameRun {
  const batch = new FrameBatch();
  for (const each of assessments) batch.addEvent(FRAME_KINDS.assessment, encodeAssessment(each));
  return batch.drain();
}

export function newKey(): BureauKey {
  return buildBureauKey(generateKeyPairSync("ed25519").privateKey);
}

const directories: string[] = [];

/** A directory that goes away after the test. */
export function temporaryDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), "trustrank-test-"));
  directories.push(directory);
  return directory;
}

afterEach(() => {
  for (const directory of directories.splice(0)) rmSync(directory, { recursive: true });
});

export interface OpenedCore {
  core: LedgerCore;
  /** Copies of everything folded, replay included. */
  folded: FoldedOutcome[];
}

export interface CoreChanges {
  files?: FileLayer;
  segmentBytesMax?: number;
  nowMs?: number;
  replayEntriesMax?: number;
  reserveBytes?: number;
  figures?: LedgerMetrics;
  fence?: Fence;
}

/** Room for all that a test records: the real guard's 16 MiB of index would be most of its time. */
export const GUARD_ENTRIES = 4096;

export function openCore(directory: string, key: BureauKey, changes: CoreChanges = {}): OpenedCore {
  const folded: FoldedOutcome[] = [];
  const core = new LedgerCore({
    files: diskFileLayer,
    directory,
    key,
    epoch: 1,
    fold: (outcome) => folded.push({ ...outcome }),
    nowMs: NOW_MS,
    replayEntriesMax: GUARD_ENTRIES,
    ...changes,
  });
  return { core, folded };
}

/** Writes `batches` commits of `size` records each and closes. */
export function writeJournal(
  directory: string,
  key: BureauKey,
  batches: number,
  size: number,
  segmentBytesMax = 64 * 1024 * 1024,
): void {
  const { core } = openCore(directory, key, { segmentBytesMax });
  let index = 0;
  for (let batch = 0; batch < batches; batch++) {
    const records = Array.from({ length: size }, () => recordOf(++index));
    core.commit([runOf(records)], NOW_MS);
  }
  core.close();
}
