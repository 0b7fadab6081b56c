// Bounds on the voices of outcomes: an API key without a vouching operator moves no agent by more
// than a little, however much it posts; one first-party gateway builds a record alone.
import fc from "fast-check";
import { expect, test } from "vitest";
import {
  VOICE_FIRST_PARTY,
  VOICE_MAX,
  VOICE_REPORTER,
  VOICE_STRANGER,
} from "../../src/contract/voices.ts";
import { applyPolicyRules } from "../../src/policy/rules.ts";
import { createRuleInputs } from "../../src/policy/rule-inputs.ts";
import { VERDICTS } from "../../src/contract/vocabulary.ts";
import type { FoldOutcome } from "../../src/engine/reading.ts";
import { DAY_MS, openEngine, outcomeStream, START_MS } from "./_engine.ts";

const SUBJECT = "agent://v/subject";
const POINTS_MAX = 10;
const COUNTERPARTY = 3;
const HOUR_MS = 3_600_000;

type Engine = ReturnType<typeof openEngine>;

/** Reports on the subject, `gapMs` apart, each naming another reporter unless `reporter` is given. */
function post(
  { writer }: Engine,
  count: number,
  from: { voice: number; fromMs: number; gapMs?: number; reporter?: string; stakes?: number },
  failed: (i: number) => boolean = () => false,
): number {
  const { voice, fromMs, gapMs = HOUR_MS, reporter, stakes = 50 } = from;
  for (let i = 0; i < count; i++) {
    writer.fold({
      subject: SUBJECT,
      reporter: reporter ?? `agent://v/r${i}`,
      outcome: failed(i) ? 0 : 1,
      stakes,
      gradeIndex: COUNTERPARTY,
      signatureIndex: voice === VOICE_FIRST_PARTY ? 1 : 0,
      settledAtMs: fromMs + i * gapMs,
      voice,
    });
  }
  return fromMs + count * gapMs;
}

function verdicts({ reader }: Engine, nowMs: number, stakes = 0): [l2: string, l3: string] {
  const reading = reader.check(SUBJECT, stakes, nowMs);
  const of = (level: "L2" | "L3") => {
    const rules = { ...createRuleInputs(level, undefined, reading), stakes };
    return VERDICTS[applyPolicyRules(rules).verdictIndex]!;
  };
  return [of("L2"), of("L3")];
}

const score = ({ reader }: Engine, nowMs: number) => reader.check(SUBJECT, 0, nowMs).scoreInternal;

/** A record of the subject as any voices may have made it. */
const histories = outcomeStream(6, 120).map((stream) =>
  stream.map((outcome) => ({ ...outcome, subject: SUBJECT })),
);

test("no key that nobody vouches for moves any agent by more than ten points, in years", () => {
  const flood = fc.array(
    fc.record({ outcome: fc.constantFrom<0 | 1>(0, 1), gapMs: fc.nat(60 * DAY_MS) }),
    { minLength: 1, maxLength: 80 },
  );
  fc.assert(
    fc.property(histories, flood, fc.nat(VOICE_MAX - VOICE_STRANGER), (before, posts, key) => {
      const [with_, without] = [openEngine(), openEngine()];
      for (const outcome of before.filter(({ voice }) => voice !== VOICE_STRANGER + key)) {
        with_.writer.fold(outcome);
        without.writer.fold(outcome);
      }
      let at = before.at(-1)!.settledAtMs;
      for (const [i, { outcome, gapMs }] of posts.entries()) {
        at += gapMs;
        const report: FoldOutcome = {
          subject: SUBJECT,
          reporter: `agent://v/invented-${i}`,
          outcome,
          stakes: 1e6,
          gradeIndex: 0,
          signatureIndex: 0,
          settledAtMs: at,
          voice: VOICE_STRANGER + key,
        };
        with_.writer.fold(report);
      }
      expect(Math.abs(score(with_, at) - score(without, at))).toBeLessThan(POINTS_MAX);
      expect(with_.reader.baseRate).toBe(without.reader.baseRate);
    }),
    { numRuns: 200 },
  );
});

test("invented names behind one key make no agents, and one voice in each record", () => {
  const engine = openEngine();
  const end = post(engine, 2000, { voice: 77, fromMs: START_MS, gapMs: 1000 });
  expect(engine.reader.agentCount).toBe(1);
  expect(engine.reader.explain(SUBJECT, end).outcomeCount).toBe(1);
  expect(engine.reader.check(SUBJECT, 0, end).isThin).toBe(true);
});

test.each([0, 1])("no praise of a stranger lifts what stands denied (%i days later)", (days) => {
  const engine = openEngine();
  const by = { voice: VOICE_FIRST_PARTY, fromMs: START_MS };
  let end = post(engine, 300, by, () => true);
  end += days * DAY_MS;
  const before = verdicts(engine, end);
  expect(before).toEqual(["BLOCK", "BLOCK"]);
  const was = score(engine, end);
  post(engine, 2000, { voice: 77, fromMs: end, gapMs: 1 });
  expect(verdicts(engine, end)).toEqual(before);
  expect(score(engine, end)).toBe(was);
});

test("twenty strangers' keys together weigh like a reporter or so, and set no recent failure", () => {
  const engine = openEngine();
  let end = post(engine, 100, { voice: VOICE_FIRST_PARTY, fromMs: START_MS });
  const before = score(engine, end);
  for (let key = 0; key < 20; key++) {
    end = post(engine, 50, { voice: 1000 + key, fromMs: end, gapMs: 1000 }, () => true);
  }
  const moved = before - score(engine, end);
  expect(moved).toBeGreaterThan(20);
  expect(moved).toBeLessThan(20 * POINTS_MAX);
  expect(engine.reader.explain(SUBJECT, end).lastFailureMs).toBe(0);
});

test.each([
  [300, 60, 1, ["ALLOW", "ALLOW"]],
  [1000, 60, 1, ["ALLOW", "ALLOW"]],
  [300, 60, 0, ["ALLOW", "ALLOW"]],
  [1000, 365, 1, ["ALLOW", "ALLOW"]],
])("%i flawless outcomes of one first-party gateway over %i days, stakes %i", (...row) => {
  const [count, days, stakes, expected] = row;
  const engine = openEngine();
  const gapMs = (days * DAY_MS) / count;
  const gateway = { voice: VOICE_FIRST_PARTY, fromMs: START_MS, gapMs, stakes };
  const end = post(engine, count, { ...gateway, reporter: "agent://v/gateway" });
  expect(verdicts(engine, end)).toEqual(expected);
  expect(verdicts(engine, end, 1), "asked with stakes of 1").toEqual(expected);
});

test("an ordinary reporter of the same 1,000 outcomes stays out of L3 where stakes are asked", () => {
  const engine = openEngine();
  const one = { voice: VOICE_REPORTER, fromMs: START_MS, reporter: "agent://v/gateway" };
  const end = post(engine, 1000, one);
  expect(verdicts(engine, end, 1)[1]).toBe("CHALLENGE");
});

/** The share of failures that one gateway reported for a year, `perDay` of them. */
function afterOneYear(perDay: number, every: number): number {
  const engine = openEngine();
  const gapMs = DAY_MS / perDay;
  const gateway = { voice: VOICE_FIRST_PARTY, fromMs: START_MS, gapMs, stakes: 1 };
  const named = { ...gateway, reporter: "agent://v/gateway" };
  const end = post(engine, perDay * 365, named, (i) => i % every === every - 1);
  return engine.reader.check(SUBJECT, 0, end).failureProbability;
}

test("a gateway's record keeps its ratio of failures, however many outcomes it is made of", () => {
  for (const perDay of [10, 50]) {
    const rare = afterOneYear(perDay, 100);
    expect(rare, "1 in 100").toBeLessThan(0.05);
    expect(afterOneYear(perDay, 5), "1 in 5").toBeGreaterThan(0.1);
    expect(afterOneYear(perDay, 2), "1 in 2").toBeGreaterThan(0.25);
  }
});

test("a wash-trading pair of a vouched market is bounded, and its failures are not drowned", () => {
  const engine = openEngine();
  const pair = { voice: VOICE_FIRST_PARTY, fromMs: START_MS, reporter: "agent://v/partner" };
  let end = post(engine, 20_000, { ...pair, gapMs: 60_000 });
  const washed = score(engine, end);
  expect(washed).toBeLessThan(650);
  // Ten honest traders of the same market, once each.
  end = post(engine, 10, { voice: VOICE_FIRST_PARTY, fromMs: end }, () => true);
  expect(verdicts(engine, end)[0]).not.toBe("ALLOW");
});
