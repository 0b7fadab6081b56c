// bench:soak's growth by part: the slope of bytes by requests, with what it is uncertain by.
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { fitGrowth } from "../../bench/soak/parts.ts";

const MINUTE_MS = 60_000;

test("a line has its slope, whatever came before the judged time", () => {
  fc.assert(
    fc.property(
      fc.integer({ min: -50, max: 50 }),
      fc.integer({ min: 1, max: 500 }),
      (slope, rate) => {
        const readings = Array.from({ length: 60 }, (_, minute) => ({
          atMs: minute * MINUTE_MS,
          requests: minute * rate,
          bytes: minute < 20 ? 1e9 : 1e8 + slope * minute * rate,
        }));
        const growth = fitGrowth(readings, 20 * MINUTE_MS);
        expect(growth?.bytes_per_request).toBeCloseTo(slope, 1);
        expect(growth?.error).toBeCloseTo(0, 1);
        expect(growth?.samples).toBe(40);
      },
    ),
  );
});

test("noise without a trend stays within its error", () => {
  const readings = Array.from({ length: 160 }, (_, at) => ({
    atMs: at * 15_000,
    requests: at * 1000,
    bytes: 5e7 + (at % 2 === 0 ? 1e6 : -1e6),
  }));
  const growth = fitGrowth(readings, 0)!;
  expect(Math.abs(growth.bytes_per_request)).toBeLessThanOrEqual(growth.error);
});

test("too few readings, or no request between them, fit no line", () => {
  const reading = { atMs: 0, requests: 5, bytes: 1 };
  expect(fitGrowth([reading, reading], 0)).toBeUndefined();
  expect(fitGrowth([reading, reading, reading], 0)).toBeUndefined();
});
