// Runs as of an earlier time: they find what a run would have found then, whatever came in since, and
// change nothing.
import { afterEach, expect, it } from "vitest";
import { rmSync } from "node:fs";
import { loadDefaultConfig } from "../../../src/engine/config.ts";
import { computeConfigVersion } from "../../../src/kaizen/service/files.ts";
import type { KaizenTask } from "../../../src/kaizen/service/worker-pool.ts";
import { ASKED, NOW_MS, openStage, outcomesOf, type Stage, winning } from "../_service.ts";

const DAY_MS = 86_400_000;
const THEN_MS = NOW_MS - 90 * DAY_MS;
const SEEDS = { agents: ["agent://voice/1"], namespaces: [], hasKeys: false, hasEarliest: false };

const stages: Stage[] = [];
afterEach(async () => {
  for (const { kaizen, ledger, dataDir } of stages.splice(0)) {
    await kaizen.close();
    await ledger.close();
    rmSync(dataDir, { recursive: true });
  }
});

async function open(...parameters: Parameters<typeof openStage>): Promise<Stage> {
  const stage = await openStage(...parameters);
  stages.push(stage);
  return stage;
}

it("finds the same, whatever has come in since", async () => {
  const all = outcomesOf(5, 2000);
  const earlier = all.filter(({ settledAtMs }) => settledAtMs <= THEN_MS);
  expect(earlier.length).toBeLessThan(1750);
  const runs = [];
  for (const records of [all, earlier]) {
    const { ledger, kaizen } = await open(undefined, { seeds: SEEDS });
    await ledger.appendBatch(records);
    runs.push(await kaizen.start({ ...ASKED, asOfMs: THEN_MS })!.done);
  }
  const [withLater, without] = runs as [(typeof runs)[0], (typeof runs)[0]];
  expect(withLater).toMatchObject({
    state: "dry_run",
    rows: earlier.length,
    as_of: new Date(THEN_MS).toISOString(),
  });
  expect(withLater.findings).toEqual(without.findings);
  expect(withLater.findings?.sides[0]).toMatchObject({ holdout_to_ms: THEN_MS });
}, 60_000);

it("never promotes, spends nothing and takes nothing back", async () => {
  const tasks: KaizenTask[] = [];
  const runTask = async (task: KaizenTask) => {
    tasks.push(task);
    return winning();
  };
  const { kaizen, ledger, engine } = await open(undefined, { runTask });
  const before = engine.activeConfigVersion;
  const run = await kaizen.start({ ...ASKED, asOfMs: THEN_MS })!.done;
  expect(run.state).toBe("dry_run");
  expect(engine.activeConfigVersion).toBe(before);
  expect(kaizen.status()).not.toHaveProperty("promoted_by");
  expect(ledger.position()).toBe(0);
  expect(tasks[0]).toMatchObject({
    asOfMs: THEN_MS,
    options: { nowMs: THEN_MS, testedToMs: { check: 0, handshake: 0 } },
  });
  expect(tasks[0]).not.toHaveProperty("watch");
});

it("challenges the weights of then, not those promoted since", async () => {
  const tasks: KaizenTask[] = [];
  const runTask = async (task: KaizenTask) => {
    tasks.push(task);
    return winning();
  };
  const { kaizen } = await open(undefined, { runTask });
  const promoted = await kaizen.start(ASKED)!.done;
  expect(promoted.state).toBe("promoted");
  const shipped = computeConfigVersion(loadDefaultConfig());
  const then = await kaizen.start({ ...ASKED, asOfMs: THEN_MS })!.done;
  expect(then.champion_version).toBe(shipped);
  expect(tasks.map(({ champion }) => computeConfigVersion(champion))).toEqual([shipped, shipped]);
  const now = await kaizen.start({ ...ASKED, isDryRun: true, asOfMs: NOW_MS })!.done;
  expect(now.champion_version).toBe(promoted.challenger_version);
});

it("refuses a time that has not come", async () => {
  const { kaizen } = await open();
  expect(() => kaizen.start({ ...ASKED, asOfMs: NOW_MS + 1 })).toThrow(
    expect.objectContaining({
      code: "invalid_request",
      errors: [expect.objectContaining({ pointer: "/as_of" })],
    }),
  );
  expect(kaizen.runs()).toEqual([]);
});
