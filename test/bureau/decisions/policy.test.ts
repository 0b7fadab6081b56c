// The policy of verify against its text tables, and the properties that no table can show.
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";

import { decidePolicy, riskIndex } from "../../../src/bureau/decisions/policy.ts";
import { RISK_LEVELS, TOOL_LEVELS, VERDICTS } from "../../../src/contract/vocabulary.ts";
import type { ToolLevel } from "../../../src/contract/vocabulary.ts";
import { readTable, readYesNo } from "../../tables/_read-table.ts";

describe("policy table", () => {
  for (const row of readTable("policy.txt")) {
    it(`${row.level} at p+ ${row.p_plus} is ${row.verdict}`, () => {
      const probability = Number(row.p_plus);
      const ruling = decidePolicy(row.level as ToolLevel, probability, true, false, "");
      expect(VERDICTS[ruling.verdictIndex]).toBe(row.verdict);
      expect(ruling.logReason).toBe(row.log_reason);
      expect(ruling.isFlagged).toBe(readYesNo(row.flagged));
      expect(RISK_LEVELS[riskIndex(probability)]).toBe(row.risk);
    });
  }
});

describe("rules on top of the table", () => {
  for (const row of readTable("policy-rules.txt")) {
    const facts = `met ${row.met}, refused ${row.refused}, provenance ${row.hard}`;
    it(`${row.level} at p+ ${row.p_plus}, ${facts} is ${row.verdict}`, () => {
      const ruling = decidePolicy(
        row.level as ToolLevel,
        Number(row.p_plus),
        readYesNo(row.met),
        readYesNo(row.refused),
        row.hard === "-" ? "" : row.hard!,
      );
      expect(VERDICTS[ruling.verdictIndex]).toBe(row.verdict);
      expect(ruling.logReason).toBe(row.log_reason);
    });
  }
});

function verdictIndex(
  toolLevel: ToolLevel,
  p: number,
  met: boolean,
  refused: boolean,
  code: string,
): number {
  return decidePolicy(toolLevel, p, met, refused, code).verdictIndex;
}

describe("policy properties", () => {
  const level = fc.constantFrom(...TOOL_LEVELS);
  const probability = fc.double({ min: 0, max: 1, noNaN: true });
  const hard = fc.constantFrom("", "HASH_MISMATCH");

  it("is never more lenient for a more sensitive tool", () => {
    fc.assert(
      fc.property(probability, fc.boolean(), fc.boolean(), hard, (p, met, refused, code) => {
        const verdicts = TOOL_LEVELS.map((each) => verdictIndex(each, p, met, refused, code));
        expect(verdicts).toEqual(verdicts.toSorted((a, b) => a - b));
      }),
    );
  });

  it("is never more lenient for risk, a missed minimum, a refusal or bad evidence", () => {
    fc.assert(
      fc.property(level, probability, probability, (toolLevel, first, second) => {
        const [low, high] = first < second ? [first, second] : [second, first];
        const base = verdictIndex(toolLevel, low, true, false, "");
        expect(verdictIndex(toolLevel, high, true, false, "")).toBeGreaterThanOrEqual(base);
        expect(verdictIndex(toolLevel, low, false, false, "")).toBeGreaterThanOrEqual(base);
        expect(verdictIndex(toolLevel, low, true, true, "")).toBeGreaterThanOrEqual(base);
        expect(verdictIndex(toolLevel, low, true, false, "X")).toBeGreaterThanOrEqual(base);
      }),
    );
  });

  it("labels every ruling in one screaming-snake word", () => {
    fc.assert(
      fc.property(level, probability, fc.boolean(), fc.boolean(), hard, (...facts) => {
        expect(decidePolicy(...facts).logReason).toMatch(/^[A-Z][A-Z0-9]*(_[A-Z0-9]+)*$/);
      }),
    );
  });
});
