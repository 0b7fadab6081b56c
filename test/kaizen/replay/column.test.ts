// Growing columns of numbers against a plain array.
import fc from "fast-check";
import { expect, it } from "vitest";
import {
  createByteColumn,
  createDoubleColumn,
  createWordColumn,
} from "../../../src/kaizen/replay/history.ts";

it("holds what was pushed, however far it grew", () => {
  const column = createDoubleColumn();
  const plain: number[] = [];
  fc.assert(
    fc.property(
      fc.array(fc.double({ noNaN: true }), { minLength: 500, maxLength: 1500 }),
      (more) => {
        for (const value of more) {
          column.push(value);
          plain.push(value);
        }
        expect(column).toHaveLength(plain.length);
        expect(column.values()).toEqual(Float64Array.from(plain));
      },
    ),
    { numRuns: 20, seed: 1 },
  );
  expect(plain.length).toBeGreaterThan(4096);
});

it("takes no more than a number needs, and gives no part that is empty", () => {
  const [small, large] = [createByteColumn(), createWordColumn()];
  for (let i = 0; i < 10_000; i++) {
    small.push(i % 2);
    large.push(2 ** 32 - 1 - i);
  }
  expect(small.values()).toHaveLength(10_000);
  expect(small.values().BYTES_PER_ELEMENT).toBe(1);
  expect(large.values()[9999]).toBe(2 ** 32 - 10_000);
});
