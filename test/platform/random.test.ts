// Draws from random bytes: all of a block are used once, their range is [0, 1).
import { randomFillSync } from "node:crypto";
import { expect, it } from "vitest";
import { RandomDraws } from "../../src/platform/random.ts";

it("uses every number of a block once, then fills the next", () => {
  let filled = 0;
  const draws = new RandomDraws((block) => {
    block.forEach((_, at) => (block[at] = filled + at));
    filled += block.length;
  });
  const numbers = Array.from({ length: 600 }, () => draws.next() * 2 ** 32);
  expect(numbers).toEqual(Array.from({ length: 600 }, (_, at) => at));
});

it("is below 1 at the largest number, 0 at the smallest", () => {
  for (const [word, expected] of [
    [0, 0],
    [0xffff_ffff, 1 - 2 ** -32],
  ] as const) {
    expect(new RandomDraws((block) => block.fill(word)).next()).toBe(expected);
  }
});

it("has a mean of one half", () => {
  const draws = new RandomDraws(randomFillSync);
  const count = 20_000;
  const sum = Array.from({ length: count }, () => draws.next()).reduce((all, one) => all + one, 0);
  // Six standard errors.
  expect(Math.abs(sum / count - 0.5)).toBeLessThan(6 * Math.sqrt(1 / 12 / count));
});
