// Effect of failed texts on an agent's score: little by one asker, whatever it sends and for how long,
// never a denial, and gone with time.
import fc from "fast-check";
import { expect, test } from "vitest";
import { DEFAULT_POLICY } from "../../src/contract/policy.ts";
import { VOICE_FIRST_PARTY } from "../../src/contract/voices.ts";
import { REASON_CODES, VERDICTS } from "../../src/contract/vocabulary.ts";
import { applyPolicyRules } from "../../src/policy/rules.ts";
import { createRuleInputs } from "../../src/policy/rule-inputs.ts";
import { assessmentStream, DAY_MS, openEngine, outcomeStream, START_MS } from "./_engine.ts";

const SUBJECT = "agent://t/0";
/** Of one asker: the largest sum of both features under one cap of 12 (decision 0025). */
const POINTS_MAX = 31;
const HOUR_MS = 3_600_000;

type Engine = ReturnType<typeof openEngine>;

/** `count` distinct failed texts of the subject, an hour apart. */
function fail({ writer }: Engine, count: number, fromMs: number, asker = 7, kindIndex = 0): number {
  for (let i = 0; i < count; i++) {
    writer.foldAssessment({
      agent: SUBJECT,
      asker,
      kindIndex,
      assessedAtMs: fromMs + i * HOUR_MS,
    });
  }
  return fromMs + count * HOUR_MS;
}

/** Outcomes an hour apart, the failures first. */
function report({ writer }: Engine, successes: number, failures = 0): number {
  const count = successes + failures;
  for (let i = 0; i < count; i++) {
    writer.fold({
      subject: SUBJECT,
      reporter: `agent://t/r${i}`,
      outcome: i < failures ? 0 : 1,
      stakes: 10,
      gradeIndex: 3,
      signatureIndex: 1,
      settledAtMs: START_MS + i * HOUR_MS,
      voice: VOICE_FIRST_PARTY,
    });
  }
  return START_MS + count * HOUR_MS;
}

function read({ reader }: Engine, nowMs: number) {
  const reading = reader.check(SUBJECT, 0, nowMs);
  const { levels } = DEFAULT_POLICY;
  const { verdictIndex } = applyPolicyRules(createRuleInputs("L2", levels.L2, reading));
  const codes = [...reading.reasonIndexes.subarray(0, reading.reasonCount)];
  return {
    score: reading.scoreInternal,
    l2: VERDICTS[verdictIndex]!,
    reasons: codes.map((index) => REASON_CODES[index]!),
  };
}

test("one asker moves no agent by more than its bound, whatever it sends, for years", () => {
  fc.assert(
    fc.property(outcomeStream(3, 60), assessmentStream(1, 200), fc.nat(30), (before, sent, at) => {
      const [with_, without] = [openEngine(), openEngine()];
      for (const outcome of before) {
        with_.writer.fold(outcome);
        without.writer.fold(outcome);
      }
      for (const text of sent) with_.writer.foldAssessment({ ...text, asker: 7 });
      const last = Math.max(START_MS, ...sent.map((text) => text.assessedAtMs));
      const now = last + at * DAY_MS;
      const moved =
        without.reader.check(SUBJECT, 0, now).scoreInternal -
        with_.reader.check(SUBJECT, 0, now).scoreInternal;
      expect(moved).toBeGreaterThanOrEqual(0);
      expect(moved).toBeLessThan(POINTS_MAX);
    }),
    { numRuns: 300 },
  );
});

test("failed texts deny nothing, by however many askers", () => {
  const { check } = openEngine().config;
  let [denied, saved] = [0, 0];
  for (let failures = 0; failures < 60; failures++) {
    // The lowest border that a config can set: 0.667.
    const open = () => openEngine({ check: { ...check, deny_at: 0.01 } });
    const [with_, without] = [open(), open()];
    const end = report(with_, 3, failures);
    report(without, 3, failures);
    for (let asker = 0; asker < 20; asker++) fail(with_, 30, end - 30 * HOUR_MS, asker);
    const [a, b] = [with_, without].map(({ reader }) => reader.check(SUBJECT, 0, end));
    expect([a!.isDenied, a!.isRefused], `${failures} failures`).toEqual([
      b!.isDenied,
      b!.isRefused,
    ]);
    expect(a!.failureProbability).toBeGreaterThan(b!.failureProbability);
    if (b!.isDenied) denied++;
    else if (a!.failureProbability >= 0.667 && !a!.isThin) saved++;
  }
  expect(denied).toBeGreaterThan(10);
  expect(saved).toBeGreaterThan(0);
});

// Whatever the other weights are; docs/design/provenance-experiments.md shows whole scores.
test.each([
  ["a good record", 100, 0],
  ["a middling one", 40, 2],
  ["a thin one", 2, 0],
])("%s loses 4, 11, 21 and 29 points by 1, 3, 10 and 100 failed texts", (...record) => {
  const [, successes, failures] = record;
  const readings = [0, 1, 3, 10, 100].map((texts) => {
    const engine = openEngine();
    const end = report(engine, successes, failures);
    fail(engine, texts, end - texts * HOUR_MS);
    return read(engine, end);
  });
  const [before] = readings;
  const lost = readings.map(({ score }) => Math.round(before!.score - score));
  expect(lost).toEqual([0, 4, 11, 21, 29]);
  for (const [at, { l2, reasons }] of readings.entries()) {
    expect(["ALLOW", "CHALLENGE"]).toContain(l2);
    expect(reasons.includes("HALLUCINATION_SIGNAL")).toBe(at > 1);
    if (successes === 100) expect(l2).toBe("ALLOW");
  }
});

test("an agent without outcomes is known by its texts, and stays a newcomer", () => {
  const engine = openEngine();
  const end = fail(engine, 5, START_MS);
  const reading = engine.reader.check(SUBJECT, 0, end);
  expect(reading.isKnown).toBe(false);
  expect(reading.isThin).toBe(true);
  expect(read(engine, end).reasons).toContain("HALLUCINATION_SIGNAL");
  const newcomer = engine.reader.check("agent://t/other", 0, end).scoreInternal;
  expect(newcomer - engine.reader.check(SUBJECT, 0, end).scoreInternal).toBeGreaterThan(10);
});

test("sources count half of content, each under its own code", () => {
  const engine = openEngine();
  const end = fail(engine, 8, START_MS, 7, 1);
  const { reasons } = read(engine, end);
  expect(reasons).toContain("UNVERIFIED_SOURCES");
  expect(reasons).not.toContain("HALLUCINATION_SIGNAL");
  const other = openEngine();
  fail(other, 8, START_MS);
  expect(read(other, end).score).toBeLessThan(read(engine, end).score);
});

test("several askers add up, and never reach all that the weights allow", () => {
  const engine = openEngine();
  const end = report(engine, 100);
  const before = read(engine, end).score;
  const scores = Array.from({ length: 30 }, (_, asker) => {
    fail(engine, 50, end - 50 * HOUR_MS, asker);
    return read(engine, end).score;
  });
  expect(scores[1]).toBeLessThan(scores[0]!);
  expect(before - scores.at(-1)!).toBeLessThan(58);
});

test("a failed text fades by half in ninety days, and in years is forgotten", () => {
  const engine = openEngine();
  const end = fail(engine, 6, START_MS);
  const massAfter = (days: number) =>
    engine.reader.explain(SUBJECT, end + days * DAY_MS).failedTexts[0];
  expect(massAfter(90) / massAfter(0)).toBeCloseTo(0.5, 2);
  const score = (id: string) => engine.reader.check(id, 0, end + 1500 * DAY_MS).scoreInternal;
  expect(Math.abs(score(SUBJECT) - score("agent://t/other"))).toBeLessThan(0.1);
});

test("the engine refuses what is no assessment", () => {
  const { writer } = openEngine();
  const text = { agent: SUBJECT, asker: 1, kindIndex: 0, assessedAtMs: START_MS };
  expect(() => writer.foldAssessment({ ...text, kindIndex: 2 })).toThrow("refused");
  expect(() => writer.foldAssessment({ ...text, asker: 2 ** 29 })).toThrow("refused");
});
