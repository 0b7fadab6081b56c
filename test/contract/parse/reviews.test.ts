// Decisions on reviews: what lets through names its expiry and its bound of stakes, what holds back neither.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ServiceFault } from "../../../src/contract/faults.ts";
import { STAKES_MAX } from "../../../src/contract/limits.ts";
import { parseReviewDecision } from "../../../src/contract/parse/reviews.ts";

const UNTIL = 1_767_312_000_000;

function faultsOf(value: unknown): string[] {
  try {
    parseReviewDecision(value);
  } catch (thrown) {
    if (!(thrown instanceof ServiceFault)) throw thrown;
    return thrown.errors.map((error) => `${error.pointer} ${error.code}`).toSorted();
  }
  return [];
}

describe("a decision that lets through", () => {
  it("is refused without its bound of stakes, and without its expiry", () => {
    const decision = "overturned";
    expect(faultsOf({ decision, until: UNTIL })).toEqual(["/max_stakes required"]);
    expect(faultsOf({ decision })).toEqual(["/max_stakes required", "/until required"]);
    expect(faultsOf({ decision, max_stakes: 5 })).toEqual(["/until required"]);
  });

  it("takes any amount of stakes and the word `any`, and nothing else", () => {
    const parse = (stakes: unknown) => ({
      decision: "overturned",
      until: UNTIL,
      max_stakes: stakes,
    });
    const amounts = fc.double({ min: 0, max: STAKES_MAX, noNaN: true });
    fc.assert(
      fc.property(fc.oneof(amounts, fc.constant("any")), (stakes) => {
        expect(parseReviewDecision(parse(stakes)).max_stakes).toBe(stakes);
      }),
    );
    const others = fc
      .oneof(fc.string(), fc.boolean(), fc.constant(null), fc.array(fc.nat()))
      .filter((value) => value !== "any");
    fc.assert(
      fc.property(others, (value) => {
        expect(faultsOf(parse(value))).toEqual(["/max_stakes type"]);
      }),
    );
    for (const stakes of [-1, STAKES_MAX * 2]) {
      expect(faultsOf(parse(stakes))).toEqual(["/max_stakes range"]);
    }
  });
});

it("takes no bound of stakes where the agent stays held back", () => {
  expect(faultsOf({ decision: "upheld" })).toEqual([]);
  expect(faultsOf({ decision: "upheld", max_stakes: "any" })).toEqual(["/max_stakes unknown"]);
});
