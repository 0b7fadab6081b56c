// The ledger over its real thread: batches, order, bounds, and what happens when the thread dies.
import * as fs from "node:fs";
import { join } from "node:path";
import { MessageChannel } from "node:worker_threads";
import { expect, test } from "vitest";
import { createEngineMemory } from "../../src/engine/memory.ts";
import { JournalDamaged } from "../../src/journal/faults.ts";
import { type OpenLedger, QUEUE_RECORDS_MAX, startLedger } from "../../src/ledger/client.ts";
import type { LedgerOptions } from "../../src/ledger/start.ts";
import { NOW_MS, outcomeIdOf, recordOf, temporaryDirectory } from "./_fixtures.ts";

async function open(
  dataDir: string,
  changes: Partial<LedgerOptions> = {},
): Promise<{ ledger: OpenLedger; fatal: number[] }> {
  const fatal: number[] = [];
  const ledger = await startLedger({
    dataDir,
    engineMemory: createEngineMemory(),
    onFatal: (exitCode) => fatal.push(exitCode),
    clock: () => NOW_MS,
    ...changes,
  });
  return { ledger, fatal };
}

test("receipts in order, replay on restart, positions announced to the store", async () => {
  const dataDir = temporaryDirectory();
  const { port1, port2 } = new MessageChannel();
  const announced: number[] = [];
  port1.on("message", (lsn: number) => announced.push(lsn));
  const { ledger } = await open(dataDir, { storePort: port2 });
  const receipts = await Promise.all(
    Array.from({ length: 3000 }, (_, index) => ledger.append(recordOf(index + 1))),
  );
  expect(receipts.map((receipt) => receipt.position)).toEqual(receipts.map((_, at) => at + 1));
  expect(receipts[41]?.outcome_id).toBe(outcomeIdOf(42));
  expect(ledger.position()).toBe(3000);
  expect(ledger.pendingCount).toBe(0);
  expect(ledger.isHealthy()).toBe(true);
  await ledger.close();
  expect(announced[0]).toBe(0);
  expect(announced.at(-1)).toBe(3000);
  // Natural batching: far fewer syncs than outcomes.
  expect(announced.length).toBeLessThan(300);
  port1.close();

  const { ledger: next } = await open(dataDir);
  expect(next.replay).toMatchObject({ outcomes: 3000, truncatedBytes: 0 });
  expect((await next.append(recordOf(5000))).position).toBe(3001);
  await next.close();
});

test("a broken promise in the fold ends the thread, and a close of the ledger too", async () => {
  const { ledger, fatal } = await open(temporaryDirectory());
  await ledger.append(recordOf(1));
  // No request has this grade: the engine refuses it after the sync.
  const broken = ledger.append(recordOf(2, { gradeIndex: 9 }));
  await expect(broken).rejects.toMatchObject({ code: "journal_unavailable" });
  await expect(ledger.append(recordOf(3))).rejects.toMatchObject({ code: "journal_unavailable" });
  await ledger.close();
  expect(fatal).toEqual([70]);
});

test("duplicates and conflicts in flight", async () => {
  const { ledger } = await open(temporaryDirectory());
  const [first, second, third] = await Promise.allSettled([
    ledger.append(recordOf(1, { idempotencyKey: "k" })),
    ledger.append(recordOf(1, { idempotencyKey: "k", outcomeId: outcomeIdOf(2) })),
    ledger.append(recordOf(3, { idempotencyKey: "k" })),
  ]);
  expect(first).toMatchObject({ value: { duplicate: false, position: 1 } });
  expect(second).toMatchObject({
    value: { duplicate: true, position: 1, outcome_id: outcomeIdOf(1) },
  });
  expect(third).toMatchObject({ reason: { code: "idempotency_conflict" } });
  await ledger.close();
});

test("a full queue refuses at once; a batch waits instead", async () => {
  const { ledger } = await open(temporaryDirectory());
  const settled = await Promise.allSettled(
    Array.from({ length: QUEUE_RECORDS_MAX + 500 }, (_, index) => ledger.append(recordOf(index))),
  );
  const refused = settled.filter((each) => each.status === "rejected");
  expect(refused).toHaveLength(500);
  expect(refused[0]).toMatchObject({ reason: { code: "overloaded" } });
  const many = Array.from({ length: QUEUE_RECORDS_MAX + 500 }, (_, index) => recordOf(index));
  expect(await ledger.appendBatch(many)).toHaveLength(many.length);
  await ledger.close();
});

test("closing settles what was accepted and refuses what comes later", async () => {
  const { ledger } = await open(temporaryDirectory());
  const accepted = ledger.append(recordOf(1));
  await ledger.close();
  expect((await accepted).position).toBe(1);
  await expect(ledger.append(recordOf(2))).rejects.toMatchObject({ code: "journal_unavailable" });
  expect(ledger.isHealthy()).toBe(false);
});

test("damaged evidence refuses to start, with the place", async () => {
  const dataDir = temporaryDirectory();
  const { ledger } = await open(dataDir);
  await ledger.append(recordOf(1));
  await ledger.append(recordOf(2));
  await ledger.close();
  const name = fs.readdirSync(join(dataDir, "journal")).find((each) => each.endsWith(".log"));
  const path = join(dataDir, "journal", name ?? "");
  const bytes = fs.readFileSync(path);
  bytes[170] = (bytes[170] as number) ^ 1;
  fs.writeFileSync(path, bytes);
  const refusal = open(dataDir);
  await expect(refusal).rejects.toThrow(JournalDamaged);
  await expect(refusal).rejects.toMatchObject({ exitCode: 65, damage: { offset: 128 } });
  // The claim was given back.
  await expect(open(dataDir)).rejects.toThrow(JournalDamaged);
});

test("a bureau key that vanished is not silently replaced", async () => {
  const dataDir = temporaryDirectory();
  const { ledger } = await open(dataDir);
  await ledger.append(recordOf(1));
  await ledger.close();
  fs.rmSync(join(dataDir, "bureau.key"));
  await expect(open(dataDir)).rejects.toMatchObject({ exitCode: 65 });
  expect(fs.existsSync(join(dataDir, "bureau.key"))).toBe(false);
});

test("a thread that dies rejects everything and says so once", async () => {
  const entry = new URL("./_dying-thread.ts", import.meta.url);
  const { ledger, fatal } = await open(temporaryDirectory(), { entry });
  const pending = [ledger.append(recordOf(1)), ledger.append(recordOf(2))];
  for (const each of await Promise.allSettled(pending)) {
    expect(each).toMatchObject({ reason: { code: "journal_unavailable" } });
  }
  expect(ledger.isHealthy()).toBe(false);
  await expect(ledger.append(recordOf(3))).rejects.toMatchObject({ code: "journal_unavailable" });
  await ledger.close();
  expect(fatal).toEqual([70]);
});

test("a sync that fails ends the thread with 70, nothing acknowledged", async () => {
  const entry = new URL("./_failing-thread.ts", import.meta.url);
  const { ledger, fatal } = await open(temporaryDirectory(), { entry });
  expect((await ledger.append(recordOf(1))).position).toBe(1);
  await expect(ledger.append(recordOf(2))).rejects.toMatchObject({ code: "journal_unavailable" });
  await ledger.close();
  expect(fatal).toEqual([70]);
});

test("a full disk: 503 while full, healthy again by itself", async () => {
  const entry = new URL("./_failing-thread.ts", import.meta.url);
  const { ledger, fatal } = await open(temporaryDirectory(), {
    entry,
    engineSettings: "full",
  });
  expect((await ledger.append(recordOf(1))).position).toBe(1);
  await expect(ledger.append(recordOf(2))).rejects.toMatchObject({ code: "journal_unavailable" });
  await expect.poll(() => ledger.isHealthy()).toBe(false);
  await expect.poll(() => ledger.isHealthy()).toBe(true);
  expect((await ledger.append(recordOf(3))).position).toBe(2);
  await ledger.close();
  expect(fatal).toEqual([]);
});
