// A promoted config scores, but the log is folded by the config it began with: a start, which
// replays before it promotes again, ends with the same table.
import { afterEach, expect, test } from "vitest";
import { loadDefaultConfig } from "../../src/engine/config.ts";
import { createEngineMemory } from "../../src/engine/memory.ts";
import { openEngineReader } from "../../src/engine/reader.ts";
import { computeConfigVersion } from "../../src/kaizen/service/files.ts";
import { type OpenLedger, startLedger } from "../../src/ledger/client.ts";
import { NOW_MS, recordOf, temporaryDirectory } from "./_fixtures.ts";

const open: OpenLedger[] = [];
afterEach(() => Promise.all(open.splice(0).map((ledger) => ledger.close())));

async function start(dataDir: string) {
  const engineMemory = createEngineMemory();
  const ledger = await startLedger({
    dataDir,
    engineMemory,
    onFatal: () => undefined,
    clock: () => NOW_MS,
  });
  open.push(ledger);
  return { ledger, reader: openEngineReader(engineMemory, 1) };
}

const report = (ledger: OpenLedger, from: number) =>
  ledger.appendBatch(Array.from({ length: 200 }, (_, n) => recordOf(from + n)));

test("what an earlier release promoted folds as this one does, also after a start", async () => {
  const dataDir = temporaryDirectory();
  const shipped = loadDefaultConfig();
  const promoted = {
    ...shipped,
    name: "promoted by an earlier release",
    pair_cap: 0.5,
    stakes_high: 1000,
    grade_weights: [1, 1, 1, 1, 1],
    caution: 1.5,
  };
  const live = await start(dataDir);
  await report(live.ledger, 0);
  await live.ledger.installConfig(promoted);
  await report(live.ledger, 200);
  const agents = Array.from({ length: 7 }, (_, i) => `agent://shop/seller-${i}`);
  const facts = ({ reader }: typeof live) =>
    agents.map((agent) => ({ ...reader.explain(agent, NOW_MS), configNumber: 0 }));
  const served = facts(live);
  // It is the promoted one that scores.
  expect(live.reader.activeConfigVersion).toBe(computeConfigVersion(promoted));
  await live.ledger.close();
  open.length = 0;
  const next = await start(dataDir);
  expect(facts(next)).not.toEqual(served);
  await next.ledger.installConfig(promoted);
  expect(facts(next)).toEqual(served);
});
