// The sample of the decision log: weights are unbiased whenever decisions come, the budget holds, and both
// legs of a handshake share their fate.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  computeLadderExponent,
  createDecisionBudget,
  DecisionBudget,
  SAMPLE_EXPONENT_MAX,
} from "../../../src/store/decisions/budget.ts";
import { createDecisionRing, NUMBER_COUNT } from "../../../src/store/decisions/ring-layout.ts";
import {
  createDecisionColumns,
  DecisionRingReader,
  decodeRecordsInto,
  type DecisionColumns,
} from "../../../src/store/decisions/ring-reader.ts";
import { DecisionRingWriter } from "../../../src/store/decisions/ring.ts";
import { seededRandom } from "../../ledger/_fixtures.ts";
import { entryOf, NOW_MS } from "../_decisions.ts";

const MEBIBYTE = 1024 * 1024;
const SEED = 20_260_505;
const random = seededRandom(SEED);
const FIXED = { policyVersion: "p", evaluatedAtMs: NOW_MS };

/** Records of a ring into columns; the ring is empty then. */
function take(reader: DecisionRingReader, columns: DecisionColumns): void {
  const parts: Uint8Array[] = [];
  reader.release(reader.copyRecords(parts));
  for (const part of parts) decodeRecordsInto(columns, Buffer.from(part));
}

interface Burst {
  readonly count: number;
  /** Before it, ms. */
  readonly pauseMs: number;
  /** One in so many is kept first. */
  readonly firstIn: number;
}

/** Sends bursts through a budget; `name` makes ids of its own. */
function record(bursts: readonly Burst[], bytesPerDay: number, name: string) {
  const ring = createDecisionRing();
  const reader = new DecisionRingReader(ring);
  const writer = new DecisionRingWriter(ring, {
    waitMs: 0,
    budget: createDecisionBudget(bytesPerDay, NOW_MS),
    random,
  });
  const columns = createDecisionColumns();
  let nowMs = NOW_MS;
  let offered = 0;
  let variance = 0;
  for (const { count, pauseMs, firstIn } of bursts) {
    nowMs += pauseMs;
    for (let n = 0; n < count; n++) {
      const entry = {
        ...entryOf(0, true),
        requestId: `${name}-${offered}`,
        isKeptFirst: n % firstIn === 0,
        evaluatedAtMs: nowMs,
      };
      offered += 1;
      if (writer.admit(entry)) writer.record(entry);
      // Of one decision's weight: 1/p - 1.
      variance += entry.weight - 1;
      if (offered % 2000 === 0) take(reader, columns);
    }
  }
  take(reader, columns);
  const weights = columns.numbers[NUMBER_COUNT - 1]!;
  const sum = weights.reduce((all, each) => all + each, 0);
  return { offered, variance, sum, weights, bytes: columns.count };
}

const burst = fc.record({
  count: fc.integer({ min: 1, max: 3000 }),
  pauseMs: fc.constantFrom(0, 1, 900, 5000, 3_600_000),
  firstIn: fc.constantFrom(1, 2, 10, 1000),
});

describe("weights", () => {
  it("are unbiased under any arrival pattern", () => {
    // Standard scores of many runs: unbiased weights have a mean of 0 and a variance of 1.
    const scores: number[] = [];
    let run = 0;
    fc.assert(
      fc.property(
        fc.array(burst, { minLength: 1, maxLength: 6 }),
        fc.integer({ min: 1, max: 40 }),
        (bursts, mebibytes) => {
          run += 1;
          const found = record(bursts, mebibytes * MEBIBYTE, `run${run}`);
          if (found.variance === 0) expect(found.sum).toBe(found.offered);
          else scores.push((found.sum - found.offered) / Math.sqrt(found.variance));
        },
      ),
      { seed: SEED, numRuns: 60, endOnFailure: true },
    );
    expect(scores.length).toBeGreaterThan(20);
    const mean = scores.reduce((all, each) => all + each, 0) / scores.length;
    // Four standard errors.
    expect(Math.abs(mean)).toBeLessThan(4 / Math.sqrt(scores.length));
    const square = scores.reduce((all, each) => all + each * each, 0) / scores.length;
    expect(square).toBeGreaterThan(0.3);
    expect(square).toBeLessThan(3);
  });

  it("are 1 within the budget, and those kept first are sampled last", () => {
    const within = record([{ count: 3000, pauseMs: 0, firstIn: 2 }], 100 * MEBIBYTE, "within");
    expect([within.sum, within.weights.length]).toEqual([3000, 3000]);
    const beyond = record([{ count: 6000, pauseMs: 0, firstIn: 10 }], 12 * MEBIBYTE, "beyond");
    const ofFirst = record([{ count: 600, pauseMs: 0, firstIn: 1 }], 2 * MEBIBYTE, "first");
    const ofOthers = record([{ count: 600, pauseMs: 0, firstIn: 1e9 }], 2 * MEBIBYTE, "others");
    expect(beyond.weights.length).toBeLessThan(6000);
    expect(Math.max(...ofFirst.weights)).toBe(1);
    expect(Math.max(...ofOthers.weights)).toBeGreaterThan(1);
  });

  it("are 1 at 2,000 a second, and keep the speed of the others bounded beyond", () => {
    const at = (perSecond: number, firstIn: number) => {
      const seconds = Array.from({ length: 20 }, () => ({
        count: perSecond / 4,
        pauseMs: 250,
        firstIn,
      }));
      const bursts = [...seconds, ...seconds, ...seconds, ...seconds];
      return record(bursts, 100_000 * MEBIBYTE, `at-${perSecond}-${firstIn}`);
    };
    expect(at(2000, 1e9).weights.every((weight) => weight === 1)).toBe(true);
    const fast = at(20_000, 1e9);
    expect(fast.weights.length / 20).toBeLessThan(4000);
    expect(fast.weights.length / 20).toBeGreaterThan(1000);
    // Those kept first are not held to it.
    expect(at(8000, 1).weights.every((weight) => weight === 1)).toBe(true);
  });

  it("are shared by both legs of a handshake, which are kept together", () => {
    const ring = createDecisionRing();
    const budget = createDecisionBudget(MEBIBYTE / 4, NOW_MS);
    const writer = new DecisionRingWriter(ring, { waitMs: 0, budget, random });
    const columns = createDecisionColumns();
    for (let n = 0; n < 1000; n++) {
      for (const legIndex of [0, 1]) {
        const entry = { ...entryOf(n, true), ...FIXED, legIndex, kindIndex: 2 };
        if (writer.admit(entry)) writer.record(entry);
      }
    }
    take(new DecisionRingReader(ring), columns);
    const [ids, weights] = [columns.texts[0]!, columns.numbers[NUMBER_COUNT - 1]!];
    expect(ids.length).toBeLessThan(1000);
    for (let row = 0; row < ids.length; row += 2) {
      expect([ids[row + 1], weights[row + 1]]).toEqual([ids[row], weights[row]]);
    }
  });
});

describe("the budget", () => {
  it("holds over a day of ten times as many decisions", () => {
    const bytesPerDay = 4 * MEBIBYTE;
    const budget = new DecisionBudget(createDecisionBudget(bytesPerDay, NOW_MS));
    const recordBytes = 600;
    let bytes = 0;
    const offered = (10 * bytesPerDay) / recordBytes;
    for (let n = 0; n < offered; n++) {
      const exponent = budget.selectExponent(n % 3 === 0, NOW_MS + (n / offered) * 86_400_000);
      if (random() * 2 ** exponent >= 1) continue;
      budget.charge(recordBytes);
      bytes += recordBytes;
    }
    expect(bytes).toBeGreaterThan(0.9 * bytesPerDay);
    // A quarter may be saved up.
    expect(bytes).toBeLessThan(1.3 * bytesPerDay);
  });

  it("refills by the clock, takes refunds, and survives a clock that is set back", () => {
    const budget = new DecisionBudget(createDecisionBudget(MEBIBYTE, NOW_MS));
    budget.charge(MEBIBYTE);
    expect(budget.selectExponent(true, NOW_MS)).toBe(SAMPLE_EXPONENT_MAX);
    expect(budget.selectExponent(true, NOW_MS - 7_200_000)).toBe(SAMPLE_EXPONENT_MAX);
    // Four hours later more than half of what can be saved up is there.
    const later = NOW_MS - 7_200_000 + 4 * 3_600_000;
    expect(budget.selectExponent(false, later)).toBe(0);
    budget.charge(MEBIBYTE);
    expect(budget.selectExponent(true, later)).toBe(SAMPLE_EXPONENT_MAX);
    budget.refund(MEBIBYTE);
    expect(budget.selectExponent(true, later)).toBe(0);
  });

  it("lowers the probability step by step", () => {
    fc.assert(
      fc.property(
        fc.double({ min: 0, max: 1, noNaN: true }),
        fc.double({ min: 0, max: 1, noNaN: true }),
        (one, other) => {
          const [low, high] = one < other ? [one, other] : [other, one];
          const ofLow = computeLadderExponent(low, [1 / 2, 1 / 8]);
          expect(ofLow).toBeGreaterThanOrEqual(computeLadderExponent(high, [1 / 2, 1 / 8]));
          expect(ofLow).toBeLessThanOrEqual(SAMPLE_EXPONENT_MAX);
          expect(ofLow === 0).toBe(low >= 1 / 2);
        },
      ),
      { seed: SEED },
    );
  });
});
