// Schedule of kaizen: missed weeks, the first start over old evidence, and the rows of runs that the
// store has missed.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, it, vi } from "vitest";
import type { Leadership } from "../../../src/kaizen/service/options.ts";
import { buildRunRow } from "../../../src/kaizen/service/run-record.ts";
import { isRunMissed, openKaizen } from "../../../src/kaizen/service/schedule.ts";
import type { KaizenResult } from "../../../src/kaizen/service/worker-pool.ts";
import { resolveDataPaths } from "../../../src/journal/data-directory.ts";
import type { StoreEvents } from "../../../src/store/store.ts";
import { ASKED, openStage, outcomesOf } from "../_service.ts";

const SILENT = { info: () => undefined, warn: () => undefined, error: () => undefined };
const at = (text: string): number => Date.parse(`${text}Z`);
const opened: string[] = [];

afterEach(() => {
  vi.useRealTimers();
  for (const path of opened.splice(0)) rmSync(path, { recursive: true, force: true });
});

describe("a missed week", () => {
  // 2026-06-01 is a Monday.
  it.each([
    ["it ran this Monday", "2026-06-01T03:00:01", undefined, "2026-06-07T12:00", false],
    ["it last ran before this Monday", "2026-05-27T12:00", undefined, "2026-06-01T09:00", true],
    ["the moment itself has not come", "2026-05-27T12:00", undefined, "2026-06-01T02:59", false],
    ["it never ran and there is nothing", undefined, undefined, "2026-06-03T00:00", false],
    ["it never ran over old evidence", undefined, "2026-01-10T00:00", "2026-06-03T00:00", true],
    ["it never ran, all is new", undefined, "2026-06-02T00:00", "2026-06-03T00:00", false],
  ] as const)("%s", (_, last, first, now, expected) => {
    const lastMs = last === undefined ? 0 : at(last);
    const firstMs = first === undefined ? undefined : at(first);
    expect(isRunMissed(lastMs, firstMs, at(now))).toBe(expected);
  });
});

/** A store that remembers, and may have forgotten. */
function rememberingStore(known: unknown[][] = []) {
  const told: StoreEvents["kaizen_runs"][] = [];
  return {
    told,
    recordRun: (_: string, event: object) => {
      told.push(event as StoreEvents["kaizen_runs"]);
      return Promise.resolve();
    },
    queryTrusted: () => Promise.resolve(known),
  };
}

const nothing: KaizenResult = {
  rows: 0,
  rowsByKind: { reporter: 0, bureau: 0, import: 0 },
  findings: {
    sides: [],
    reason: "nothing",
    policy: {} as KaizenResult["findings"]["policy"],
  },
};

async function openOver(
  dataDir: string,
  now: string,
  store = rememberingStore(),
  leadership?: Leadership,
) {
  const ledger = {
    appendConfig: () => Promise.resolve(1),
    installConfig: () => Promise.resolve(),
    position: () => 10,
  };
  const runTask = () => Promise.resolve(nothing);
  const options = {
    dataDir,
    journal: resolveDataPaths(dataDir).journal,
    ledger,
    clock: () => at(now),
    log: SILENT,
    runTask,
    leadership,
  };
  return { store, ...(await openKaizen(options, true, store)) };
}

async function oldEvidence(): Promise<string> {
  const dataDir = mkdtempSync(join(tmpdir(), "kaizen-schedule-"));
  opened.push(dataDir);
  const stage = await openStage(dataDir);
  await stage.ledger.appendBatch(outcomesOf(3, 10, at("2026-03-01T00:00")));
  await stage.ledger.close();
  return dataDir;
}

describe("the first start over old evidence", () => {
  it("catches up once it has served for a minute, and not again", async () => {
    const dataDir = await oldEvidence();
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const first = await openOver(dataDir, "2026-06-03T00:00");
    await vi.advanceTimersByTimeAsync(59_000);
    expect(first.kaizen.runs()).toEqual([]);
    await vi.advanceTimersByTimeAsync(2000);
    expect(first.kaizen.runs()).toMatchObject([{ started_by: "schedule", state: "kept" }]);
    expect(first.store.told.map((row) => row.status)).toEqual(["running", "kept"]);
    const closed = first.close();
    await vi.advanceTimersByTimeAsync(3000);
    await closed;
    const second = await openOver(dataDir, "2026-06-04T00:00");
    await vi.advanceTimersByTimeAsync(70_000);
    expect(second.kaizen.runs()).toHaveLength(1);
    const closing = second.close();
    await vi.advanceTimersByTimeAsync(3000);
    await closing;
  });
});

describe("the schedule", () => {
  it("is due on Mondays at 03:00 UTC", async () => {
    const service = await openOver(await oldEvidence(), "2026-06-03T00:00");
    const next = new Date(service.kaizen.nextRunMs!);
    expect([next.getUTCDay(), next.getUTCHours(), next.getUTCMinutes()]).toEqual([1, 3, 0]);
    await service.close();
  });
});

describe("a node of a cluster", () => {
  it("runs nothing while another leads, and catches up when it leads itself", async () => {
    const dataDir = await oldEvidence();
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const calls: (() => void)[] = [];
    const leadership = { isHeld: false, onTaken: (call: () => void) => void calls.push(call) };
    const node = await openOver(dataDir, "2026-06-03T00:00", rememberingStore(), leadership);
    await vi.advanceTimersByTimeAsync(120_000);
    expect(node.kaizen.runs()).toEqual([]);
    leadership.isHeld = true;
    for (const call of calls) call();
    await vi.advanceTimersByTimeAsync(59_000);
    expect(node.kaizen.runs()).toEqual([]);
    await vi.advanceTimersByTimeAsync(2000);
    expect(node.kaizen.runs()).toMatchObject([{ started_by: "schedule", state: "kept" }]);
    // Led by another in between: what is done is done.
    for (const call of calls) call();
    await vi.advanceTimersByTimeAsync(70_000);
    expect(node.kaizen.runs()).toHaveLength(1);
    const closing = node.close();
    await vi.advanceTimersByTimeAsync(3000);
    await closing;
  });
});

describe("rows in the store", () => {
  it("tells what the store has missed and nothing that it has", async () => {
    const dataDir = await oldEvidence();
    const first = await openOver(dataDir, "2026-03-01T00:00");
    await first.kaizen.start(ASKED)!.done;
    await first.kaizen.start(ASKED)!.done;
    await first.close();
    const [newest, oldest] = first.kaizen.runs();
    const store = rememberingStore([[newest!.run_id, "kept"]]);
    const second = await openOver(dataDir, "2026-03-01T00:00", store);
    await expect.poll(() => store.told.map((row) => row.run_id)).toEqual([oldest!.run_id]);
    await second.close();
  });

  it("names a run that was taken back so, with the reason", () => {
    const run = {
      run_id: "k-20260601-030000000",
      state: "promoted",
      started_at: "2026-06-01T03:00:00.000Z",
      started_by: "schedule",
      champion_version: "c-1",
      challenger_version: "c-2",
      rolled_back: { at: "2026-06-02T04:00:00.000Z", reason: "log-loss rose" },
      reason: "all gates passed",
      rows: 7,
      position: 9,
    } as const;
    expect(buildRunRow(run, 5)).toMatchObject({
      recorded_at: 5,
      status: "rolled_back",
      promoted: true,
      reason: "log-loss rose",
      finished_at: null,
      gates: [],
    });
  });
});
