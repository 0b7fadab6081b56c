// Properties of every decision, whatever the evidence (scoring 4, kaizen 6.3).
import fc from "fast-check";
import { expect, test } from "vitest";
import { DECISIONS, REASON_CODES } from "../../src/contract/vocabulary.ts";
import type { LegCode } from "../../src/contract/vocabulary.ts";
import { loadDefaultConfig } from "../../src/engine/config.ts";
import { assertConfig } from "../../src/engine/config-layout.ts";
import type { AgentScore } from "../../src/engine/reading.ts";
import { appendReasons } from "../../src/bureau/decisions/reasons.ts";
import { createConnection, decideConnection } from "../../src/policy/connection.ts";
import { STANDING } from "../../src/policy/stakes-decision.ts";
import { decide, SHIPPED } from "../policy/_connections.ts";
import { referenceDecision } from "../reference/stakes.ts";
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
          const next = decide(engine.reader.check(id, stakes, now), stakes).decisionIndex;
          expect(next).toBeGreaterThanOrEqual(check);
          check = next;
          const [aToB] = engine.reader.handshake(ids[0]!, id, stakes, now);
          const nextLeg = decide(aToB, stakes).decisionIndex;
          expect(nextLeg).toBeGreaterThanOrEqual(leg);
          leg = nextLeg;
        }
      }
    }),
    { numRuns: 100 },
  );
});

/** What the decision at stakes is computed from: the same bits at whichever stakes it was read. */
const stakesInputs = (score: AgentScore) => [
  score.stakesLogit,
  score.stakesNovelty,
  score.stakesUntested,
  score.stakesProven,
  score.stakesReach,
];

test.each(CONFIGS)(
  "between the stakes named only reasons differ, and at no stakes what decides at them",
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
            const elsewhere = { ...engine.reader.check(id, 1e9 - stakes, now) };
            expect(stakesInputs(elsewhere)).toEqual(stakesInputs(there));
            const end = Math.min(to, 1e12);
            for (const other of [from, end, from + share * (end - from)]) {
              const reading = { ...engine.reader.check(id, other, now) };
              expect({ ...reading, reasonCount: 0 }).toEqual({ ...there, reasonCount: 0 });
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
      // Read again at other stakes: what the engine says of them, and not what follows from one reading.
      const decisionAt = (id: string, other: number) =>
        decide(engine.reader.check(id, other, now), other).decisionIndex;
      for (const id of ids) {
        const reading = { ...engine.reader.check(id, stakes, now) };
        const { decisionIndex, standing, stakesMax, stakesClear } = decide(reading, stakes);
        if (stakesClear > 0 && Number.isFinite(stakesClear)) {
          expect(decisionAt(id, stakesClear)).toBe(0);
          expect(decisionAt(id, Math.max(7, stakesClear) * 1.000001)).toBeGreaterThan(0);
        }
        if (standing !== STANDING.clear) {
          expect([stakesMax, stakesClear]).toEqual([0, 0]);
          continue;
        }
        if (decisionIndex === 2) {
          expect(stakesMax).toBeLessThan(stakes);
          if (stakesMax > 0) expect(decisionAt(id, stakesMax)).toBeLessThanOrEqual(1);
          continue;
        }
        expect(stakesMax).toBeGreaterThanOrEqual(stakes);
        if (stakesMax === Infinity) {
          expect(decisionAt(id, 1e12)).toBe(decisionIndex);
          continue;
        }
        expect(decisionAt(id, stakesMax)).toBe(decisionIndex);
        expect(decisionAt(id, Math.max(7, stakesMax) * 1.000001)).toBeGreaterThan(decisionIndex);
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
    expect(DECISIONS[decide(reading, stakes).decisionIndex]).not.toBe("refuse");
    expect(reading.isKnown).toBe(false);
    const legs = reader.handshake("agent://nobody/new", "agent://nobody/other", stakes, START_MS);
    for (const leg of legs) {
      expect(DECISIONS[decide(leg, stakes).decisionIndex]).not.toBe("refuse");
    }
  }
});

test("the decision is the one of least expected cost", () => {
  const { reader, writer } = openEngine();
  const seen = new Set<number>();
  const stakesRange = fc.oneof(
    fc.double({ min: 0, max: 1e5, noNaN: true }),
    fc.double({ min: 0, max: 500, noNaN: true }),
  );
  fc.assert(
    fc.property(fc.nat(30), fc.nat(30), stakesRange, (s, f, stakes) => {
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
      const score = reader.check(subject, stakes, START_MS);
      const standing = score.isRefused ? 2 : score.isDenied ? 1 : 0;
      const { connect: terms } = SHIPPED.terms;
      const question = { score, terms, isThinAllowed: false, standing, stakes } as const;
      const { decision, isClose } = referenceDecision(question);
      if (isClose) return;
      seen.add(decision);
      expect(decide(score, stakes).decisionIndex).toBe(decision);
    }),
    { numRuns: 500 },
  );
  expect(seen).toEqual(new Set([0, 1, 2, 3]));
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
        const indexes = [...reading.reasonIndexes.subarray(0, reading.reasonCount)];
        expect(new Set(indexes).size).toBe(indexes.length);
        for (const index of indexes) expect(REASON_CODES[index]).toBeDefined();
        const query = { active: SHIPPED, reading, stakes };
        const connection = decideConnection(query, createConnection(SHIPPED));
        if (connection.decisionIndex === 0) continue;
        const [sentences, codes]: [string[], LegCode[]] = [[], []];
        appendReasons(query, connection, sentences, codes);
        expect(codes.length).toBeGreaterThan(0);
        expect(codes.length).toBeLessThanOrEqual(4);
        expect(new Set(codes).size).toBe(codes.length);
        expect(sentences.length).toBe(codes.length);
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
  expect(() => assertConfig({ ...config, human_catch: 0.8 })).toThrow("human_catch");
  expect(() => assertConfig({ ...config, human_catch: 1.01 })).toThrow("human_catch");
  expect(() => assertConfig({ ...config, verify_catch: 0 })).toThrow("verify_catch");
  expect(() => assertConfig({ ...config, stakes_caution: -0.1 })).toThrow("stakes_caution");
  expect(() => assertConfig({ ...config, base_rate: Number.NaN })).toThrow("base_rate");
  const check = { ...config.check, weights: { recent_failure: -1 } };
  expect(() => assertConfig({ ...config, check })).toThrow("recent_failure");
});
