// The bureau's pure pieces: combination, reasons, times, identifiers, provenance.
import { createHash } from "node:crypto";

import * as fc from "fast-check";
import { describe, expect, it } from "vitest";

import {
  selectStricterDecisionIndex,
  mergeReasons,
} from "../../../src/bureau/decisions/handshake.ts";
import { findReservedAgent } from "../../../src/bureau/decisions/test-agents.ts";
import { emptyVaultAssessor } from "../../../src/bureau/decisions/provenance.ts";
import { listImprovements, appendReasons } from "../../../src/bureau/decisions/reasons.ts";
import { VerdictTimes } from "../../../src/bureau/decisions/verdict-context.ts";
import { scaleScoreTo100 } from "../../../src/bureau/decisions/verify.ts";
import { DECISIONS, REASON_CODES } from "../../../src/contract/vocabulary.ts";
import type { ReasonCode } from "../../../src/contract/vocabulary.ts";
import type { AgentScore } from "../../../src/engine/reading.ts";
import { defaultPolicySource } from "../../../src/policy/active-policy.ts";
import { createConnection } from "../../../src/policy/connection.ts";
import { selectDecisionIndex, STAKES_CAUSE } from "../../../src/policy/stakes-decision.ts";
import type { StakesCause } from "../../../src/policy/stakes-decision.ts";
import { readTable } from "../../tables/_read-table.ts";

describe("combination of legs", () => {
  const rows = readTable("handshake.txt");

  it("covers all sixteen pairs", () => {
    const pairs = new Set(rows.map((row) => `${row.a_to_b} ${row.b_to_a}`));
    expect(pairs.size).toBe(DECISIONS.length ** 2);
  });

  for (const row of rows) {
    it(`${row.a_to_b} with ${row.b_to_a} is ${row.decision}`, () => {
      const [forward, backward] = [row.a_to_b, row.b_to_a].map((name) =>
        (DECISIONS as readonly string[]).indexOf(name!),
      );
      expect(DECISIONS[selectStricterDecisionIndex(forward!, backward!)]).toBe(row.decision);
    });
  }

  it("keeps each sentence once, a_to_b first", () => {
    expect(mergeReasons(["a", "b"], ["b", "c"])).toEqual(["a", "b", "c"]);
    expect(mergeReasons([], [])).toEqual([]);
  });
});

const active = defaultPolicySource.findActivePolicy("");

function readingWith(codes: readonly ReasonCode[], isKnown = true): AgentScore {
  return {
    ...findReservedAgent("agent://test/connect", true)!.reading,
    isKnown,
    failureProbability: 0.123,
    failureOptimistic: 0.05,
    failurePessimistic: 0.3456,
    silentDays: 300,
    reasonIndexes: Uint8Array.from(codes, (code) => REASON_CODES.indexOf(code)),
    reasonCount: codes.length,
  };
}

/** Reasons at stakes of a connection that 5 would pass, decided by `cause`. */
function reasonsOf(
  reading: AgentScore,
  stakes: number,
  cause: StakesCause = STAKES_CAUSE.denied,
): { reasons: string[]; codes: ReasonCode[] } {
  const reasons: string[] = [];
  const codes: ReasonCode[] = [];
  const query = { active, reading, stakes };
  const decisionIndex = selectDecisionIndex(cause);
  const connection = { ...createConnection(active), cause, decisionIndex, stakesMax: 5 };
  appendReasons(query, connection, reasons, codes);
  return { reasons, codes };
}

describe("reasons", () => {
  it("turns every code into one sentence and one improvement", () => {
    for (const code of REASON_CODES) {
      const { reasons, codes } = reasonsOf(readingWith([code]), 250);
      expect(codes).toEqual([code]);
      expect(reasons).toHaveLength(1);
      expect(reasons[0]).toMatch(/^[A-Z][^\n]*\.$/);
      expect(listImprovements([code])[0]).toMatch(/^[A-Z][^\n]*\.$/);
    }
    expect(new Set(listImprovements(REASON_CODES)).size).toBe(REASON_CODES.length);
  });

  it("gives the numbers that matter", () => {
    expect(reasonsOf(readingWith(["FAILURE_HISTORY", "STAKE_ABOVE_PROVEN"]), 250).reasons).toEqual([
      "Settled outcomes put the agent's chance of failure at 12 %, and at up to 35 % given what " +
        "is not known.",
      "Stakes of 250 ask for more certainty than the agent's record gives: up to 5 would connect " +
        "with verification.",
    ]);
  });

  it("tells a newcomer from a thin file", () => {
    expect(reasonsOf(readingWith(["THIN_FILE"]), 1).reasons[0]).toContain("much uncertain");
    expect(reasonsOf(readingWith(["THIN_FILE"], false), 1).reasons[0]).toContain("No settled");
  });

  it("never leaves a decision that is not clear without a reason", () => {
    const proven = { ...readingWith([]), stakesProven: 1000 };
    expect(reasonsOf(proven, 1000)).toEqual({
      reasons: [
        "A chance of failure of up to 35 % is not small enough for stakes of 1000: up to 5 would " +
          "connect with verification.",
      ],
      codes: ["BASE_RATE"],
    });
    expect(reasonsOf(readingWith([]), 1000).codes).toEqual(["STAKE_ABOVE_PROVEN"]);
  });

  it("begins with what the stakes ask for, and names the amount that would pass", () => {
    const { reasons, codes } = reasonsOf(readingWith([]), 250, STAKES_CAUSE.approval);
    expect(codes).toEqual(["STAKES_NEED_APPROVAL"]);
    expect(reasons).toEqual([
      "Stakes of 250 ask for a person's approval: up to 5 would connect with verification.",
    ]);
    const small = (stakes: number) =>
      reasonsOf(readingWith([]), stakes, STAKES_CAUSE.approval).reasons[0];
    expect(small(2)).toMatch(/^Stakes of 2 count for the assumed 7 and ask for/);
    expect(small(0)).toMatch(/^Without named stakes, the assumed stakes of 7 ask for/);
    expect(reasonsOf(readingWith([]), 9, STAKES_CAUSE.stale)).toEqual({
      codes: ["STALE_RECORD"],
      reasons: [
        "The agent was last heard of 300 days ago: a good record that old is verified again.",
      ],
    });
    const four = readingWith(["THIN_FILE", "FAILURE_HISTORY", "RECENT_FAILURE", "NEGATIVE_TREND"]);
    expect(reasonsOf(four, 9, STAKES_CAUSE.stale).codes).toHaveLength(4);
  });
});

describe("times of a verdict", () => {
  it("equal the Date's own text, five minutes apart, in any order of calls", () => {
    const times = new VerdictTimes();
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 4_102_444_800_000 }), fc.nat(1500), (start, step) => {
        for (const nowMs of [start, start + step, start]) {
          times.set(nowMs);
          expect(times.evaluatedAt).toBe(new Date(nowMs).toISOString());
          expect(times.expiresAt).toBe(new Date(nowMs + 300_000).toISOString());
        }
      }),
    );
  });
});

describe("scores", () => {
  it("maps 300-850 onto 0-100", () => {
    expect([300, 575, 632, 850].map(scaleScoreTo100)).toEqual([0, 50, 60, 100]);
  });
});

describe("provenance without a vault", () => {
  const content = "The invoice was paid on Monday.";
  const hash = `sha256:${createHash("sha256").update(content).digest("hex")}`;

  it("says that nothing was assessed when nothing was given", () => {
    const finding = emptyVaultAssessor.assess({ session_duration_sec: 3 });
    expect(finding.reasonCode).toBe("PROVENANCE_NOT_ASSESSED");
    expect(finding.data).toMatchObject({ is_hallucinated: false, source_verified: false });
  });

  it.each([
    { content_hash: hash },
    { content },
    { content, content_hash: hash },
    { cited_sources: [] },
  ])("says that there are no sources for %j", (context) => {
    const finding = emptyVaultAssessor.assess(context);
    expect(finding).toMatchObject({ reasonCode: "NO_SOURCES", hardFailureCode: "" });
    expect(finding.data).toMatchObject({ is_hallucinated: false, source_verified: false });
  });

  it("knows no cited source, and does not call that a hallucination", () => {
    const finding = emptyVaultAssessor.assess({ cited_sources: ["doc:1", "doc:2"] });
    expect(finding).toMatchObject({ reasonCode: "SOURCE_UNKNOWN", hardFailureCode: "" });
    expect(finding.data).toEqual({
      is_hallucinated: false,
      source_verified: false,
      reason: "None of the 2 cited sources is registered as evidence.",
      sources: [
        { id: "doc:1", status: "SOURCE_UNKNOWN" },
        { id: "doc:2", status: "SOURCE_UNKNOWN" },
      ],
    });
  });

  it("says that a text known by its hash alone was not checked", () => {
    const unseen = /only the content_hash of the text; the text itself was not checked\.$/;
    for (const cited_sources of [undefined, [], ["doc:1"], ["doc:1", "doc:2"]]) {
      const sources = cited_sources === undefined ? {} : { cited_sources };
      const alone = emptyVaultAssessor.assess({ content_hash: hash, ...sources });
      expect(alone.data.reason).toMatch(unseen);
      const both = emptyVaultAssessor.assess({ content, content_hash: hash, ...sources });
      expect(both.data.reason).not.toMatch(unseen);
    }
  });
});
