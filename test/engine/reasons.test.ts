// The reasons of the WASM engine against the slow reference: same stream, same codes for the same
// points, and none where nothing weighs as many.
import fc from "fast-check";
import { expect, test } from "vitest";
import * as layout from "../../assembly/layout.ts";
import { STANDING_BITS } from "../../src/contract/standings.ts";
import { REASON_CODES } from "../../src/contract/vocabulary.ts";
import type { ReasonCode } from "../../src/contract/vocabulary.ts";
import type { AgentScore } from "../../src/engine/reading.ts";
import { reasonPoints, voicesOf } from "../reference/reasons.ts";
import { ReferenceBureau } from "../reference/score.ts";
import { assessmentStream, DAY_MS, openEngine, outcomeStream } from "./_engine.ts";

/** Points: the shares behind two of the codes are kept in 7 to 11 bits. */
const TOLERANCE = 0.75;
const MOST = 4;

const standings = fc.array(
  fc.record({
    agent: fc.nat(4).map((i) => `agent://t/${i}`),
    flags: fc.constantFrom(0, STANDING_BITS.believed, STANDING_BITS.discounted),
    credibility: fc.constantFrom(0, 0.2, 0.9),
    cluster: fc.nat(1),
  }),
  { maxLength: 4 },
);

/** Close to where the engine's rounding may name the one code or the other. */
function isBorderline(points: Map<ReasonCode, number>, mutual: number, least: number): boolean {
  const narrow = points.get("RING_PATTERN") ?? points.get("CONCENTRATED_REPORTERS") ?? 0;
  return Math.abs(narrow - least) < TOLERANCE || Math.abs(mutual - 0.5) < 0.01;
}

function expectSame(
  reading: AgentScore,
  words: Float64Array,
  points: Map<ReasonCode, number>,
  least: number,
): ReasonCode[] {
  const codes = [...reading.reasonIndexes.subarray(0, reading.reasonCount)];
  const named = codes.map((index) => REASON_CODES[index]!);
  expect(named.length).toBeLessThanOrEqual(MOST);
  expect(new Set(named).size).toBe(named.length);
  const due = [...points].filter(([, value]) => value >= least + TOLERANCE);
  const possible = [...points].filter(([, value]) => value >= least - TOLERANCE);
  if (possible.length === 0) {
    expect(named).toEqual([]);
    return named;
  }
  named.forEach((code, i) => {
    const expected = points.get(code);
    expect(expected, code).toBeDefined();
    expect(Math.abs(words[layout.LEG_DEFICITS + i]! - expected!), code).toBeLessThan(TOLERANCE);
    if (i > 0)
      expect(words[layout.LEG_DEFICITS + i]).toBeLessThanOrEqual(
        words[layout.LEG_DEFICITS + i - 1]!,
      );
  });
  const weakest = named.length < MOST ? least : words[layout.LEG_DEFICITS + MOST - 1]!;
  for (const [code, value] of due) {
    if (value > weakest + TOLERANCE) expect(named, `${code} ${value}`).toContain(code);
  }
  return named;
}

test("check and handshake name the codes of the reference", () => {
  const seen = new Map<string, number>();
  let [compared, borderline] = [0, 0];
  const stream = fc.oneof(outcomeStream(3, 80), outcomeStream(5, 160), outcomeStream(10, 160));
  const batches = fc.array(fc.tuple(fc.nat(79), standings), { maxLength: 2 });
  const texts = fc.oneof(fc.constant([]), assessmentStream(6, 30), assessmentStream(2, 60));
  fc.assert(
    fc.property(stream, batches, texts, fc.nat(200), (outcomes, changes, failed, wait) => {
      const { writer, reader, config } = openEngine();
      const reference = new ReferenceBureau(config);
      outcomes.forEach((outcome, i) => {
        for (const [, agents] of changes.filter(([before]) => before === i)) {
          writer.applyStandings({ isInForce: true, stakesHigh: 0, agents });
          reference.applyStandings({ isInForce: true, stakesHigh: 0, agents });
        }
        writer.fold(outcome);
        reference.fold(outcome);
      });
      for (const text of failed) {
        writer.foldAssessment(text);
        reference.texts.add(text);
      }
      const now = outcomes.at(-1)!.settledAtMs + wait * DAY_MS + 12_345;
      const ids = Array.from({ length: 6 }, (_, i) => `agent://t/${i}`);
      ids.forEach((id, i) => {
        for (const viewer of [null, ids[(i + 1) % ids.length]!]) {
          const leg = reference.score(id, viewer, 30, now);
          const points = reasonPoints(reference, id, viewer, leg);
          const reading =
            viewer === null ? reader.check(id, 30, now) : reader.handshake(viewer, id, 30, now)[0];
          compared++;
          if (isBorderline(points, voicesOf(reference, id)?.mutual ?? 0, config.reason_points)) {
            borderline++;
            continue;
          }
          const named = expectSame(reading, reader.legWords, points, config.reason_points);
          for (const code of named) seen.set(code, (seen.get(code) ?? 0) + 1);
        }
      });
    }),
    { numRuns: 1000 },
  );
  expect(borderline / compared).toBeLessThan(0.05);
  for (const code of [
    "CONCENTRATED_REPORTERS",
    "RING_PATTERN",
    "THIN_FILE",
    "FAILURE_HISTORY",
    "HALLUCINATION_SIGNAL",
    "UNVERIFIED_SOURCES",
  ]) {
    expect(seen.get(code) ?? 0, code).toBeGreaterThan(5);
  }
});

/** The three shares that the row keeps, as the last check read them. */
function sharesKept(flags: number): number[] {
  const share = (shift: number, most: number) => (Math.floor(flags / 2 ** shift) & most) / most;
  return [
    share(layout.CONCENTRATION_SHIFT, layout.CONCENTRATION_MAX),
    share(layout.SINGLE_SHIFT, layout.SINGLE_MAX),
    share(layout.MUTUAL_SHIFT, layout.MUTUAL_MAX),
  ];
}

test("the shares in the row are those counted word by word, late and selfish words too", () => {
  const strange = fc.record({
    outcomes: outcomeStream(4, 100),
    late: fc.array(fc.tuple(fc.nat(99), fc.integer({ min: 30, max: 500 })), { maxLength: 20 }),
    selfish: fc.array(fc.nat(99), { maxLength: 5 }),
  });
  fc.assert(
    fc.property(strange, ({ outcomes, late, selfish }) => {
      const { writer, reader, config } = openEngine();
      const reference = new ReferenceBureau(config);
      outcomes.forEach((each, i) => {
        const days = late.find(([at]) => at === i)?.[1] ?? 0;
        const reporter = selfish.includes(i) ? each.subject : each.reporter;
        const outcome = { ...each, reporter, settledAtMs: each.settledAtMs - days * DAY_MS };
        writer.fold(outcome);
        reference.fold(outcome);
      });
      for (let i = 0; i < 5; i++) {
        const id = `agent://t/${i}`;
        reader.check(id, 30, outcomes.at(-1)!.settledAtMs);
        const kept = sharesKept(reader.legWords[layout.LEG_FLAGS]!);
        const voices = voicesOf(reference, id);
        const counted = voices ? [voices.concentration, voices.single, voices.mutual] : [0, 0, 0];
        counted.forEach((share, j) => {
          expect(Math.abs(kept[j]! - share), `${id} share ${j}`).toBeLessThan(0.03);
        });
      }
    }),
    { numRuns: 300 },
  );
});
