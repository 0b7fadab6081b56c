// Properties of every decision, whatever the evidence (scoring 4, kaizen 6.3).
import fc from "fast-check";
import { expect, test } from "vitest";
import { DECISIONS, REASON_CODES } from "../../src/contract/vocabulary.ts";
import { loadDefaultConfig } from "../../src/engine/config.ts";
import { assertConfig } from "../../src/engine/config-layout.ts";
import { referenceDecision } from "../reference/score.ts";
import { DAY_MS, openEngine, outcomeStream, START_MS } from "./_engine.ts";

const ids = Array.from({ length: 9 }, (_, i) => `agent://t/${i}`);
const shipped = loadDefaultConfig();
const novel = { ...shipped.check, weights: { ...shipped.check.weights, stakes_novelty: 0.1 } };
/** The shipped config, and one in which stakes above those proven raise the probability. */
const CONFIGS = [{}, { check: novel, handshake: { ...novel, viewer: 1 } }];
const LADDER = [0, 0.5, 1, 3, 10, 40, 100, 350, 1000, 5000, 2e4, 1e6, 1e9];

function foldAll(
  engine: ReturnType<typeof openEngine>,
  stream: Parameters<typeof engine.writer.fold>[0][],
) {
  for (const outcome of stream) engine.writer.fold(outcome);
  return stream.at(-1)!.settledAtMs + DAY_MS;
}

test.each(CONFIGS)("more stakes are never less strict, for one leg and for both", (overrides) => {
  fc.assert(
    fc.property(outcomeStream(), (stream) => {
      const engine = openEngine(overrides);
      const now = foldAll(engine, stream);
      for (const id of ids) {
        let check = 0;
        let leg = 0;
        for (const stakes of LADDER) {
          const next = engine.reader.check(id, stakes, now).decisionIndex;
          expect(next).toBeGreaterThanOrEqual(check);
          check = next;
          const [aToB] = engine.reader.handshake(ids[0]!, id, stakes, now);
          expect(aToB.decisionIndex).toBeGreaterThanOrEqual(leg);
          leg = aToB.decisionIndex;
        }
      }
    }),
    { numRuns: 100 },
  );
});

test.each(CONFIGS)(
  "between the stakes named only decision, bounds and reasons differ",
  (overrides) => {
    fc.assert(
      fc.property(
        outcomeStream(),
        fc.constantFrom(...LADDER),
        fc.double({ min: 0, max: 1, noNaN: true }),
        (stream, stakes, share) => {
          const engine = openEngine(overrides);
          const now = foldAll(engine, stream);
          for (const id of ids) {
            const there = { ...engine.reader.check(id, stakes, now) };
            const { stakesFrom: from, stakesTo: to } = there;
            expect(from).toBeLessThanOrEqual(stakes);
            expect(to).toBeGreaterThanOrEqual(stakes);
            const end = Math.min(to, 1e12);
            for (const other of [from, end, from + share * (end - from)]) {
              const {
                failureProbability,
                scoreInternal,
                isDenied,
                isRefused,
                isThin,
                stakesFrom,
                stakesTo,
              } = engine.reader.check(id, other, now);
              expect([failureProbability, scoreInternal]).toEqual([
                there.failureProbability,
                there.scoreInternal,
              ]);
              expect([isDenied, isRefused, isThin]).toEqual([
                there.isDenied,
                there.isRefused,
                there.isThin,
              ]);
              expect([stakesFrom, stakesTo]).toEqual([from, to]);
            }
          }
        },
      ),
      { numRuns: 50 },
    );
  },
);

test.each(CONFIGS)("max_stakes: the decision holds there and is stricter above", (overrides) => {
  fc.assert(
    fc.property(outcomeStream(), fc.constantFrom(...LADDER), (stream, stakes) => {
      const engine = openEngine(overrides);
      const now = foldAll(engine, stream);
      for (const id of ids) {
        const { decisionIndex, stakesMax, stakesClear } = {
          ...engine.reader.check(id, stakes, now),
        };
        if (stakesClear > 0 && Number.isFinite(stakesClear)) {
          const clear = engine.reader.check(id, stakesClear * (1 - 1e-9), now).decisionIndex;
          expect(clear).toBe(0);
        }
        if (decisionIndex === 3) {
          expect([stakesMax, stakesClear]).toEqual([0, 0]);
          continue;
        }
        if (decisionIndex === 2) {
          expect(stakesMax).toBeLessThanOrEqual(stakes);
          expect(
            engine.reader.check(id, stakesMax * (1 - 1e-9), now).decisionIndex,
          ).toBeLessThanOrEqual(1);
          continue;
        }
        expect(stakesMax).toBeGreaterThanOrEqual(stakes);
        if (stakesMax === Infinity) {
          expect(engine.reader.check(id, 1e12, now).decisionIndex).toBe(decisionIndex);
          continue;
        }
        const within = stakesMax * (1 - 1e-9);
        expect(engine.reader.check(id, within, now).decisionIndex).toBe(decisionIndex);
        const beyond = engine.reader.check(id, stakesMax * 1.5 + 1, now).decisionIndex;
        expect(beyond).toBeGreaterThan(decisionIndex);
      }
    }),
    { numRuns: 100 },
  );
});

test("more failure is never less strict: one more failure raises every probability", () => {
  fc.assert(
    fc.property(outcomeStream(4, 40), fc.constantFrom(1, 50, 2000), (stream, stakes) => {
      // A fixed base rate and no caps: the claim is about the agent's own evidence.
      const plain = { base_variance: 0, pair_cap: 1e12 };
      const engine = openEngine(plain);
      const now = foldAll(engine, stream);
      const before = { ...engine.reader.check("agent://t/0", stakes, now) };
      engine.writer.fold({
        subject: "agent://t/0",
        reporter: "agent://t/fresh",
        outcome: 0,
        stakes: 10,
        gradeIndex: 0,
        signatureIndex: 2,
        settledAtMs: now,
      });
      const after = engine.reader.check("agent://t/0", stakes, now);
      expect(after.failureProbability).toBeGreaterThanOrEqual(before.failureProbability - 1e-9);
    }),
    { numRuns: 200 },
  );
});

test.each(CONFIGS)("an agent without history is never refused, at any stakes", (overrides) => {
  const { reader } = openEngine(overrides);
  for (const stakes of [...LADDER, 1e12]) {
    const reading = reader.check("agent://nobody/new", stakes, START_MS);
    expect(DECISIONS[reading.decisionIndex]).not.toBe("refuse");
    expect(reading.isKnown).toBe(false);
    const legs = reader.handshake("agent://nobody/new", "agent://nobody/other", stakes, START_MS);
    for (const leg of legs) expect(DECISIONS[leg.decisionIndex]).not.toBe("refuse");
  }
});

test("the decision is the one of least expected cost", () => {
  const { reader, config, writer } = openEngine();
  fc.assert(
    fc.property(fc.nat(30), fc.nat(30), fc.double({ min: 0, max: 1e5, noNaN: true }), (s, f, v) => {
      const subject = `agent://cost/${s}-${f}`;
      for (let i = 0; i < s + f; i++) {
        writer.fold({
          subject,
          reporter: `agent://cost/reporter-${i}`,
          outcome: i < s ? 1 : 0,
          stakes: 10,
          gradeIndex: 0,
          signatureIndex: 2,
          settledAtMs: START_MS,
        });
      }
      const reading = reader.check(subject, v, START_MS);
      if (reading.isRefused) return;
      expect(reading.decisionIndex).toBe(referenceDecision(config, reading.failurePessimistic, v));
    }),
    { numRuns: 300 },
  );
});

test("identical log, identical bytes", () => {
  fc.assert(
    fc.property(outcomeStream(6, 80), (stream) => {
      const [left, right] = [openEngine(), openEngine()];
      foldAll(left, stream);
      foldAll(right, stream);
      const bytes = ({ memory }: typeof left) => Buffer.from(memory.buffer.slice(65_536, 4e6));
      expect(bytes(left).equals(bytes(right))).toBe(true);
    }),
    { numRuns: 25 },
  );
});

test("reasons are distinct codes by weight, and a decision other than connect has one", () => {
  fc.assert(
    fc.property(outcomeStream(), fc.constantFrom(1, 100, 1e5), (stream, stakes) => {
      const engine = openEngine();
      const now = foldAll(engine, stream);
      for (const id of ids) {
        const reading = engine.reader.check(id, stakes, now);
        const codes = [...reading.reasonIndexes.subarray(0, reading.reasonCount)];
        expect(new Set(codes).size).toBe(codes.length);
        for (const code of codes) expect(REASON_CODES[code]).toBeDefined();
        if (reading.decisionIndex > 0) expect(reading.reasonCount).toBeGreaterThan(0);
      }
    }),
    { numRuns: 60 },
  );
});

test("evidence of one pair and sign never exceeds its cap", () => {
  const { writer, reader } = openEngine({ base_variance: 0 });
  const flood = (reporter: string, times: number) => {
    for (let i = 0; i < times; i++) {
      writer.fold({
        subject: "agent://t/flooded",
        reporter,
        outcome: 1,
        stakes: 1e6,
        gradeIndex: 0,
        signatureIndex: 2,
        settledAtMs: START_MS,
      });
    }
  };
  flood("agent://t/friend", 10_000);
  const { successes90 } = reader.explain("agent://t/flooded", START_MS);
  expect(successes90).toBeLessThanOrEqual(loadDefaultConfig().pair_cap + 1e-3);
});

test("a config that would break monotonicity is refused by name", () => {
  const config = loadDefaultConfig();
  expect(() => assertConfig({ ...config, human_cost: 0.5 })).toThrow("human_cost");
  expect(() => assertConfig({ ...config, base_rate: Number.NaN })).toThrow("base_rate");
  const check = { ...config.check, weights: { recent_failure: -1 } };
  expect(() => assertConfig({ ...config, check })).toThrow("recent_failure");
});
