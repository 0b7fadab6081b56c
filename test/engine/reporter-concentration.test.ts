// Concentration of reporters: few reporters and rings are named where a decision lacks breadth, and
// other records are not.
import { expect, test } from "vitest";
import { FLAG_FRAUD, FLAG_KEY_REVOKED, LEG_FLAGS } from "../../assembly/layout.ts";
import { STANDING_BITS } from "../../src/contract/standings.ts";
import { DECISIONS, REASON_CODES } from "../../src/contract/vocabulary.ts";
import { decide } from "../policy/_connections.ts";
import { DAY_MS, openEngine, START_MS } from "./_engine.ts";

const SUBJECT = "agent://v/subject";
const HIGH = 1e5;
const PATTERNS = new Set(["CONCENTRATED_REPORTERS", "RING_PATTERN"]);

interface Record {
  reporters: number;
  each: number;
  outcome?: 0 | 1;
  subject?: string;
  /** Prefix of the reporters' names. */
  from?: string;
}

function openTable() {
  const engine = openEngine({ base_variance: 0 });
  let told = 0;
  const say = (subject: string, reporter: string, outcome: 0 | 1 = 1): void => {
    const common = { stakes: 25, gradeIndex: 3, signatureIndex: 2 };
    const settledAtMs = START_MS + told++ * 3_600_000;
    engine.writer.fold({ subject, reporter, outcome, ...common, settledAtMs });
  };
  const report = ({ reporters, each, outcome = 1, subject = SUBJECT, from = "r" }: Record) => {
    for (let k = 0; k < each; k++) {
      for (let i = 0; i < reporters; i++) say(subject, `agent://v/${from}${i}`, outcome);
    }
  };
  const ask = (stakes: number, subject = SUBJECT, days = 0) => {
    const now = START_MS + told * 3_600_000 + days * DAY_MS;
    const reading = engine.reader.check(subject, stakes, now);
    const codes = [...reading.reasonIndexes.subarray(0, reading.reasonCount)];
    return {
      decision: DECISIONS[decide(reading, stakes).decisionIndex]!,
      codes: codes.map((index) => REASON_CODES[index]!),
    };
  };
  /** Agents that all report on one another, `each` times. */
  const ring = (size: number, each: number): void => {
    for (let k = 0; k < each; k++) {
      for (let i = 0; i < size; i++) {
        for (let j = 0; j < size; j++) {
          if (i !== j) say(`agent://v/ring${i}`, `agent://v/ring${j}`);
        }
      }
    }
  };
  return { ...engine, say, report, ask, ring };
}

const named = (codes: readonly string[]): string[] => codes.filter((c) => PATTERNS.has(c));

test.each([
  [1, 2],
  [1, 20],
  [2, 2],
  [2, 20],
])("a record of %i reporters with %i words each is concentrated", (reporters, each) => {
  const { report, ask } = openTable();
  report({ reporters, each });
  const { decision, codes } = ask(HIGH);
  expect(decision).toBe("escalate");
  expect(named(codes)).toEqual(["CONCENTRATED_REPORTERS"]);
  expect(ask(HIGH, SUBJECT, 200).codes, "it stays so while it fades").toContain(
    "CONCENTRATED_REPORTERS",
  );
});

test("failures on the word of two reporters alone are said to be that", () => {
  const { report, ask } = openTable();
  report({ reporters: 2, each: 12, outcome: 0 });
  const { decision, codes } = ask(HIGH);
  expect(decision).toBe("escalate");
  expect(codes).toContain("CONCENTRATED_REPORTERS");
  expect(codes).toContain("FAILURE_HISTORY");
});

test("both signs of a reporter are one voice", () => {
  const { report, ask } = openTable();
  report({ reporters: 2, each: 6 });
  report({ reporters: 2, each: 3, outcome: 0 });
  expect(named(ask(HIGH).codes)).toEqual(["CONCENTRATED_REPORTERS"]);
});

test.each([
  ["one word is a thin file and nothing else", { reporters: 1, each: 1 }],
  ["as are two reporters with one word each", { reporters: 2, each: 1 }],
  ["a dozen who repeat themselves are many", { reporters: 12, each: 10 }],
  ["a dozen with one word each are many", { reporters: 12, each: 1 }],
])("%s", (_name, record) => {
  const { report, ask } = openTable();
  report(record);
  const { decision, codes } = ask(HIGH);
  expect(decision).not.toBe("connect");
  expect(named(codes)).toEqual([]);
  // The stakes asked about are far above those that the words were about: that is said too.
  if (record.reporters <= 2) expect(codes).toEqual(["THIN_FILE", "STAKE_ABOVE_PROVEN"]);
});

test("more reporters take the reason away, more words of the same do not", () => {
  const { report, ask } = openTable();
  report({ reporters: 1, each: 10 });
  report({ reporters: 1, each: 10 });
  expect(named(ask(HIGH).codes)).toEqual(["CONCENTRATED_REPORTERS"]);
  report({ reporters: 5, each: 10, from: "other" });
  expect(named(ask(HIGH).codes)).toEqual([]);
});

test.each([2, 3, 4, 5, 6])("each of %i agents that praise one another is in a ring", (size) => {
  const { ring, ask } = openTable();
  ring(size, 10);
  for (let i = 0; i < size; i++) {
    const { decision, codes } = ask(HIGH, `agent://v/ring${i}`);
    expect(decision).toBe("escalate");
    expect(named(codes)).toEqual(["RING_PATTERN"]);
  }
});

test("a market where both sides report, each many others, is no ring", () => {
  const { ring, ask } = openTable();
  ring(12, 6);
  expect(named(ask(HIGH, "agent://v/ring3").codes)).toEqual([]);
});

test("two partners who reported once each way are no ring", () => {
  const { ring, ask } = openTable();
  ring(3, 1);
  const { codes } = ask(HIGH, "agent://v/ring0");
  expect(codes).toEqual(["THIN_FILE", "STAKE_ABOVE_PROVEN"]);
});

test("praise becomes a ring's when it is returned, whichever came first", () => {
  const { report, say, ask } = openTable();
  report({ reporters: 2, each: 10 });
  expect(named(ask(HIGH).codes)).toEqual(["CONCENTRATED_REPORTERS"]);
  for (const reporter of ["agent://v/r0", "agent://v/r1"]) say(reporter, SUBJECT);
  expect(named(ask(HIGH).codes)).toEqual(["RING_PATTERN"]);
});

test("blame makes no ring: neither given nor returned", () => {
  const returned = openTable();
  returned.report({ reporters: 2, each: 10 });
  for (const i of [0, 1]) returned.say(`agent://v/r${i}`, SUBJECT, 0);
  expect(named(returned.ask(HIGH).codes)).toEqual(["CONCENTRATED_REPORTERS"]);
  const given = openTable();
  for (const i of [0, 1]) given.say(`agent://v/r${i}`, SUBJECT);
  given.report({ reporters: 2, each: 10, outcome: 0 });
  expect(named(given.ask(HIGH).codes)).toEqual(["CONCENTRATED_REPORTERS"]);
});

test("the pattern leaves the flags alone, and they the pattern", () => {
  const { writer, reader, report, ask } = openTable();
  const bits = () => reader.explain(SUBJECT, START_MS).flags;
  const pattern = () => Math.floor(reader.legWords[LEG_FLAGS]! / 64);
  report({ reporters: 1, each: 5 });
  expect(bits()).toBe(0);
  const before = pattern();
  expect(before).toBeGreaterThan(0);
  writer.markKeyRevoked(SUBJECT, true);
  const all = Object.values(STANDING_BITS).reduce((sum: number, bit) => sum + bit, 0);
  const standing = { agent: SUBJECT, flags: all, credibility: 1, cluster: 0 };
  writer.applyStandings({ isInForce: false, stakesHigh: 0, agents: [standing] });
  expect(bits()).toBe(all + FLAG_KEY_REVOKED);
  expect(pattern()).toBe(before);
  report({ reporters: 1, each: 5 });
  expect(bits()).toBe(all + FLAG_KEY_REVOKED);
  expect(bits() & FLAG_FRAUD).toBe(0);
  writer.markKeyRevoked(SUBJECT, false);
  expect(ask(HIGH).decision).toBe("escalate");
});
