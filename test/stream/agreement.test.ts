// Two nodes along one log, with real journals and agent tables: their tables agree at every thousandth message,
// and one bit that flips in one of them is told on both, while the chains go on being equal.
import { MessageChannel } from "node:worker_threads";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { HEAP_BASE } from "../../assembly/layout.ts";
import { loadDefaultConfig } from "../../src/engine/config.ts";
import { LiveTable } from "../../src/engine/live-table.ts";
import { createEngineMemory } from "../../src/engine/memory.ts";
import { computeTableHash } from "../../src/engine/table-hash.ts";
import { AgreementMonitor } from "../../src/stream/agreement.ts";
import {
  compareChains,
  compareTables,
  type NodeReport,
  readClusterView,
} from "../../src/stream/reports.ts";
import { ReportWatch } from "../../src/stream/living-nodes.ts";
import { StreamMetrics } from "../../src/stream/metrics.ts";
import { serveStream } from "../../src/stream/serve.ts";
import type { StreamEvent } from "../../src/stream/stream-event.ts";
import { newKey, NOW_MS, recordOf, runOf, temporaryDirectory } from "../ledger/_fixtures.ts";
import { feedOn, openOrdered } from "../ledger/ordered/_feed.ts";
import { MemoryLog } from "./_memory-log.ts";

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
});
afterEach(() => {
  vi.useRealTimers();
});

const KEY = newKey();

function nodeOn(log: MemoryLog, node: string, engine = "e") {
  const { port1, port2 } = new MessageChannel();
  const events: StreamEvent[] = [];
  const figures = new StreamMetrics();
  serveStream({
    log,
    port: port2,
    node,
    origin: `${node}:1`,
    version: "1",
    url: undefined,
    role: "serve" as const,
    key: "k",
    jobs: [],
    keep: undefined,
    watch: new ReportWatch(() => performance.now()),
    figures,
    clock: () => NOW_MS,
    monotonic: () => NOW_MS,
    tell: (event) => {
      if (event.kind !== "view") events.push(event);
    },
    closed: () => undefined,
  });
  const table = new LiveTable(createEngineMemory(), loadDefaultConfig(), 1n, 64 * 1024 * 1024);
  table.open(false);
  const core = openOrdered(temporaryDirectory(), {
    key: KEY,
    ordered: { generation: 1, origin: `${node}:1` },
    fold: (outcome) => table.fold(outcome),
    room: table,
  });
  const hashOf = (round: number) => ({ engine, hash: computeTableHash(table.memory, round) });
  feedOn(core, port1, { origin: `${node}:1`, tableHash: hashOf });
  return { events, figures, table };
}

let n = 0;
async function append(log: MemoryLog, count: number) {
  const offered = Array.from({ length: count }, () => {
    const frames = Uint8Array.from(runOf([recordOf(++n, { subject: `agent://s/${n}` })]).bytes);
    return log.append({ origin: "other:1", n, count: 1, frames });
  });
  await Promise.all(offered);
}

const report = () => vi.advanceTimersByTimeAsync(5000);

test("a table that differs is told where it is seen, and its end too", async () => {
  const log = new MemoryLog(NOW_MS);
  const nodes = [nodeOn(log, "a"), nodeOn(log, "b"), nodeOn(log, "c", "another engine")];
  const reached = async (seq: number) => {
    for (const { figures } of nodes) await expect.poll(() => figures.applied).toBe(seq);
    // Whoever reports first has not seen the others' newest.
    await report();
    await report();
  };
  await append(log, 1500);
  await reached(1500);
  const view = await readClusterView(log);
  expect(compareTables(view.reports, 1)).toEqual({ compared: 1, newest: 1000 });
  expect(nodes.map(({ events }) => events)).toEqual([[], [], []]);
  // The first row that one node folded.
  new Uint8Array(nodes[1]!.table.memory.buffer)[HEAP_BASE + 100]! ^= 4;
  await append(log, 700);
  await reached(2200);
  const different = await readClusterView(log);
  expect(compareTables(different.reports, 1).diverged).toEqual({
    seq: 2000,
    sides: [["a"], ["b"]],
  });
  expect(compareChains(different.reports, 1).diverged).toBeUndefined();
  for (const { events, figures } of nodes) {
    const detail = expect.stringContaining("at message 2000 of the log the agent tables");
    expect(events).toEqual([{ kind: "note", event: "cluster_tables_differ", detail }]);
    expect(figures.tablesDiffer).toBe(true);
  }
  // Its next start makes the table anew: it tells of no table until the next checkpoint.
  const [, b] = different.reports.find(([node]) => node === "b")!;
  log.isRefusing = true;
  vi.spyOn(log, "readReports").mockImplementation(() => {
    const kept = different.reports.filter(([node]) => node !== "b");
    const told = [...kept, ["b", { ...b, tables: [], checkpoints: [] }] as const];
    const found = told.map(
      ([node, each]) => [node, { told: each, revision: 1, keptMs: 0 }] as const,
    );
    return Promise.resolve(new Map(found));
  });
  await report();
  expect(nodes[0]!.events.at(-1)).toMatchObject({ event: "cluster_tables_agree" });
  expect(nodes[0]!.figures.tablesDiffer).toBe(false);
});

test("who stands in the register without a seal is named once for each change, and not more than once a minute", () => {
  const told: string[] = [];
  let nowMs = 0;
  const monitor = new AgreementMonitor({
    figures: new StreamMetrics(),
    monotonic: () => nowMs,
    tell: ({ detail }) => void told.push(detail),
  });
  const own = { checkpoints: [] } as unknown as NodeReport;
  const look = (...unsealed: string[]) =>
    monitor.compareReports("one", own, {
      generation: 1,
      state: { firstSeq: 1, lastSeq: 1, leader: "n0" },
      reports: [],
      ages: new Map(),
      unsealed,
    });
  for (const names of [["x"], ["x"], ["x", "y"]]) look(...names);
  expect(told).toEqual([expect.stringMatching(/names `x`$/)]);
  nowMs += 60_000;
  const many = Array.from({ length: 1000 }, (_, index) => `n${index}`);
  look(...many);
  expect(told[1]).toMatch(/`n7` and 992 more$/);
});
