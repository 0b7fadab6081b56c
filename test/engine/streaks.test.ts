// Short memory beside the slow track: runs of failures after a long good record, praise and cheap
// trades that prove little, and that no outcome ever works against what it says.
import fc from "fast-check";
import { expect, test } from "vitest";
import { VOICE_FIRST_PARTY } from "../../src/contract/voices.ts";
import { DEFAULT_POLICY } from "../../src/contract/policy.ts";
import { DECISIONS, FEATURES } from "../../src/contract/vocabulary.ts";
import { LEG_FEATURES } from "../../assembly/layout.ts";
import { decide, SHIPPED } from "../policy/_connections.ts";
import { DAY_MS, openEngine, outcomeStream, START_MS } from "./_engine.ts";

const GATEWAY = "agent://ops/gateway";
const CONNECT = DECISIONS.indexOf("connect");
const SUBJECT = "agent://t/subject";
const COUNTERPARTY = 3;

function openTable() {
  const engine = openEngine();
  /** `count` outcomes of the gateway over the days before `endMs`. */
  const report = (count: number, outcome: 0 | 1, endMs: number, days: number, stakes = 50) => {
    for (let i = 0; i < count; i++) {
      engine.writer.fold({
        subject: SUBJECT,
        reporter: GATEWAY,
        outcome,
        stakes,
        gradeIndex: COUNTERPARTY,
        signatureIndex: 1,
        settledAtMs: Math.floor(endMs - days * DAY_MS * (1 - (i + 0.5) / count)),
        voice: VOICE_FIRST_PARTY,
      });
    }
  };
  const feature = (name: (typeof FEATURES)[number]) =>
    engine.reader.legWords[LEG_FEATURES + FEATURES.indexOf(name)]!;
  return { ...engine, report, feature };
}

const END_MS = START_MS + 60 * DAY_MS;
const HOUR = 1 / 24;

test("after 400 successes, three failures in a row close L2 and eight make another likely", () => {
  const { report, reader } = openTable();
  report(400, 1, END_MS, 60);
  expect(reader.check(SUBJECT, 0, END_MS).failureProbability).toBeLessThan(0.05);
  const risks: number[] = [];
  for (let i = 1; i <= 8; i++) {
    report(1, 0, END_MS + i * HOUR * DAY_MS, HOUR / 2);
    risks.push(reader.check(SUBJECT, 0, END_MS + DAY_MS).failureProbability);
  }
  // One failure is no run: about the border of L2.
  expect(risks[0]).toBeLessThan(1.2 * DEFAULT_POLICY.levels.L2.allow_up_to);
  expect(risks[2]).toBeGreaterThan(DEFAULT_POLICY.levels.L2.allow_up_to);
  expect(risks[7]).toBeGreaterThan(0.5);
  expect(risks).toEqual(risks.toSorted((a, b) => a - b));
});

test("what follows a run of failures makes it fade, one success at a time", () => {
  const { report, reader, feature } = openTable();
  report(400, 1, END_MS, 60);
  report(8, 0, END_MS + DAY_MS, 0.5);
  reader.check(SUBJECT, 0, END_MS + DAY_MS);
  let [latest, broken] = [feature("latest_failures"), feature("broken_record")];
  expect(latest).toBeGreaterThan(0.9);
  for (let i = 1; i <= 5; i++) {
    report(1, 1, END_MS + (1 + i * HOUR) * DAY_MS, HOUR / 2);
    reader.check(SUBJECT, 0, END_MS + 2 * DAY_MS);
    expect(feature("latest_failures")).toBeLessThan(latest);
    expect(feature("broken_record")).toBeLessThan(broken);
    [latest, broken] = [feature("latest_failures"), feature("broken_record")];
  }
  expect(latest).toBeLessThan(0.2);
});

test("a thousand trades at 0.01 connect unverified up to little more than nothing named", () => {
  const { report, reader } = openTable();
  report(1000, 1, END_MS, 60, 0.01);
  const within = decide(reader.check(SUBJECT, 1, END_MS), 1);
  expect(within.decisionIndex).toBe(CONNECT);
  expect(within.stakesClear).toBeLessThan(2 * SHIPPED.terms.connect.assumed);
  for (const stakes of [1.01 * within.stakesClear, 183, 1e4]) {
    const check = reader.check(SUBJECT, stakes, END_MS);
    expect(decide(check, stakes).decisionIndex).toBeGreaterThan(CONNECT);
    const [leg] = reader.handshake("agent://t/other", SUBJECT, stakes, END_MS);
    expect(decide(leg, stakes).decisionIndex).toBeGreaterThan(CONNECT);
  }
  const dear = openTable();
  dear.report(1000, 1, END_MS, 60, 50);
  const proven = decide(dear.reader.check(SUBJECT, 1, END_MS), 1);
  expect(proven.stakesClear).toBeGreaterThan(10 * within.stakesClear);
});

test("a record vouches for ten times the stakes that it has proven", () => {
  const { report, reader } = openTable();
  report(1000, 1, END_MS, 60, 5);
  const risk = (stakes: number) => reader.check(SUBJECT, stakes, END_MS).failureProbability;
  const proven = reader.explain(SUBJECT, END_MS).stakesProven;
  expect(proven).toBeGreaterThan(4.5);
  expect(proven).toBeLessThanOrEqual(5);
  expect(risk(9.9 * proven)).toBe(risk(5));
  expect(risk(60)).toBeGreaterThan(3 * risk(9.9 * proven));
  // Never worse than an agent without a record.
  const unknown = reader.check("agent://t/unknown", 60, END_MS).failureProbability;
  expect(risk(60)).toBeLessThanOrEqual(unknown);
});

test("praise weighs by the record of who gives it", () => {
  const { writer, reader, feature } = openTable();
  const say = (subject: string, reporter: string, day: number) =>
    writer.fold({
      subject,
      reporter,
      outcome: 1,
      stakes: 10,
      gradeIndex: 0,
      signatureIndex: 2,
      settledAtMs: START_MS + day * DAY_MS,
    });
  for (let i = 0; i < 20; i++) say("agent://t/good", `agent://t/buyer-${i}`, i);
  say("agent://t/praised", "agent://t/good", 30);
  say("agent://t/liked", "agent://t/nobody", 30);
  const praise = (subject: string) => {
    reader.check(subject, 0, START_MS + 31 * DAY_MS);
    return feature("praise_strength");
  };
  expect(praise("agent://t/praised")).toBeGreaterThan(0.3);
  expect(praise("agent://t/liked")).toBe(0);
});

test("no failure raises a score and no success lowers one, whatever came before", () => {
  fc.assert(
    fc.property(
      outcomeStream(5, 60),
      fc.constantFrom(0, 1, 1000),
      fc.constantFrom(0 as const, 1 as const),
      fc.nat(4),
      fc.constantFrom(0, VOICE_FIRST_PARTY),
      (stream, stakes, outcome, speaker, voice) => {
        // The base rate is everybody's: the claim is about the agent's own outcome.
        const { writer, reader } = openEngine({ base_variance: 0 });
        for (const each of stream) writer.fold(each);
        const nowMs = stream.at(-1)!.settledAtMs + DAY_MS;
        const subject = "agent://t/0";
        const read = () => {
          const check = reader.check(subject, stakes, nowMs).scoreInternal;
          const [leg] = reader.handshake("agent://t/viewer", subject, stakes, nowMs);
          return [check, leg.scoreInternal];
        };
        const before = read();
        writer.fold({
          subject,
          reporter: speaker === 0 ? "agent://t/fresh" : `agent://t/${speaker}`,
          outcome,
          stakes: 50,
          gradeIndex: 0,
          signatureIndex: 2,
          settledAtMs: nowMs,
          voice,
        });
        read().forEach((score, i) => {
          const gain = outcome === 1 ? score - before[i]! : before[i]! - score;
          expect(gain).toBeGreaterThan(-1e-6);
        });
      },
    ),
    { numRuns: 400 },
  );
});
