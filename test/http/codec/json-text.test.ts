// Numbers of verdicts written digit by digit: the same bytes as JSON.stringify, for every number.
import fc from "fast-check";
import { expect, it } from "vitest";
import { writeJsonNumber } from "../../../src/http/codec/json-text.ts";

const bytes = Buffer.alloc(40);

function written(value: number): string {
  const end = writeJsonNumber(bytes, 3, value);
  expect(end - 3).toBeLessThanOrEqual(32);
  return bytes.toString("latin1", 3, end);
}

it("writes what JSON.stringify does, whatever the number", () => {
  const decimals = fc
    .tuple(fc.integer({ min: 0, max: 10 ** 16 - 1 }), fc.integer({ min: 0, max: 8 }))
    .map(([digits, places]) => digits / 10 ** places);
  const number = fc.oneof(decimals, fc.double(), fc.integer());
  fc.assert(
    fc.property(number, (value) => {
      expect(written(value)).toBe(JSON.stringify(value));
    }),
    { numRuns: 5000 },
  );
});

it.each([0, -0, 0.0001, 0.5, 9.9999, 10, 99.99, 1e11 - 1e-4, 1e11, 1e21, 1e-7, -1, NaN, Infinity])(
  "writes %d at the edges of its two ways",
  (value) => expect(written(value)).toBe(JSON.stringify(value)),
);
