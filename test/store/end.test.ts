// End of the store while it reads the scores of very many agents: it does not read them all first.
import { once } from "node:events";
import { MessageChannel } from "node:worker_threads";
import { expect, test } from "vitest";
import { createEngineMemory } from "../../src/engine/memory.ts";
import { createDecisionRing } from "../../src/store/decisions/ring-layout.ts";
import type { ScoreRow } from "../../src/store/rows/scores.ts";
import type { ScoreSource } from "../../src/store/score-refresh.ts";
import { serveStore } from "../../src/store/thread.ts";
import { NOW_MS, temporaryDirectory } from "../ledger/_fixtures.ts";
import { fillJournal, openRecords } from "./_fixtures.ts";
import { rowOf } from "./_score-rows.ts";

const AGENTS = 150_000;
const FIRST_SAMPLE_MS = 60_000;

class ManyAgents implements ScoreSource {
  readonly agentCount = AGENTS;
  readCount = 0;

  read(first: number, countMax: number): ScoreRow[] {
    const count = Math.min(countMax, this.agentCount - first);
    this.readCount = first + count;
    return Array.from({ length: count }, (_, n) => rowOf(first + n));
  }
}

test("a record that waits behind a reading of all scores does not hold up the end", async () => {
  const dataDir = temporaryDirectory();
  fillJournal(dataDir, 1, 100);
  const clock = { nowMs: NOW_MS };
  const { core, records, log } = openRecords(dataDir, createDecisionRing(), NOW_MS);
  const { port1, port2 } = new MessageChannel();
  // Its end comes after what it was sent.
  port1.on("message", () => undefined);
  const agents = new ManyAgents();
  serveStore({
    port: port2,
    ledgerPort: undefined,
    core,
    records,
    openScores: () => agents,
    scoresKeptDays: 3,
    clock: () => clock.nowMs,
    durableLsn: undefined,
    sandbox: undefined,
  });
  port1.postMessage({ kind: "table", engineMemory: createEngineMemory() });
  port1.postMessage({ kind: "notify", lsn: 50 });
  await expect.poll(() => core.applied.lsn).toBe(50);
  clock.nowMs += FIRST_SAMPLE_MS + 1;
  await expect.poll(() => agents.readCount).toBeGreaterThan(0);
  port1.postMessage({ kind: "notify", lsn: 100 });
  // The record's turn comes 250 ms later, behind the reading.
  const readAtMs = performance.now();
  await expect.poll(() => performance.now() - readAtMs).toBeGreaterThan(300);
  const closed = once(port1, "close");
  port1.postMessage({ kind: "close" });
  await closed;
  expect(agents.readCount).toBeLessThan(AGENTS);
  expect(core.applied.lsn).toBe(100);
  expect(log).toEqual([]);
});
