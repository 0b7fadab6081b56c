// Proven stakes: what one voice may lift, what many or a gateway may, and what lifts nothing.
import fc from "fast-check";
import { expect, test } from "vitest";
import { VOICE_FIRST_PARTY, VOICE_REPORTER, VOICE_STRANGER } from "../../src/contract/voices.ts";
import type { FoldOutcome } from "../../src/engine/reading.ts";
import { DAY_MS, openEngine, START_MS } from "./_engine.ts";

const SUBJECT = "agent://t/subject";
const MILLION = 1e6;

const success = (report: Partial<FoldOutcome>): FoldOutcome => ({
  subject: SUBJECT,
  reporter: "agent://t/voice",
  outcome: 1,
  stakes: MILLION,
  gradeIndex: 0,
  signatureIndex: 2,
  settledAtMs: START_MS,
  voice: VOICE_REPORTER,
  ...report,
});

function provenBy(outcomes: readonly Partial<FoldOutcome>[]): number {
  const { writer, reader } = openEngine();
  for (const outcome of outcomes) writer.fold(success(outcome));
  return reader.explain(SUBJECT, START_MS).stakesProven;
}

test("one signed success of a million proves at most 3, and so do a thousand of one voice", () => {
  expect(provenBy([{}])).toBeGreaterThan(1);
  expect(provenBy([{}])).toBeLessThanOrEqual(3);
  expect(provenBy(Array.from({ length: 1000 }, () => ({})))).toBeLessThanOrEqual(3.0001);
});

test("each further voice lifts threefold at most, and together they reach what they say", () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 12 }),
      fc.integer({ min: 1, max: 40 }),
      (voices, each) => {
        const outcomes = Array.from({ length: voices * each }, (_, i) => ({
          reporter: `agent://t/voice-${i % voices}`,
        }));
        const proven = provenBy(outcomes);
        expect(proven).toBeLessThanOrEqual(3 ** voices * 1.0001);
        expect(proven).toBeLessThanOrEqual(MILLION);
      },
    ),
  );
  const many = Array.from({ length: 400 }, (_, i) => ({
    reporter: `agent://t/voice-${i}`,
    stakes: 500,
  }));
  expect(provenBy(many)).toBeCloseTo(500, 0);
  expect(provenBy(many)).toBeLessThanOrEqual(500.001);
});

test("a gateway lifts by repeated successes", () => {
  const of = (count: number) =>
    provenBy(
      Array.from({ length: count }, () => ({
        voice: VOICE_FIRST_PARTY,
        signatureIndex: 1,
        stakes: 300,
      })),
    );
  expect(of(1)).toBeLessThanOrEqual(3);
  expect(of(5)).toBeGreaterThan(of(1));
  expect(of(60)).toBeGreaterThan(250);
  expect(of(60)).toBeLessThanOrEqual(300.001);
});

test("strangers, failures and lower stakes lift nothing; what is small is proven at once", () => {
  expect(provenBy([{ voice: VOICE_STRANGER + 3, signatureIndex: 0 }])).toBe(0);
  expect(provenBy([{ outcome: 0 }])).toBe(0);
  expect(provenBy([{ stakes: 0.5 }])).toBeCloseTo(0.5, 6);
  const many = Array.from({ length: 50 }, (_, i) => ({ reporter: `agent://t/v-${i}`, stakes: 50 }));
  const high = provenBy(many);
  expect(provenBy([...many, { reporter: "agent://t/low", stakes: 2 }])).toBe(high);
});

test("proven stakes fade by half in half a year, and rise again from there", () => {
  const { writer, reader } = openEngine();
  for (let i = 0; i < 100; i++) {
    writer.fold(success({ reporter: `agent://t/voice-${i}`, stakes: 100 }));
  }
  const before = reader.explain(SUBJECT, START_MS).stakesProven;
  const later = START_MS + 180 * DAY_MS;
  expect(reader.explain(SUBJECT, later).stakesProven).toBeCloseTo(before / 2, 3);
  writer.fold(success({ reporter: "agent://t/new", stakes: 100, settledAtMs: later }));
  const after = reader.explain(SUBJECT, later).stakesProven;
  expect(after).toBeGreaterThan(before / 2);
  expect(after).toBeLessThanOrEqual(100);
});
