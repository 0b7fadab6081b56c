// The sampler of the times of answers: what was added in each minute, over all threads, each answer once.
import { expect, test } from "vitest";
import { collectDurations } from "../../../src/http/metrics/scrape.ts";
import { RequestRecorder } from "../../../src/http/metrics/recorder.ts";
import { openLatencySampler } from "../../../src/service/health/latency-sampler.ts";
import type { LatencyCount } from "../../../src/store/rows/latencies.ts";

const MINUTE_MS = 60_000;
const FIRST_MS = 28_000_000 * MINUTE_MS;

function openStage() {
  const threads = [
    new RequestRecorder(["verify", "outcomes"]),
    new RequestRecorder(["verify", "outcomes"]),
  ];
  const taken: LatencyCount[][] = [];
  const clock = { nowMs: FIRST_MS + 1000 };
  const state: { gate: Promise<void>; hasFailed: boolean } = {
    gate: Promise.resolve(),
    hasFailed: false,
  };
  let askedCount = 0;
  const allCounts = async () => threads.map((each) => ({ metrics: each.counts(0) }));
  const sources = { metrics: threads[0]!, allCounts } as never;
  const sampler = openLatencySampler({
    front: {
      async durations() {
        askedCount += 1;
        await state.gate;
        if (state.hasFailed) throw new Error("the thread has ended");
        return collectDurations(sources);
      },
    },
    store: { recordLatencies: (latencies) => void taken.push([...latencies]) },
    clock: () => clock.nowMs,
  });
  return { threads, taken, clock, state, sampler, askedCount: () => askedCount };
}

test("each minute has the answers that were added in it, over all threads", async () => {
  const { threads, taken, clock, sampler, askedCount } = openStage();
  threads[0]!.timeRequest(0, 200, 0.05);
  threads[1]!.timeRequest(0, 204, 0.2);
  threads[1]!.timeRequest(1, 429, 20_000);
  await sampler.look();
  expect(askedCount()).toBe(0);
  clock.nowMs += MINUTE_MS;
  await sampler.look();
  await sampler.look();
  expect(askedCount()).toBe(1);
  const verify = { minuteMs: FIRST_MS, route: "verify", statusClass: "2xx" };
  expect(taken).toEqual([
    [
      {
        ...verify,
        totalMs: expect.closeTo(0.25, 9) as number,
        buckets: [
          [0, 0.1, 1],
          [0.1, 0.25, 1],
        ],
      },
      {
        ...verify,
        route: "outcomes",
        statusClass: "4xx",
        totalMs: 20_000,
        buckets: [[10_000, 10_000, 1]],
      },
    ],
  ]);
  threads[0]!.timeRequest(0, 200, 0.05);
  clock.nowMs += 3 * MINUTE_MS;
  await sampler.look();
  const minuteMs = FIRST_MS + MINUTE_MS;
  expect(taken.at(-1)).toEqual([
    { ...verify, minuteMs, totalMs: expect.closeTo(0.05, 9) as number, buckets: [[0, 0.1, 1]] },
  ]);
  threads[1]!.timeRequest(0, 200, 0.7);
  await sampler.close();
  expect(taken.at(-1)).toMatchObject([
    { minuteMs: FIRST_MS + 4 * MINUTE_MS, route: "verify", buckets: [[0.5, 1, 1]] },
  ]);
});

test("a slow thread is not asked twice, and what a failed asking missed comes with the next", async () => {
  const { threads, taken, clock, state, sampler, askedCount } = openStage();
  threads[0]!.timeRequest(0, 200, 0.05);
  const opened = Promise.withResolvers<void>();
  state.gate = opened.promise;
  state.hasFailed = true;
  clock.nowMs += MINUTE_MS;
  const slow = sampler.look();
  clock.nowMs += MINUTE_MS;
  await sampler.look();
  expect(askedCount()).toBe(1);
  opened.resolve();
  await slow;
  state.hasFailed = false;
  await sampler.look();
  expect(askedCount()).toBe(2);
  expect(taken).toMatchObject([[{ minuteMs: FIRST_MS + MINUTE_MS, buckets: [[0, 0.1, 1]] }]]);
  await sampler.close();
  expect(taken.flat()).toHaveLength(1);
});
