// Stores over decision rings for the tests of the decision log: closed and removed after each test,
// which fails when its store complained.
import assert from "node:assert/strict";
import * as fs from "node:fs";
import { afterEach } from "vitest";
import { type OpenStore, startStore } from "../../src/store/client.ts";

/** So long that nothing of these tests is pruned by the real clock. */
export const KEPT_DAYS = 365_000;
export const logged: string[] = [];
export const opened: { store: OpenStore; dataDir: string }[] = [];

afterEach(async () => {
  assert.deepEqual(logged.splice(0), [], "the store complained");
  for (const { store, dataDir } of opened.splice(0)) {
    await store.close();
    fs.rmSync(dataDir, { recursive: true });
  }
});

/** Opens a store that drains `rings`. */
export async function openWith(
  rings: SharedArrayBuffer[],
  dataDir = temporary(),
): Promise<OpenStore> {
  const store = await startStore({
    dataDir,
    isStandalone: true,
    rings,
    decisionsKeptDays: KEPT_DAYS,
    log: (event, detail) => logged.push(`${event}: ${detail}`),
  });
  opened.push({ store, dataDir });
  return store;
}

export const temporary = () => fs.mkdtempSync("/tmp/trustrank-decisions-");
