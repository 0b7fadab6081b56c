// Ledger and store together over their real threads: live apply, catch-up, queries meanwhile.
import { afterEach, expect, test, vi } from "vitest";
import { createEngineMemory } from "../../src/engine/memory.ts";
import { type OpenLedger, startLedger } from "../../src/ledger/client.ts";
import { type OpenStore, startStore } from "../../src/store/client.ts";
import { NOW_MS, recordOf, temporaryDirectory } from "../ledger/_fixtures.ts";
import { LIMITS } from "./_fixtures.ts";

afterEach(() => {
  vi.useRealTimers();
});

async function openBoth(dataDir: string): Promise<{ ledger: OpenLedger; store: OpenStore }> {
  const store = await startStore({ dataDir });
  const ledger = await startLedger({
    dataDir,
    engineMemory: createEngineMemory(),
    storePort: store.ledgerPort,
    onFatal: (exitCode) => {
      throw new Error(`fatal ${exitCode}`);
    },
    clock: () => NOW_MS,
  });
  return { ledger, store };
}

const countIn = async (store: OpenStore) =>
  (await store.query("SELECT count(*) FROM outcomes", LIMITS)).rows[0]?.[0];

test("what is acknowledged is soon in the store, and stays over restarts", async () => {
  const dataDir = temporaryDirectory();
  const first = await openBoth(dataDir);
  const records = Array.from({ length: 300 }, (_, index) => recordOf(index));
  await first.ledger.appendBatch(records);
  await first.store.waitUntilApplied(300);
  expect(await countIn(first.store)).toBe(300);
  await first.ledger.close();
  await first.store.close();
  const second = await openBoth(dataDir);
  await second.store.waitUntilApplied(300);
  expect(second.store.status()).toMatchObject({ appliedLsn: 300, rebuildCount: 0, failure: "" });
  await second.ledger.append(recordOf(1000));
  await second.store.waitUntilApplied(301);
  expect(await countIn(second.store)).toBe(301);
  await second.store.close();
  await second.ledger.close();
});

test("a long query does not hold up the apply", async () => {
  const { ledger, store } = await openBoth(temporaryDirectory());
  await ledger.append(recordOf(1));
  await store.waitUntilApplied(1);
  const slow = store.query(
    "WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t) SELECT count(*) FROM t",
    { rowsMax: 1, timeoutMs: 60_000 },
  );
  let isAnswered = false;
  const ended = slow.catch(() => {
    isAnswered = true;
  });
  await ledger.appendBatch(Array.from({ length: 200 }, (_, index) => recordOf(index + 2)));
  await store.waitUntilApplied(201);
  expect(isAnswered).toBe(false);
  expect(store.status()).toMatchObject({ appliedLsn: 201, outcomeCount: 201 });
  await ledger.close();
  await store.close();
  await ended;
});

test("closing ends waiting queries and refuses later ones", async () => {
  const { ledger, store } = await openBoth(temporaryDirectory());
  const running = store.query("SELECT count(*) FROM range(1000000000000)", {
    rowsMax: 1,
    timeoutMs: 60_000,
  });
  const ended = running.catch((error: unknown) => error);
  await ledger.close();
  await store.close();
  expect(await ended).toMatchObject({ name: "ServiceFault" });
  await expect(store.query("SELECT 1", LIMITS)).rejects.toMatchObject({
    code: "store_unavailable",
  });
});

test("a close that the thread does not come back from ends waiting queries too", async () => {
  // Answers nothing, and ends by itself.
  const entry = new URL("data:text/javascript,setTimeout(() => undefined, 3000)");
  const store = await startStore({ dataDir: temporaryDirectory(), entry });
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  const ended = store.query("SELECT 1", LIMITS).catch((error: unknown) => error);
  const closed = store.close();
  await vi.advanceTimersByTimeAsync(60_000);
  await closed;
  expect(store.hasCloseTimedOut).toBe(true);
  // At once, not when the thread exits.
  const first = await Promise.race([ended, vi.advanceTimersByTimeAsync(1)]);
  expect(first).toMatchObject({ code: "store_unavailable" });
});
