// Outcomes over several nodes on virtual time: sent to another node only where the second one counts for
// nothing, or the first was certainly not sent.
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { settle } from "../_gateway.ts";
import { A, B, check, open, OUTCOME, pair, problem, type Treatment } from "./_nodes.ts";

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance", "Date"] });
});
afterEach(() => {
  vi.useRealTimers();
});

describe("an outcome", () => {
  it("with an id goes to another node; without one only where it was certainly not sent", async () => {
    const identified = { ...OUTCOME, id: "order-1" };
    for (const [treatment, outcome, isRepeated] of [
      ["reset", identified, true],
      ["silent", identified, true],
      [problem(503), identified, true],
      ["refused", OUTCOME, true],
      ["reset", OUTCOME, false],
      ["silent", OUTCOME, false],
      [problem(503), OUTCOME, false],
    ] as const) {
      const [first, second] = await pair();
      const { client, nodes } = open(
        { [first]: treatment, [second]: "good" },
        { slowTimeoutMs: 500 },
      );
      const reported = settle(client.reportOutcome(outcome)).then(
        () => true,
        () => false,
      );
      expect(await reported).toBe(isRepeated);
      expect(nodes()).toEqual(isRepeated ? [first, second] : [first]);
    }
  });

  it("in a batch is repeated only if every one has an id", async () => {
    const table: Record<string, Treatment> = { [A]: "reset", [B]: "reset" };
    for (const [outcomes, count] of [
      [
        [
          { ...OUTCOME, id: "a" },
          { ...OUTCOME, id: "b" },
        ],
        2,
      ],
      [[{ ...OUTCOME, id: "a" }, OUTCOME], 1],
    ] as const) {
      const { client, asked } = open(table);
      const results = await settle(client.reportOutcomes(outcomes));
      expect(results.every(({ error }) => error?.code === "unreachable")).toBe(true);
      expect(asked).toHaveLength(count);
    }
  });

  it("that a node cannot take does not keep questions from it", async () => {
    const [first, second] = await pair();
    const table: Record<string, Treatment> = { [first]: problem(503), [second]: "good" };
    const { client, asked, nodes } = open(table);
    await settle(client.reportOutcome({ ...OUTCOME, id: "order-1" }));
    table[first] = "good";
    asked.length = 0;
    await settle(check(client));
    expect(nodes()).toEqual([first]);
  });
});
