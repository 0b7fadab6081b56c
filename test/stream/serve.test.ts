// The stream thread's work between a log in memory and the feed of a real ledger core: appends come back at their
// places, doubled, left out, held back or refused; what is too far ahead waits; a log that has lost is told.
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { MessageChannel } from "node:worker_threads";
import { VERDICT_RECORDED, VERDICT_LOG_UNAVAILABLE } from "../../src/ledger/replay-guard.ts";
import { SEALED_RULES, TICK_RULES, type ToStream } from "../../src/ledger/ordered/message.ts";
import { ReportWatch } from "../../src/stream/living-nodes.ts";
import { type ClusterJob, StreamMetrics } from "../../src/stream/metrics.ts";
import { serveStream } from "../../src/stream/serve.ts";
import type { StreamEvent } from "../../src/stream/stream-event.ts";
import { NOW_MS, recordOf, temporaryDirectory } from "../ledger/_fixtures.ts";
import { feedOn, openOrdered, ORIGIN } from "../ledger/ordered/_feed.ts";
import { MemoryLog } from "./_memory-log.ts";

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
});
afterEach(() => {
  vi.useRealTimers();
});

function serve(log: MemoryLog, pass = { ms: 0 }, jobs: readonly ClusterJob[] = []) {
  const { port1, port2 } = new MessageChannel();
  const events: StreamEvent[] = [];
  const figures = new StreamMetrics();
  let nowMs = NOW_MS;
  serveStream({
    log,
    port: port2,
    node: "one",
    origin: ORIGIN,
    version: "1",
    url: undefined,
    role: "serve" as const,
    key: "k",
    figures,
    jobs,
    keep: undefined,
    watch: new ReportWatch(() => performance.now()),
    clock: () => (nowMs += 1) + pass.ms,
    monotonic: () => (nowMs += 1) + pass.ms,
    tell: (event) => {
      if (event.kind !== "view") events.push(event);
    },
    closed: () => undefined,
  });
  return { port: port1, events, figures };
}

function start(log = new MemoryLog(NOW_MS), jobs: readonly ClusterJob[] = []) {
  const pass = { ms: 0 };
  const served = serve(log, pass, jobs);
  const core = openOrdered(temporaryDirectory());
  return { log, core, pass, ...served, ...feedOn(core, served.port) };
}

const recorded = (count: number) =>
  Array.from({ length: count }, () => ["a", [VERDICT_RECORDED]] as const);

test("appends come back at their places, also where the log holds each twice", async () => {
  const { log, core, offer, answers, figures } = start();
  log.isDoubling = true;
  for (let index = 1; index <= 4; index++) offer([recordOf(index)]);
  await expect.poll(() => answers).toEqual(recorded(4));
  await expect.poll(() => figures.applied).toBe(8);
  // Eight marks and four outcomes.
  expect(core.lsn).toBe(12);
  const lagMs = figures.lagMs(NOW_MS + 1000);
  await vi.advanceTimersByTimeAsync(500);
  expect(figures.lagMs(NOW_MS + 1000)).toBeLessThan(lagMs);
});

test("what stands beside the log needs seals once the ledger tells of rules that demand them", async () => {
  const log = new MemoryLog(NOW_MS);
  const { offer, answers } = start(log);
  offer([recordOf(1)]);
  await expect.poll(() => answers).toEqual(recorded(1));
  expect(log.isSealDemanded).toBe(false);
  const sealed = new MemoryLog(NOW_MS);
  sealed.rules = SEALED_RULES;
  start(sealed).offer([recordOf(1)]);
  await expect.poll(() => sealed.isSealDemanded).toBe(true);
});

test("what was put there, and how the log is, stands in the figures", async () => {
  const { log, offer, answers, figures } = start();
  expect([figures.isConnected, figures.connectionsLost]).toEqual([true, 0]);
  for (let index = 1; index <= 4; index++) offer([recordOf(index)]);
  await expect.poll(() => answers.length).toBe(4);
  await expect.poll(() => figures.appliedMessages).toBe(4);
  const count = figures.publishDurationsSec.buckets.reduce((sum, each) => sum + each, 0);
  expect([count, figures.failedMessages, figures.hasLeader(NOW_MS)]).toEqual([4, 0, true]);
  log.isRefusing = true;
  offer([recordOf(5)]);
  await expect.poll(() => figures.failedMessages).toBe(1);
  Object.assign(log.link, { isUp: false, lost: 1 });
  log.link.onChange?.();
  expect([figures.isConnected, figures.connectionsLost]).toEqual([false, 1]);
});

test("while the log is away nothing is tried, and what is under way is given up", async () => {
  const { log, pass, offer, answers, figures, events } = start();
  await expect.poll(() => figures.followCount).toBe(1);
  log.isStanding = true;
  offer([recordOf(1)]);
  await expect.poll(() => log.tries).toBe(1);
  Object.assign(log.link, { isUp: false, lost: 1 });
  log.link.onChange?.();
  pass.ms += 900;
  offer([recordOf(2)]);
  await expect.poll(() => log.tries).toBe(2);
  expect(answers).toEqual([]);
  pass.ms += 200;
  offer([recordOf(3)]);
  const refused = ["a", [VERDICT_LOG_UNAVAILABLE]];
  await expect.poll(() => answers).toEqual([refused, refused, refused]);
  log.again();
  await expect.poll(() => [log.tries, figures.failedMessages]).toEqual([2, 3]);
  expect(figures.unavailableSinceMs).toBeGreaterThan(NOW_MS);
  log.isStanding = false;
  Object.assign(log.link, { isUp: true });
  log.link.onChange?.();
  offer([recordOf(4)]);
  await expect.poll(() => answers.length).toBe(4);
  expect(answers[3]).toEqual(["a", [VERDICT_RECORDED]]);
  expect(figures.unavailableSinceMs).toBe(0);
  expect(events.map((event) => event.kind === "note" && event.event)).toEqual([
    "stream_away",
    "stream_back",
  ]);
});

test("a log that nobody leads is away after a while, until somebody does", async () => {
  const { log, pass, offer, answers, figures } = start();
  offer([recordOf(1)]);
  await expect.poll(() => figures.applied).toBe(1);
  log.leader = undefined;
  pass.ms += 4000;
  await vi.advanceTimersByTimeAsync(500);
  expect(figures.unavailableSinceMs).toBeGreaterThan(0);
  offer([recordOf(2)]);
  await expect.poll(() => answers[1]).toEqual(["a", [VERDICT_LOG_UNAVAILABLE]]);
  log.leader = "memory";
  await vi.advanceTimersByTimeAsync(500);
  offer([recordOf(3)]);
  await expect.poll(() => answers[2]).toEqual(["a", [VERDICT_RECORDED]]);
});

test("a message that a reading left out is read again", async () => {
  const { log, offer, answers, figures, core } = start();
  log.isHeld = true;
  for (let index = 1; index <= 4; index++) offer([recordOf(index)]);
  await expect.poll(() => log.messages.length).toBe(4);
  log.leftOut = 2;
  log.isHeld = false;
  await log.pump();
  await expect.poll(() => answers).toEqual(recorded(4));
  expect(core.progress.seq).toBe(4);
  expect(log.followedFrom.slice(0, 2)).toEqual([1, 1]);
  expect(figures.followCount).toBe(log.followedFrom.length);
});

test("what the log refuses is unavailable, and noted", async () => {
  const { log, offer, answers, events } = start();
  log.isRefusing = true;
  offer([recordOf(1), recordOf(2)]);
  await expect
    .poll(() => answers)
    .toEqual([["a", [VERDICT_LOG_UNAVAILABLE, VERDICT_LOG_UNAVAILABLE]]]);
  expect(events).toEqual([
    { kind: "note", event: "stream_append_failed", detail: "refused by the test" },
  ]);
  log.isRefusing = false;
  offer([recordOf(3)]);
  await expect.poll(() => answers.length).toBe(2);
  expect(answers[1]).toEqual(["a", [VERDICT_RECORDED]]);
});

test("a job is asked for once this node has caught up, and not before", async () => {
  const log = new MemoryLog(NOW_MS);
  log.rules = TICK_RULES;
  log.isRefusing = true;
  const { figures } = start(log, ["kaizen"]);
  await expect.poll(() => figures.followCount).toBe(1);
  await vi.advanceTimersByTimeAsync(10_000);
  expect(log.leasesAsked).toBe(0);
  log.isRefusing = false;
  const ask = async () => (await vi.advanceTimersByTimeAsync(200), log.leasesAsked);
  await expect.poll(ask).toBeGreaterThan(0);
});

test("a ledger that ends without a word ends the thread", async () => {
  const log = new MemoryLog(NOW_MS);
  const { port, events } = serve(log);
  port.close();
  await expect.poll(() => events).toEqual([{ kind: "ended" }]);
});

test("what the ledger has not applied is bounded", async () => {
  const log = new MemoryLog(NOW_MS);
  const frames = new Uint8Array(4 * 1024 * 1024);
  for (let n = 1; n <= 20; n++) void log.append({ origin: "two:1", n, count: 1, frames });
  const { port } = serve(log);
  const given: number[] = [];
  port.on("message", (message: { kind: string; messages: { seq: number }[] }) =>
    given.push(...message.messages.map(({ seq }) => seq)),
  );
  const send = (message: ToStream) => port.postMessage(message);
  send({ kind: "follow", from: 1, rules: 0 });
  await expect.poll(() => given.length).toBe(9);
  send({ kind: "applied", seq: 3, lsn: 1, chain: "", rules: 1 });
  // Followed anew while it waits: it neither hangs nor hands over what is not due.
  send({ kind: "follow", from: 4, rules: 1 });
  await expect.poll(() => given.slice(9)).toEqual([4, 5, 6, 7, 8, 9, 10, 11, 12]);
  send({ kind: "applied", seq: 12, lsn: 1, chain: "", rules: 1 });
  await expect.poll(() => given.at(-1)).toBe(20);
  send({ kind: "close" });
  port.close();
});

test("a log that has lost what this journal has ends the node, after some looks and not before", async () => {
  const { log, offer, answers, events } = start();
  for (let index = 1; index <= 4; index++) offer([recordOf(index)]);
  await expect.poll(() => answers.length).toBe(4);
  log.lost = 1;
  await vi.advanceTimersByTimeAsync(9000);
  log.lost = 0;
  await vi.advanceTimersByTimeAsync(500);
  log.lost = 2;
  await vi.advanceTimersByTimeAsync(9000);
  expect(events).toEqual([]);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(events).toEqual([
    { kind: "diverged", detail: expect.stringMatching(/messages 1 to 2, .*applied up to 4: see/) },
  ]);
});

test("a node without records ticks, and is as old as its last tick while servers answer and take nothing", async () => {
  const log = new MemoryLog(NOW_MS);
  log.rules = TICK_RULES;
  const { pass, core, offer, answers, figures } = start(log);
  await expect.poll(() => figures.followCount).toBe(1);
  const age = () => figures.lagMs(NOW_MS + pass.ms, NOW_MS + pass.ms);
  const go = async (ms: number) => {
    for (let left = ms; left > 0; left -= 200) {
      pass.ms += 200;
      await vi.advanceTimersByTimeAsync(200);
      // The ledger's answers come by themselves.
      await new Promise((resolve) => setImmediate(resolve));
    }
  };
  await expect.poll(async () => (await go(200), figures.applied)).toBeGreaterThan(0);
  await go(10_000);
  expect(age()).toBeLessThan(1500);
  expect(core.lsn, "the first tick's mark alone").toBe(1);
  expect([figures.applied > 5, figures.applied < 15]).toEqual([true, true]);
  expect(log.serverChanges).toBe(0);
  log.isRefusing = true;
  await go(4000);
  expect(log.serverChanges, "an election may be under way").toBe(0);
  await go(4000);
  // The server may have lost the others: another one is asked.
  expect(log.serverChanges).toBe(1);
  // Each look at the clock is a millisecond.
  expect(age()).toBeGreaterThan(7500);
  expect(figures.hasLeader(NOW_MS + pass.ms)).toBe(false);
  offer([recordOf(1)]);
  await expect.poll(() => answers).toEqual([["a", [VERDICT_LOG_UNAVAILABLE]]]);
  log.isRefusing = false;
  await go(1000);
  expect(age()).toBeLessThan(1500);
  expect(log.readingsReopened).toBe(0);
  // Read at a server that has lost the others: what is acknowledged does not come.
  log.isHeld = true;
  await go(4000);
  expect(age()).toBeGreaterThan(3500);
  expect(log.readingsReopened).toBeGreaterThan(0);
  log.isHeld = false;
  await go(1000);
  expect(age()).toBeLessThan(1500);
  offer([recordOf(2)]);
  await expect.poll(() => answers[1]).toEqual(["a", [VERDICT_RECORDED]]);
});

test("the last share of the log's bound is left to ticks", async () => {
  const log = new MemoryLog(NOW_MS);
  const { offer, answers, figures, events } = start(log);
  offer([recordOf(1)]);
  await expect.poll(() => answers).toEqual(recorded(1));
  figures.size = { bytes: 970, bytesMax: 1000 };
  offer([recordOf(2)]);
  await expect.poll(() => answers[1]).toEqual(["a", [VERDICT_LOG_UNAVAILABLE]]);
  expect(events).toEqual([
    {
      kind: "note",
      event: "stream_append_failed",
      detail: expect.stringContaining("full (970 of 1000 bytes)"),
    },
  ]);
});
