// Reasons are true (INVARIANT true reasons): over random histories no code is given whose fact is not on record. The
// facts are read off the plain list of outcomes, not off the engine's state.
import fc from "fast-check";
import { expect } from "vitest";
import { STANDING_BITS } from "../../src/contract/standings.ts";
import { REASON_CODES } from "../../src/contract/vocabulary.ts";
import { VOICE_STRANGER } from "../../src/contract/voices.ts";
import type { ReasonCode } from "../../src/contract/vocabulary.ts";
import type { ScoringConfig } from "../../src/engine/config.ts";
import type { FoldAssessment, FoldOutcome } from "../../src/engine/reading.ts";
import { assessmentStream, DAY_MS, openEngine, outcomeStream } from "./_engine.ts";

interface Asked {
  subject: string;
  /** Undefined for a check. */
  viewer: string | undefined;
  stakes: number;
  nowMs: number;
}

interface World {
  outcomes: readonly FoldOutcome[];
  texts: readonly FoldAssessment[];
  /** Flags of standings by agent. */
  flags: ReadonlyMap<string, number>;
  revoked: ReadonlySet<string>;
  config: ScoringConfig;
}

/** Fact that each code claims, from the outcomes alone. */
const FACTS: Readonly<Record<ReasonCode, (world: World, asked: Asked) => boolean>> = {
  // Five full-weight words of as many reporters within two months are a record.
  THIN_FILE: ({ outcomes }, { subject, nowMs }) => {
    const recent = outcomes.filter(
      (each) => isHeavy(each) && each.subject === subject && nowMs - each.settledAtMs < 60 * DAY_MS,
    );
    return new Set(recent.map((each) => each.reporter)).size < 5;
  },
  FAILURE_HISTORY: ({ outcomes }, { subject }) => hasFailed(outcomes, subject, Infinity, 0),
  RECENT_FAILURE: ({ outcomes }, { subject, nowMs }) => hasFailed(outcomes, subject, 90, nowMs),
  NEGATIVE_TREND: ({ outcomes }, { subject, nowMs }) => hasFailed(outcomes, subject, 29, nowMs),
  STAKE_ABOVE_PROVEN: ({ outcomes, config }, { subject, stakes, nowMs }) => {
    const faded = (atMs: number) => (nowMs - atMs) / DAY_MS / config.half_life_stakes_days;
    // A reporter's only word of a subject meets no cap. Below a third of its stakes it lifts in full.
    const lifting = outcomes.filter((each) => {
      if (each.subject !== subject || each.outcome === 0 || !isHeavy(each)) return false;
      // A stranger's word proves no stakes.
      if ((each.voice ?? 0) >= VOICE_STRANGER) return false;
      const said = outcomes.filter((o) => o.subject === subject && o.reporter === each.reporter);
      return said.length === 1 && each.stakes * 2 ** -faded(each.settledAtMs) > 3 * stakes;
    });
    const oldest = Math.min(nowMs, ...lifting.map((each) => each.settledAtMs));
    const lift = (HEAVY_WEIGHT_MIN * Math.log(3)) / config.pair_cap;
    const proven = lifting.length * lift - Math.LN2 * faded(oldest);
    return lifting.length === 0 || proven <= Math.log(stakes / config.stakes_free!);
  },
  LOW_CREDIBILITY_EVIDENCE: ({ flags }, { subject }) =>
    ((flags.get(subject) ?? 0) & STANDING_BITS.discounted) !== 0,
  CONCENTRATED_REPORTERS: ({ outcomes }, { subject }) => repeats(outcomes, subject),
  RING_PATTERN: ({ outcomes }, { subject }) =>
    outcomes.some(
      (one) =>
        one.subject === subject &&
        one.outcome === 1 &&
        outcomes.some(
          (other) =>
            other.subject === one.reporter && other.reporter === subject && other.outcome === 1,
        ),
    ),
  // One failed text alone is no reason: it takes three for their sources, two for their content.
  UNVERIFIED_SOURCES: ({ texts }, { subject }) => countOf(texts, subject, 1) > 2,
  HALLUCINATION_SIGNAL: ({ texts }, { subject }) => countOf(texts, subject, 0) > 1,
  VIEWER_CAUTIOUS: ({ outcomes }, { viewer }) =>
    outcomes.some(
      (each) =>
        each.outcome === 0 &&
        // What it reported, and what it is itself: its own record is on the other side of the deal.
        (each.reporter === viewer || each.subject === viewer),
    ),
  FRAUD_FLAG: () => false,
  KEY_REVOKED: ({ revoked }, { subject }) => revoked.has(subject),
  BASE_RATE: () => true,
  // The policy's, never the engine's.
  STALE_RECORD: () => false,
  STAKES_NEED_VERIFICATION: () => false,
  STAKES_NEED_APPROVAL: () => false,
};

function countOf(texts: readonly FoldAssessment[], agent: string, kindIndex: number): number {
  return texts.filter((text) => text.agent === agent && text.kindIndex === kindIndex).length;
}

/** Weight of such an outcome that no cap thins. */
const HEAVY_WEIGHT_MIN = 0.9;

/** Folded at more than half of a full weight, whatever its stakes above the middle. */
function isHeavy(outcome: FoldOutcome): boolean {
  return outcome.gradeIndex <= 2 && outcome.signatureIndex >= 1 && outcome.stakes >= 10;
}

function hasFailed(
  outcomes: readonly FoldOutcome[],
  subject: string,
  days: number,
  nowMs: number,
): boolean {
  return outcomes.some(
    (each) =>
      each.subject === subject && each.outcome === 0 && nowMs - each.settledAtMs <= days * DAY_MS,
  );
}

/** Whether some reporter has spoken of the subject more than once. */
function repeats(outcomes: readonly FoldOutcome[], subject: string): boolean {
  const about = outcomes.filter((each) => each.subject === subject).map((each) => each.reporter);
  return new Set(about).size < about.length;
}

/** Plays this many random histories; fails where a code is given without its fact, or a common code never is. */
export function expectTrueReasons(histories: number): void {
  const seen = new Set<ReasonCode>();
  const stream = fc.oneof(outcomeStream(3, 12), outcomeStream(4, 30), outcomeStream(8, 60));
  const setting = fc.record({
    wait: fc.nat(120),
    stakes: fc.constantFrom(0, 1, 30, 3000, 1e6),
    discounted: fc.nat(5),
    revoked: fc.nat(5),
    texts: fc.oneof(fc.constant([]), assessmentStream(5, 12)),
  });
  fc.assert(
    fc.property(stream, setting, (outcomes, { wait, stakes, discounted, revoked, texts }) => {
      const { writer, reader, config } = openEngine();
      for (const outcome of outcomes) writer.fold(outcome);
      for (const text of texts) writer.foldAssessment(text);
      const ids = Array.from({ length: 4 }, (_, i) => `agent://t/${i}`);
      const flags = new Map<string, number>();
      if (discounted < ids.length) {
        flags.set(ids[discounted]!, STANDING_BITS.discounted);
        const agents = [...flags].map(([agent, bits]) => ({
          agent,
          flags: bits,
          credibility: 0,
          cluster: 0,
        }));
        writer.applyStandings({ isInForce: false, stakesHigh: 0, agents });
      }
      if (revoked < ids.length) writer.markKeyRevoked(ids[revoked]!, true);
      const world = { outcomes, texts, flags, revoked: new Set([ids[revoked] ?? ""]), config };
      const nowMs = outcomes.at(-1)!.settledAtMs + wait * DAY_MS;
      ids.forEach((subject, i) => {
        for (const viewer of [undefined, ids[(i + 1) % ids.length]!]) {
          const reading =
            viewer === undefined
              ? reader.check(subject, stakes, nowMs)
              : reader.handshake(viewer, subject, stakes, nowMs)[0];
          for (const index of reading.reasonIndexes.subarray(0, reading.reasonCount)) {
            const code = REASON_CODES[index]!;
            seen.add(code);
            expect(FACTS[code](world, { subject, viewer, stakes, nowMs }), code).toBe(true);
          }
        }
      });
    }),
    { numRuns: histories },
  );
  for (const code of [
    "THIN_FILE",
    "FAILURE_HISTORY",
    "RECENT_FAILURE",
    "VIEWER_CAUTIOUS",
    "HALLUCINATION_SIGNAL",
    "UNVERIFIED_SOURCES",
  ] as const) {
    expect(seen, code).toContain(code);
  }
}
