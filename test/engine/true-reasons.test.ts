// Reasons are true, over 1,000 random histories; `npm run test:long` plays ten times as many.
import { expect, test } from "vitest";
import { expectTrueReasons } from "./_true-reasons.ts";

test("no reason is given whose fact is not on record", () => {
  expect(() => expectTrueReasons(1_000)).not.toThrow();
});
