// Threads that report through a port of their own: one order for all, shared syncs, an orderly end
// of one port and of the ledger itself.
import { MessageChannel } from "node:worker_threads";
import { expect, test } from "vitest";
import { createEngineMemory } from "../../src/engine/memory.ts";
import { startLedger } from "../../src/ledger/client.ts";
import { openLedgerPort, connectToLedger } from "../../src/ledger/port-transfer.ts";
import { NOW_MS, outcomeIdOf, recordOf, temporaryDirectory } from "./_fixtures.ts";

async function open() {
  const engineMemory = createEngineMemory();
  const { port1, port2 } = new MessageChannel();
  const announced: number[] = [];
  port1.on("message", (lsn: number) => announced.push(lsn));
  const ledger = await startLedger({
    dataDir: temporaryDirectory(),
    engineMemory,
    onFatal: (code) => expect.fail(`the ledger ended with ${code}`),
    clock: () => NOW_MS,
    storePort: port2,
  });
  const join = () => connectToLedger(openLedgerPort(ledger), engineMemory, () => NOW_MS);
  return { ledger, join, announced, close: () => port1.close() };
}

test("each port has its receipts in its order; positions are one sequence", async () => {
  const { ledger, join, announced, close } = await open();
  const all = [ledger, join(), join()];
  const reported = all.map((each, port) =>
    Promise.all(
      Array.from({ length: 500 }, (_, index) => each.append(recordOf(port * 500 + index + 1))),
    ),
  );
  const receipts = await Promise.all(reported);
  for (const [port, own] of receipts.entries()) {
    expect(own.map((each) => each.outcome_id)).toEqual(
      own.map((_, index) => outcomeIdOf(port * 500 + index + 1)),
    );
    const positions = own.map((each) => each.position);
    expect(positions).toEqual(positions.toSorted((a, b) => a - b));
  }
  const positions = receipts.flat().map((each) => each.position);
  expect(new Set(positions).size).toBe(1500);
  expect(Math.max(...positions)).toBe(1500);
  await Promise.all(all.slice(1).map((each) => each.close()));
  await ledger.close();
  // Far fewer syncs than outcomes: what came in meanwhile, from whichever port, shared one.
  expect(announced.length).toBeLessThan(150);
  close();
});

test("a repeat through another port gets the first receipt", async () => {
  const { ledger, join, close } = await open();
  const other = join();
  const first = await ledger.append(recordOf(1, { idempotencyKey: "k" }));
  const again = { idempotencyKey: "k", outcomeId: outcomeIdOf(2) };
  const repeat = await other.append(recordOf(1, again));
  expect(repeat).toEqual({ ...first, duplicate: true });
  await other.close();
  await ledger.close();
  close();
});

test("a port that closes is answered first and leaves the others alone", async () => {
  const { ledger, join, close } = await open();
  const leaving = join();
  const last = Array.from({ length: 100 }, (_, index) => leaving.append(recordOf(index + 1)));
  await leaving.close();
  expect((await Promise.all(last)).map((each) => each.duplicate)).toEqual(Array(100).fill(false));
  await expect(leaving.append(recordOf(200))).rejects.toMatchObject({
    code: "journal_unavailable",
  });
  expect((await ledger.append(recordOf(300))).position).toBe(101);
  await ledger.close();
  close();
});

test("when the ledger ends, a port that joined refuses instead of waiting", async () => {
  const { ledger, join, close } = await open();
  const other = join();
  expect((await other.append(recordOf(1))).position).toBe(1);
  await ledger.close();
  await expect
    .poll(() =>
      other.append(recordOf(2)).then(
        () => "taken",
        (error) => error.code,
      ),
    )
    .toBe("journal_unavailable");
  close();
});
