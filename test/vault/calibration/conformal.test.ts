// Split conformal thresholds: the rank of the design, and the promise itself on draws.
import fc from "fast-check";
import { describe, expect, it } from "vitest";

import {
  countCleanTextsNeeded,
  computeConformalThreshold,
} from "../../../src/vault/calibration/conformal.ts";
import { readGroundingNumbers } from "../../../src/vault/grounding/tables.ts";
import { TEXT_KINDS } from "../../../src/contract/vocabulary.ts";
import { classifyText } from "../../../src/vault/calibration/text-kinds.ts";

const upTo = (count: number) => Array.from({ length: count }, (_, at) => at);

describe("a conformal threshold", () => {
  it("needs 19, 99, 333 and 999 clean texts for 5, 1, 0.3 and 0.1 %", () => {
    expect([0.05, 0.01, 0.003, 0.001].map(countCleanTextsNeeded)).toEqual([19, 99, 333, 999]);
    for (const alpha of [0.05, 0.01, 0.003, 0.001]) {
      const needed = countCleanTextsNeeded(alpha);
      expect(computeConformalThreshold(upTo(needed - 1), alpha)).toBeUndefined();
      expect(computeConformalThreshold(upTo(needed), alpha)?.at).toBe(needed);
    }
  });

  it("is one above the score at rank ceil((n + 1)(1 - alpha))", () => {
    expect(computeConformalThreshold(upTo(199), 0.05)?.at).toBe(190);
    expect(computeConformalThreshold([5, 5, 5, 5, 5, 5, 5, 5, 5], 0.1)?.at).toBe(6);
  });

  it("flags at most alpha of a further clean text, whatever the scores", () => {
    // The exact promise: over which of n + 1 exchangeable scores is the new one.
    const scores = fc.array(fc.integer({ min: -50, max: 50 }), { minLength: 20, maxLength: 60 });
    fc.assert(
      fc.property(scores, fc.constantFrom(0.05, 0.1, 0.25), (all, alpha) => {
        const flagged = all.filter((risk, at) => {
          const others = all.filter((_, other) => other !== at);
          const threshold = computeConformalThreshold(others, alpha);
          return threshold !== undefined && risk >= threshold.at;
        });
        expect(flagged.length / all.length).toBeLessThanOrEqual(alpha);
      }),
    );
  });
});

describe("the kind of a text", () => {
  it.each([
    [{ content_type: "text/plain; kind=dialogue" }, true, true, "dialogue"],
    [
      { content_type: "text/plain; charset=utf-8;kind=claim", question: "?" },
      false,
      false,
      "claim",
    ],
    [{ content_type: "text/plain; kind=poem" }, false, false, "summary"],
    [{ question: "Who led it?" }, true, false, "data"],
    [{ question: "Who led it?" }, false, true, "qa"],
    [{}, false, true, "claim"],
    [{ question: "" }, false, false, "summary"],
  ] as const)("%o: %s, %s -> %s", (context, isStructured, isOneSentence, kind) => {
    expect(classifyText(context, isStructured, isOneSentence)).toBe(kind);
  });

  it("has thresholds in order, and promises only what its sources allow", () => {
    const { kinds } = readGroundingNumbers();
    expect(Object.keys(kinds).toSorted()).toEqual([...TEXT_KINDS].toSorted());
    for (const { tau_lo, tau_hi, sources, alpha_lo, alpha_hi } of Object.values(kinds)) {
      expect(tau_lo).toBeLessThanOrEqual(tau_hi);
      for (const alpha of [alpha_lo, alpha_hi]) {
        if (alpha > 0) expect(sources).toBeGreaterThanOrEqual(countCleanTextsNeeded(alpha));
      }
    }
  });
});
