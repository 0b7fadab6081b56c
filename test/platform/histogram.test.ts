// Histograms over fixed arrays: where a value is counted, what crosses between threads, how several add.
import { expect, test } from "vitest";
import {
  addHistogramCounts,
  DURATION_BOUNDS_SEC,
  Histograms,
} from "../../src/platform/histogram.ts";

const BOUNDS = [1, 2, 5];

test("a value is counted in the first bucket whose bound it does not exceed", () => {
  const histograms = new Histograms(2, BOUNDS);
  for (const value of [0, 1, 1.5, 5, 5.5, 100]) histograms.add(1, value);
  histograms.add(1, 2, 10);
  expect(histograms.counts(1)).toEqual({ buckets: [2, 11, 1, 2], sum: 133 });
  expect(histograms.counts(0)).toEqual({ buckets: [0, 0, 0, 0], sum: 0 });
  expect(histograms.used()).toEqual([[1, histograms.counts(1)]]);
});

test("shared memory shows one thread what another has counted", () => {
  const offset = 16;
  const memory = new SharedArrayBuffer(offset + Histograms.bytesOf(1, DURATION_BOUNDS_SEC));
  const writer = new Histograms(1, DURATION_BOUNDS_SEC, memory, offset);
  const reader = new Histograms(1, DURATION_BOUNDS_SEC, memory, offset);
  writer.add(0, 0.0001);
  writer.add(0, 11);
  const { buckets, sum } = reader.counts(0);
  expect([buckets.at(0), buckets.at(-1), buckets.length]).toEqual([1, 1, 17]);
  expect(sum).toBeCloseTo(11.0001);
  expect(new Float64Array(memory, 0, 2)).toEqual(new Float64Array(2));
});

test("counts of several threads are those of one", () => {
  const counts = { buckets: [1, 2, 3], sum: 4 };
  expect(addHistogramCounts(undefined, counts)).toEqual(counts);
  expect(addHistogramCounts(counts, { buckets: [10, 0, 1], sum: 0.5 })).toEqual({
    buckets: [11, 2, 4],
    sum: 4.5,
  });
});
