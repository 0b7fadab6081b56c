// Assessments through the real ledger: a text counts once per agent and asking tenant, in the same
// table after a replay, a snapshot and a re-fold; the queue never waits and counts what it drops.
import { afterEach, expect, test } from "vitest";
import type { Assessment } from "../../src/contract/assessments.ts";
import { ServiceFault } from "../../src/contract/faults.ts";
import { hashTenantToAskerNumber } from "../../src/contract/voices.ts";
import { openTableImage } from "../../src/engine/image.ts";
import { createEngineMemory } from "../../src/engine/memory.ts";
import { openEngineReader } from "../../src/engine/reader.ts";
import type { FoldAssessment } from "../../src/engine/reading.ts";
import { decodeAssessment, encodeAssessment } from "../../src/journal/assessments.ts";
import { diskFileLayer } from "../../src/platform/files.ts";
import { FRAME_HEAD_BYTES, FRAME_KINDS, writeFrameHead } from "../../src/journal/format.ts";
import { AssessmentQueue } from "../../src/ledger/assessment-queue.ts";
import { type OpenLedger, startLedger } from "../../src/ledger/client.ts";
import { LedgerCore } from "../../src/ledger/core.ts";
import { COMMIT_RECORDS_MAX } from "../../src/ledger/frame-batch.ts";
import type { EncodedFrames, FrameReceipts } from "../../src/ledger/ledger.ts";
import {
  VERDICT_DUPLICATE,
  VERDICT_RECORDED,
  VERDICT_DISK_FULL,
} from "../../src/ledger/replay-guard.ts";
import { selectSnapshotNames } from "../../src/ledger/snapshot/format.ts";
import {
  assessed,
  assessedRunOf,
  GUARD_ENTRIES,
  newKey,
  NOW_MS,
  recordOf,
  runOf,
  temporaryDirectory,
} from "./_fixtures.ts";

const AGENT = "agent://shop/seller-1";
const NEVER = { outcomes: 1e9, ms: 1e12, outcomesMin: 1e9 };
const OFTEN = { outcomes: 100, ms: 1e12, outcomesMin: 1e9 };

const open: OpenLedger[] = [];
afterEach(() => Promise.all(open.splice(0).map((ledger) => ledger.close())));

interface Opened {
  ledger: OpenLedger;
  memory: WebAssembly.Memory;
  onTable: () => void;
}

async function start(dataDir: string, snapshotPace = NEVER): Promise<Opened> {
  const ledger = await startLedger({
    dataDir,
    engineMemory: createEngineMemory(),
    onFatal: () => undefined,
    clock: () => NOW_MS,
    snapshotPace,
    onTable: (memory) => {
      opened.memory = memory;
      opened.onTable();
    },
  });
  open.push(ledger);
  const opened: Opened = { ledger, memory: ledger.engineMemory, onTable: () => undefined };
  return opened;
}

async function restart(dataDir: string, before: Opened): Promise<Opened> {
  await before.ledger.close();
  open.splice(open.indexOf(before.ledger), 1);
  return start(dataDir);
}

const tableOf = ({ memory }: Opened) => Buffer.concat(openTableImage(memory).viewParts());
const textsOf = ({ memory }: Opened, agent = AGENT) =>
  openEngineReader(memory, 1).explain(agent, NOW_MS).failedTexts;

/** Notes all and waits until they are answered. */
async function note({ ledger }: Opened, all: readonly Assessment[]) {
  const queue = new AssessmentQueue(ledger);
  for (const each of all) queue.enqueue(each);
  await queue.close();
  const { assessments_recorded_total, assessments_repeated_total, assessments_dropped_total } =
    queue.gauges();
  return [assessments_recorded_total, assessments_repeated_total, assessments_dropped_total];
}

test("what is written is what is read, with the tenant's number as a voice", () => {
  const assessment = assessed(7, { tenant: "größe", kindIndex: 1, keyId: "k", code: "X" });
  const payload = encodeAssessment(assessment);
  const frame = Buffer.concat([Buffer.alloc(FRAME_HEAD_BYTES), payload]);
  writeFrameHead(frame, 0, FRAME_KINDS.assessment, payload.byteLength);
  expect(decodeAssessment(frame, 0)).toEqual({
    ...assessment,
    asker: hashTenantToAskerNumber("größe"),
  });
  frame[FRAME_HEAD_BYTES] = 2;
  expect(() => decodeAssessment(frame, 0)).toThrow("version 2");
});

test("a text counts once per agent and tenant: in one commit, in the next, after a start", () => {
  const directory = temporaryDirectory();
  const key = newKey();
  const folded: FoldAssessment[] = [];
  const reopen = () =>
    new LedgerCore({
      files: diskFileLayer,
      directory,
      key,
      epoch: 1,
      fold: () => undefined,
      foldAssessment: (each) => folded.push(each),
      nowMs: NOW_MS,
      replayEntriesMax: GUARD_ENTRIES,
    });
  let core = reopen();
  const commit = (all: Assessment[]) =>
    core.commit([assessedRunOf(all)], NOW_MS).map(({ verdict }) => verdict);
  const [ok, again] = [VERDICT_RECORDED, VERDICT_DUPLICATE];
  expect(commit([assessed(1), assessed(1), assessed(2)])).toEqual([ok, again, ok]);
  // Another code, time or key of the tenant makes no other text of it.
  const same = { code: "HASH_MISMATCH", keyId: "key-2", kindIndex: 1, assessedAtMs: NOW_MS + 9 };
  expect(commit([assessed(1, same)])).toEqual([again]);
  expect(commit([assessed(1, { tenant: "b" }), assessed(1, { agent: "agent://a" })])).toEqual([
    ok,
    ok,
  ]);
  // The parts of the identity do not run into each other.
  const glued = { agent: `${AGENT}a`, tenant: "cme" };
  expect(commit([assessed(1, glued)])).toEqual([ok]);
  expect(core.lsn).toBe(5);
  core.close();
  const live = folded.splice(0);
  core = reopen();
  expect(folded).toEqual(live);
  expect(commit([assessed(2), assessed(3)])).toEqual([again, ok]);
  core.close();
});

test("an outcome and an assessment of the same text are two things", () => {
  const core = new LedgerCore({
    files: diskFileLayer,
    directory: temporaryDirectory(),
    key: newKey(),
    epoch: 1,
    fold: () => undefined,
    nowMs: NOW_MS,
    replayEntriesMax: GUARD_ENTRIES,
  });
  const outcome = recordOf(1, { idempotencyKey: assessed(1).digest, tenant: "acme" });
  const results = core.commit([runOf([outcome]), assessedRunOf([assessed(1)])], NOW_MS);
  expect(results.map(({ verdict }) => verdict)).toEqual([VERDICT_RECORDED, VERDICT_RECORDED]);
  core.close();
});

test("a disk that is nearly full takes none", () => {
  let freeBytes = 1e12;
  const files = { ...diskFileLayer, freeBytes: () => freeBytes };
  const core = new LedgerCore({
    files,
    directory: temporaryDirectory(),
    key: newKey(),
    epoch: 1,
    fold: () => undefined,
    nowMs: NOW_MS,
    replayEntriesMax: GUARD_ENTRIES,
    reserveBytes: 1024 * 1024,
  });
  freeBytes = 1024 * 1024;
  const [result] = core.commit([assessedRunOf([assessed(1)])], NOW_MS);
  expect(result!.verdict).toBe(VERDICT_DISK_FULL);
  expect(core.lsn).toBe(0);
  core.close();
});

test("a replay among outcomes gives the same table, byte for byte", async () => {
  const dataDir = temporaryDirectory();
  const live = await start(dataDir);
  const report = (from: number, count: number) =>
    live.ledger.appendBatch(Array.from({ length: count }, (_, n) => recordOf(from + n)));
  const texts = (from: number) => Array.from({ length: 40 }, (_, n) => assessed(from + (n % 30)));
  await report(0, 50);
  expect(await note(live, texts(0))).toEqual([30, 10, 0]);
  await report(50, 50);
  const others = texts(20).map((each, n) => ({ ...each, agent: `agent://new/${n}`, tenant: "b" }));
  expect(await note(live, others)).toEqual([40, 0, 0]);
  await report(100, 20);
  const table = tableOf(live);
  expect(textsOf(live)[0]).toBeGreaterThan(10);
  expect(tableOf(await restart(dataDir, live)).equals(table)).toBe(true);
});

test("a start from a snapshot goes on with the texts that counted", async () => {
  const dataDir = temporaryDirectory();
  const live = await start(dataDir, OFTEN);
  await note(live, [assessed(1), assessed(2)]);
  const snapshots = () => selectSnapshotNames(diskFileLayer.list(`${dataDir}/snapshots`)).length;
  for (let i = 0; snapshots() === 0; i += 20) {
    await live.ledger.appendBatch(Array.from({ length: 20 }, (_, n) => recordOf(i + n)));
  }
  await note(live, [assessed(3)]);
  const table = tableOf(live);
  const next = await restart(dataDir, live);
  expect(next.ledger.replay.snapshotLsn).toBeGreaterThan(2);
  expect(tableOf(next).equals(table)).toBe(true);
  expect(await note(next, [assessed(1), assessed(3), assessed(4)])).toEqual([1, 2, 0]);
});

test("a re-fold of a compromised key's outcomes keeps the texts among the rest", async () => {
  const dataDir = temporaryDirectory();
  const live = await start(dataDir);
  const kid = Buffer.alloc(32, 7).toString("base64url");
  const proof = {
    kind: "own" as const,
    kid,
    jti: "00000000-0000-4000-8000-000000000001",
    protectedText: "e30",
    signature: Buffer.alloc(64),
  };
  await live.ledger.append(recordOf(1, { signature: "reporter", proof }));
  await note(live, [assessed(1), assessed(2, { kindIndex: 1 })]);
  await live.ledger.append(recordOf(2));
  const told = new Promise<void>((resolve) => (live.onTable = resolve));
  const event = { event: "revoked", kid, at_ms: NOW_MS, compromised_since_ms: 0 };
  await live.ledger.appendKeyEvent(Buffer.from(JSON.stringify(event)));
  await told;
  await note(live, [assessed(3)]);
  expect(textsOf(live)).toEqual([expect.closeTo(1.83, 1), expect.closeTo(0.92, 1)]);
  const table = tableOf(live);
  expect(tableOf(await restart(dataDir, live)).equals(table)).toBe(true);
});

/** A log that answers when it is told to. */
function slowLog() {
  const sent: { count: number; answer: (verdict: number) => void; fail: () => void }[] = [];
  const appendFrames = ({ count }: EncodedFrames) =>
    new Promise<FrameReceipts>((resolve, reject) => {
      const answer = (verdict: number) => {
        const numbers = Float64Array.from({ length: count * 3 }, (_, i) => (i % 3 ? 0 : verdict));
        resolve({ numbers, duplicateIds: [] });
      };
      const fail = () => reject(new ServiceFault("journal_unavailable", "the ledger has failed"));
      sent.push({ count, answer, fail });
    });
  return { sent, log: { appendFrames } };
}

test("the queue has one message under way, one commit waiting, and drops the rest", async () => {
  const { sent, log } = slowLog();
  const queue = new AssessmentQueue(log);
  queue.enqueue(assessed(0));
  await expect.poll(() => sent.length, { interval: 1 }).toBe(1);
  for (let n = 1; n <= COMMIT_RECORDS_MAX + 5; n++) queue.enqueue(assessed(n));
  expect(sent.length).toBe(1);
  const dropped = Number(queue.gauges()["assessments_dropped_total"]);
  expect(dropped).toBeGreaterThanOrEqual(5);
  sent[0]!.answer(VERDICT_RECORDED);
  await expect.poll(() => sent.length, { interval: 1 }).toBe(2);
  expect(sent[1]!.count).toBe(COMMIT_RECORDS_MAX + 5 - dropped);
  const closed = queue.close();
  sent[1]!.fail();
  await closed;
  queue.enqueue(assessed(9999));
  expect(queue.gauges()).toEqual({
    assessments_recorded_total: 1,
    assessments_repeated_total: 0,
    assessments_dropped_total: COMMIT_RECORDS_MAX + 6,
  });
});

test("close sends what waits, and refusals of a full disk are counted", async () => {
  const { sent, log } = slowLog();
  const queue = new AssessmentQueue(log);
  queue.enqueue(assessed(1));
  queue.enqueue(assessed(2));
  const closed = queue.close();
  expect(sent.map(({ count }) => count)).toEqual([2]);
  sent[0]!.answer(VERDICT_DISK_FULL);
  await closed;
  expect(queue.gauges()).toMatchObject({
    assessments_recorded_total: 0,
    assessments_dropped_total: 2,
  });
});
