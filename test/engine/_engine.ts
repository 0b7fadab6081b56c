// Writer and reader over one fresh shared memory, and streams of outcomes to feed them.
import fc from "fast-check";
import {
  ASKER_MAX,
  VOICE_FIRST_PARTY,
  VOICE_MAX,
  VOICE_STRANGER,
} from "../../src/contract/voices.ts";
import type { ScoringConfig } from "../../src/engine/config.ts";
import { loadDefaultConfig } from "../../src/engine/config.ts";
import { createEngineMemory } from "../../src/engine/memory.ts";
import type { FoldAssessment, FoldOutcome } from "../../src/engine/reading.ts";
import { openEngineReader } from "../../src/engine/reader.ts";
import { openEngineWriter } from "../../src/engine/writer.ts";

export const START_MS = Date.UTC(2026, 0, 1);
export const DAY_MS = 86_400_000;

export function openEngine(overrides: Partial<ScoringConfig> = {}, seed = 1n) {
  const memory = createEngineMemory();
  const config = { ...loadDefaultConfig(), ...overrides };
  const writer = openEngineWriter(memory, config, seed);
  const reader = openEngineReader(memory, 1);
  return { memory, config, writer, reader };
}

/** A small world of agents reporting on each other, mostly in order of time. */
export function outcomeStream(agents = 8, length = 120): fc.Arbitrary<FoldOutcome[]> {
  const outcome = fc.record({
    pair: fc.tuple(fc.nat(agents - 1), fc.nat(agents - 2)),
    outcome: fc.constantFrom(0 as const, 1 as const, 1 as const),
    stakes: fc.oneof(fc.double({ min: 0, max: 1e6, noNaN: true }), fc.constantFrom(0, 1, 10, 500)),
    gradeIndex: fc.nat(4),
    signatureIndex: fc.nat(2),
    voice: fc.constantFrom(
      0,
      0,
      0,
      VOICE_FIRST_PARTY,
      VOICE_FIRST_PARTY,
      VOICE_STRANGER,
      VOICE_MAX,
    ),
    incident: fc.constantFrom(0, 0, 0, 1, 2),
    lateMs: fc.constantFrom(0, 0, 0, 0, 2 * DAY_MS),
    gapMs: fc.oneof(
      { arbitrary: fc.integer({ min: -2 * DAY_MS, max: 20 * DAY_MS }), weight: 2 },
      // Several within one hour.
      { arbitrary: fc.integer({ min: -900_000, max: 900_000 }), weight: 1 },
    ),
  });
  return fc.array(outcome, { minLength: 1, maxLength: length }).map((steps) => {
    let at = START_MS;
    return steps.map(({ pair: [a, b], gapMs, lateMs, ...rest }) => {
      at = Math.max(START_MS, at + gapMs);
      return {
        ...rest,
        subject: `agent://t/${a}`,
        reporter: `agent://t/${b >= a ? b + 1 : b}`,
        settledAtMs: at,
        incidentAtMs: at + lateMs,
      };
    });
  });
}

/** Failed texts of the same small world, mostly in order of time. */
export function assessmentStream(agents = 8, length = 40): fc.Arbitrary<FoldAssessment[]> {
  const assessment = fc.record({
    agent: fc.nat(agents - 1).map((i) => `agent://t/${i}`),
    asker: fc.constantFrom(0, 0, 0, 1, ASKER_MAX),
    kindIndex: fc.nat(1),
    gapMs: fc.integer({ min: -2 * DAY_MS, max: 20 * DAY_MS }),
  });
  return fc.array(assessment, { maxLength: length }).map((steps) => {
    let at = START_MS;
    return steps.map(({ gapMs, ...rest }) => {
      at = Math.max(START_MS, at + gapMs);
      return { ...rest, assessedAtMs: at };
    });
  });
}
