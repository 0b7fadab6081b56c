// Back-tests as a service: one at a time, broken ones on record, the newest kept, none left behind
// by a close, and a thread that dies takes nothing with it.
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import type { BacktestFindings } from "../../../src/contract/schemas/backtest.ts";
import { loadDefaultConfig } from "../../../src/engine/config.ts";
import { BACKTESTS_KEPT, BacktestService } from "../../../src/kaizen/service/backtests.ts";
import type { BacktestServiceOptions } from "../../../src/kaizen/service/backtests.ts";
import { runBacktestOnPool } from "../../../src/kaizen/service/worker-pool.ts";
import { defaultPolicySource } from "../../../src/policy/active-policy.ts";
import { openStage, outcomesOf } from "../_service.ts";

const NOW_MS = Date.parse("2026-06-01T00:00:00Z");
const FIRST_ID = "b-20260601-000000000";
const ORDER = { tenant: "acme", includesUnvouched: false, startedBy: "key-1" };
const folders: string[] = [];

afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

const FINDINGS: BacktestFindings = {
  outcomes: 3,
  good: 2,
  bad: 1,
  unvouched: 0,
  counts_unvouched: false,
  without_stakes: 0,
  first_at: null,
  last_at: null,
  bounds: [],
  rows: [],
  curves: [],
  reasons: [],
  changes: [],
  agents: [],
  money: [],
  money_curves: [],
};

function open(changes: Partial<BacktestServiceOptions> = {}) {
  const dataDir = changes.dataDir ?? mkdtempSync(join(tmpdir(), "backtests-"));
  folders.push(dataDir);
  const logged: string[] = [];
  const log = (event: string) => void logged.push(event);
  const service = new BacktestService({
    dataDir,
    journal: join(dataDir, "journal"),
    ledger: { position: () => 0 },
    policies: defaultPolicySource,
    weights: () => ({ config: loadDefaultConfig(), promotedAt: undefined }),
    clock: () => NOW_MS,
    log: { info: log, warn: log, error: log },
    runTask: async () => FINDINGS,
    ...changes,
  });
  return { service, dataDir, logged };
}

it("makes one at a time, under ids of their own though the clock stands still", async () => {
  let finish: (findings: BacktestFindings) => void = () => undefined;
  const held = new Promise<BacktestFindings>((resolve) => (finish = resolve));
  const { service } = open({ runTask: () => held });
  const first = service.start(ORDER)!;
  expect(first.id).toBe(FIRST_ID);
  expect(service.start(ORDER)).toBeUndefined();
  expect(service.list()).toMatchObject({ running: { backtest_id: FIRST_ID }, backtests: [] });
  expect(service.find(FIRST_ID)).toMatchObject({ state: "running" });
  expect(service.page(FIRST_ID)).toContain("under way");
  finish(FINDINGS);
  expect(await first.done).toMatchObject({ state: "done", outcomes: 3 });
  const second = service.start(ORDER)!;
  expect(second.id).toBe("b-20260601-000000001");
  await second.done;
  expect(service.list().backtests.map((each) => each.backtest_id)).toEqual([second.id, FIRST_ID]);
});

it("keeps one that broke, with its reason, and goes on", async () => {
  let isBroken = true;
  const { service, dataDir, logged } = open({
    runTask: async () => {
      if (isBroken) throw new Error("the thread ended");
      return FINDINGS;
    },
  });
  expect(await service.start(ORDER)!.done).toMatchObject({
    state: "failed",
    reason: "the thread ended",
  });
  expect(logged).toEqual(["backtest_failed"]);
  const again = open({ dataDir }).service;
  expect(again.find(FIRST_ID)).toMatchObject({ state: "failed", reason: "the thread ended" });
  expect(again.page(FIRST_ID)).toContain("the thread ended");
  isBroken = false;
  expect(await service.start(ORDER)!.done).toMatchObject({ state: "done" });
});

it("breaks on a journal that is not there, on its real thread, and harms nothing", async () => {
  const { service: own } = open({ runTask: runBacktestOnPool, ledger: { position: () => 5 } });
  const broken = await own.start(ORDER)!.done;
  expect(broken.state).toBe("failed");
  expect(broken.reason).not.toBe("");
});

it("gives its real thread up at a close", async () => {
  const stage = await openStage();
  await stage.ledger.appendBatch(outcomesOf(4, 10));
  const { service } = open({
    runTask: runBacktestOnPool,
    journal: join(stage.dataDir, "journal"),
    ledger: stage.ledger,
  });
  const started = service.start(ORDER)!;
  await service.close();
  expect(await started.done).toMatchObject({
    state: "failed",
    reason: expect.stringMatching(/abort/i),
  });
  expect(service.list()).toEqual({ backtests: [] });
  await stage.kaizen.close();
  await stage.ledger.close();
});

it("keeps the newest, and finds them again after a restart", async () => {
  let nowMs = NOW_MS;
  const { service, dataDir } = open({ clock: () => nowMs });
  for (let i = 0; i < BACKTESTS_KEPT + 3; i++) {
    nowMs += 1000;
    await service.start(ORDER)!.done;
  }
  expect(readdirSync(join(dataDir, "backtests"))).toHaveLength(BACKTESTS_KEPT);
  const listed = service.list().backtests;
  expect(listed).toHaveLength(BACKTESTS_KEPT);
  expect(service.find("b-20260601-000001000")).toBeUndefined();
  expect(open({ dataDir }).service.list().backtests).toEqual(listed);
});

it("shows those that an earlier version saved, which counted no money", async () => {
  const { service, dataDir } = open();
  const { money: _money, money_curves: _curves, ...findings } = FINDINGS;
  const saved = { ...(await service.start(ORDER)!.done), findings };
  writeFileSync(join(dataDir, "backtests", `${FIRST_ID}.json`), JSON.stringify(saved));
  const again = open({ dataDir }).service;
  expect(again.find(FIRST_ID)).toMatchObject({ findings: { money: [], money_curves: [] } });
  expect(again.page(FIRST_ID)).not.toContain("Cost by your own numbers");
});

it("is cancelled by a close, and leaves no file", async () => {
  const { service, dataDir } = open({
    runTask: (_task, _progress, signal) =>
      new Promise((_resolve, reject) => {
        signal.addEventListener("abort", () => reject(new Error("aborted")));
      }),
  });
  const started = service.start(ORDER)!;
  await service.close();
  expect((await started.done).state).toBe("failed");
  expect(readdirSync(dataDir)).toEqual([]);
});
