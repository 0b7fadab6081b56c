// The sampler of the series: one question at a time, and an end.
import { expect, test } from "vitest";
import { RequestRecorder, type SeriesCounts } from "../../../src/http/metrics/recorder.ts";
import { SeriesBuffer } from "../../../src/http/metrics/series.ts";
import { LedgerMetrics } from "../../../src/ledger/metrics.ts";
import { openSeriesSampler } from "../../../src/service/health/sampler.ts";
import { INITIAL_STORE_STATE } from "../../../src/store/options.ts";

test("a slow thread is not asked twice, and a failed one is no fault of the series", async () => {
  const metrics = new RequestRecorder(["check"]);
  const series = new SeriesBuffer();
  let nowMs = 1_700_000_000_000;
  let answer = Promise.withResolvers<readonly SeriesCounts[]>();
  let askedCount = 0;
  let memoryCount = 0;
  const sampler = openSeriesSampler({
    front: {
      pulses: () => {
        askedCount += 1;
        return answer.promise;
      },
    },
    ledger: { position: () => 12, figures: new LedgerMetrics() },
    store: { status: () => ({ ...INITIAL_STORE_STATE, appliedLsn: 9 }) },
    series,
    memory: {
      sample: async () => {
        memoryCount += 1;
      },
    },
    clock: () => nowMs,
  });
  await sampler.look();
  expect(askedCount).toBe(1);
  answer.resolve([metrics.pulse()]);
  await new Promise(setImmediate);
  answer = Promise.withResolvers();
  answer.reject(new Error("the thread has ended"));
  await sampler.look();
  answer = Promise.withResolvers();
  answer.resolve([metrics.pulse()]);
  nowMs += 3000;
  metrics.tallies.checks.connect += 1;
  await sampler.look();
  sampler.close();
  expect(askedCount).toBe(3);
  expect(series.read(0)).toMatchObject({
    span_ms: [3000],
    let_through: [1],
    store_lag_records: [3],
  });
  // Memory is read at every tenth look: at the first, and at one of the next seven.
  expect(memoryCount).toBe(1);
  for (let at = 0; at < 7; at++) await sampler.look();
  expect(memoryCount).toBe(2);
});
