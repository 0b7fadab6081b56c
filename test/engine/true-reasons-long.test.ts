// Reasons are true, over 10,000 random histories.
import { expect, test } from "vitest";
import { expectTrueReasons } from "./_true-reasons.ts";

test("no reason is given whose fact is not on record", () => {
  expect(() => expectTrueReasons(10_000)).not.toThrow();
});
