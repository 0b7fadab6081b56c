// Incidents: many reports of one outage are one failing hour, a busy agent keeps its ratio, real failures
// are not shielded, and what is capped moves nothing. And silence: when an agent was last heard of.
import fc from "fast-check";
import { expect, test } from "vitest";
import { hashIncident } from "../../src/journal/incidents.ts";
import { DEFAULT_POLICY } from "../../src/contract/policy.ts";
import { VOICE_FIRST_PARTY, VOICE_REPORTER, VOICE_STRANGER } from "../../src/contract/voices.ts";
import type { FoldOutcome } from "../../src/engine/reading.ts";
import { createSeededRandom } from "../../src/kaizen/model/bootstrap.ts";
import { DAY_MS, openEngine, outcomeStream, START_MS } from "./_engine.ts";

const HOUR_MS = DAY_MS / 24;
const SUBJECT = "agent://t/subject";
const COUNTERPARTY = 3;
const BUREAU = 1;
const { L2, L3 } = DEFAULT_POLICY.levels;
/** Share that a config leaves of a signed outcome of the counterparty. */
const COUNTERPARTY_WEIGHT = 0.6;

const outcomeOf = (report: Partial<FoldOutcome>): FoldOutcome => ({
  subject: SUBJECT,
  reporter: "agent://t/reporter",
  outcome: 1,
  stakes: 250,
  gradeIndex: COUNTERPARTY,
  signatureIndex: BUREAU,
  settledAtMs: START_MS,
  voice: VOICE_FIRST_PARTY,
  ...report,
});

/** One that a customer has signed, so many hours after the start. */
const signedBy = (customer: string, outcome: 0 | 1, hours: number): FoldOutcome =>
  outcomeOf({
    reporter: `agent://customer/${customer}`,
    outcome,
    voice: VOICE_REPORTER,
    signatureIndex: 2,
    settledAtMs: START_MS + hours * HOUR_MS,
  });

/** An agent with a record like those of the sample: many customers, some of them twice. */
function openRecord(count: number, failed: readonly number[], gapMs = 6 * HOUR_MS) {
  const engine = openEngine();
  for (let i = 0; i < count; i++) {
    const reporter = `agent://customer/${(i * 7) % 133}`;
    const outcome = failed.includes(i) ? 0 : 1;
    engine.writer.fold(outcomeOf({ reporter, outcome, settledAtMs: START_MS + i * gapMs }));
  }
  const endMs = START_MS + count * gapMs;
  const risk = (nowMs: number) => engine.reader.check(SUBJECT, 0, nowMs).failureProbability;
  return { ...engine, endMs, risk };
}

test("ten customers report one outage: a challenge, and after 40 successes L2 is open again", () => {
  const { writer, reader, endMs, risk } = openRecord(260, [9, 87, 113]);
  const shares = Array.from({ length: 10 }, (_, i) =>
    writer.fold(
      outcomeOf({ reporter: `agent://new/${i}`, outcome: 0, settledAtMs: endMs + i * 180_000 }),
    ),
  );
  expect(shares.map((share) => Math.round(share * 1e6) / 1e6)).toEqual([
    ...Array.from({ length: 5 }, () => 1),
    ...Array.from({ length: 5 }, () => 0),
  ]);
  const after = reader.explain(SUBJECT, endMs + HOUR_MS);
  expect([after.isRefused, after.isDenied]).toEqual([false, false]);
  expect(after.failureProbability).toBeLessThan(0.8);
  expect([after.cappedFailures, after.outcomeCount]).toEqual([5, 270]);
  for (let i = 0; i < 40; i++) {
    const settledAtMs = endMs + HOUR_MS + i * 1_800_000;
    writer.fold(outcomeOf({ reporter: `agent://new/${i % 10}`, settledAtMs }));
  }
  expect(risk(endMs + DAY_MS)).toBeLessThan(L2.allow_up_to);
});

test.each([
  [20, 0.01],
  [100, 0.01],
  [300, 0.01],
  [1000, 0.01],
])(
  "300 outcomes an hour by %i reporters, %d of them failed at random, keep L2 open at every moment",
  (reporters, failing) => {
    const { writer, reader } = openEngine();
    const random = createSeededRandom(7);
    for (let i = 0; i < 300 * 48; i++) {
      const settledAtMs = START_MS + i * 12_000;
      writer.fold(
        outcomeOf({
          reporter: `agent://customer/${Math.floor(random.uniform() * reporters)}`,
          outcome: random.uniform() < failing ? 0 : 1,
          voice: VOICE_REPORTER,
          signatureIndex: 2,
          settledAtMs,
        }),
      );
      if (i < 3000 || i % 7 !== 0) continue;
      const { failureProbability } = reader.check(SUBJECT, 0, settledAtMs + 1000);
      expect(failureProbability).toBeLessThanOrEqual(L2.allow_up_to);
    }
    // And once nearly all of them fail, that is seen within twenty minutes.
    let seen = 0;
    const startMs = START_MS + 48 * HOUR_MS;
    while (reader.check(SUBJECT, 0, startMs + seen * 12_000).failureProbability < 0.5) {
      seen += 1;
      expect(seen).toBeLessThan(100);
      writer.fold(
        outcomeOf({
          reporter: `agent://customer/${Math.floor(random.uniform() * reporters)}`,
          outcome: random.uniform() < 0.9 ? 0 : 1,
          voice: VOICE_REPORTER,
          signatureIndex: 2,
          settledAtMs: startMs + seen * 12_000,
        }),
      );
    }
  },
);

test("a failure counts in full after another, after days, and where its reporter had no success", () => {
  const after = (outcomes: readonly [reporter: string, outcome: 0 | 1, hours: number][]) => {
    const { writer, reader } = openEngine();
    const add = (...report: Parameters<typeof signedBy>) => writer.fold(signedBy(...report));
    for (let i = 0; i < 40; i++) add("regular", 1, i);
    for (const each of outcomes) add(...each);
    return reader.explain(SUBJECT, START_MS + 200 * HOUR_MS).failures90;
  };
  const alone = after([["regular", 0, 40]]);
  expect(after([["other", 0, 40]])).toBeGreaterThan(10 * alone);
  expect(after([["regular", 0, 39 + 48]])).toBeGreaterThan(10 * alone);
  const second = after([
    ["regular", 0, 40],
    ["regular", 0, 42],
  ]);
  expect(second - alone).toBeGreaterThan(10 * alone);
});

test.each([20, 100])(
  "%i regular reporters who are each failed once after a success close L2 within twenty failures",
  (reporters) => {
    const { writer, reader } = openEngine();
    let settledAtMs = START_MS;
    const add = (index: number, outcome: 0 | 1, gapMs: number) => {
      settledAtMs += gapMs;
      writer.fold({ ...signedBy(String(index), outcome, 0), settledAtMs });
    };
    for (let i = 0; i < 11 * reporters; i++) add(i % reporters, 1, HOUR_MS / 4);
    const risk = () => reader.check(SUBJECT, 0, settledAtMs + 1000).failureProbability;
    expect(risk()).toBeLessThan(0.01);
    let failed = 0;
    while (risk() <= L2.allow_up_to) {
      expect(failed).toBeLessThan(20);
      add(failed, 1, 20_000);
      add(failed, 0, 20_000);
      failed += 1;
    }
  },
);

test.each([
  [20, 6, true],
  [100, 6, true],
  // A known limit (docs/design/scoring.md 6): the share of failures stays below what counts as many.
  [20, 9, false],
  [100, 9, false],
])(
  "%i regular reporters, one call of %i failed right after a success of its reporter: L2 closes, %s",
  (reporters, calls, isSeen) => {
    const { writer, reader } = openEngine();
    let settledAtMs = START_MS;
    const add = (index: number, outcome: 0 | 1) => {
      settledAtMs += 12_000;
      writer.fold({ ...signedBy(String(index % reporters), outcome, 0), settledAtMs });
    };
    for (let i = 0; i < 11 * reporters; i++) add(i, 1);
    let worst = 0;
    for (let i = 1; i <= 4000; i++) {
      add(i, 1);
      if (i % (calls - 1) !== 0) continue;
      add(i, 0);
      const { failureProbability } = reader.check(SUBJECT, 0, settledAtMs + 1000);
      worst = Math.max(worst, failureProbability);
    }
    expect(worst > L2.allow_up_to).toBe(isSeen);
  },
);

test("one reporter's failures in a row do not make others' isolated ones count in full", () => {
  const failures = (spam: number) => {
    const { writer, reader } = openEngine();
    const add = (...report: Parameters<typeof signedBy>) => writer.fold(signedBy(...report));
    for (let i = 0; i < 40; i++) add("regular", 1, i);
    for (let i = 0; i < spam; i++) add("harsh", 0, 40 + i * 0.05);
    const before = reader.explain(SUBJECT, START_MS + 60 * HOUR_MS).failures90;
    add("regular", 1, 49.5);
    add("regular", 0, 50);
    return reader.explain(SUBJECT, START_MS + 60 * HOUR_MS).failures90 - before;
  };
  expect(failures(40)).toBeCloseTo(failures(0), 3);
});

test.each([
  ["one gateway", 1],
  ["two thousand customers", 2000],
])(
  "300 outcomes an hour, one of a hundred failed, keep L2 open when reported by %s",
  (_name, reporters) => {
    const { writer, reader } = openEngine();
    for (let i = 0; i < 300 * 48; i++) {
      const reporter = `agent://customer/${(i * 7919) % reporters}`;
      const outcome = i % 100 === 37 ? 0 : 1;
      writer.fold(outcomeOf({ reporter, outcome, settledAtMs: START_MS + i * 12_000 }));
      if (i % 300 !== 299 || i < 3000) continue;
      const { failureProbability } = reader.check(SUBJECT, 0, START_MS + i * 12_000);
      expect(failureProbability).toBeLessThanOrEqual(L2.allow_up_to);
    }
    expect(reader.explain(SUBJECT, START_MS + 2 * DAY_MS).cappedFailures).toBe(0);
  },
);

test("a busy agent that fails every other call is not taken for one with an incident each hour", () => {
  const { writer, reader } = openEngine();
  for (let i = 0; i < 300 * 72; i++) {
    const isBad = i >= 300 * 60;
    const reporter = `agent://customer/${(i * 7919) % 2000}`;
    const outcome = i % (isBad ? 2 : 100) === 1 ? 0 : 1;
    const settledAtMs = START_MS + i * 12_000;
    writer.fold(
      outcomeOf({ reporter, outcome, settledAtMs, voice: VOICE_REPORTER, signatureIndex: 2 }),
    );
  }
  const now = START_MS + 3 * DAY_MS;
  expect(reader.check(SUBJECT, 0, now).failureProbability).toBeGreaterThan(0.5);
});

test("twenty real failures deny, whatever three strangers said in each hour before them", () => {
  const { writer, reader, endMs } = openRecord(200, [20, 90]);
  for (let i = 0; i < 20; i++) {
    const hour = endMs + Math.floor(i / 4) * HOUR_MS;
    if (i % 4 === 0) {
      for (let k = 0; k < 3; k++) {
        const voice = VOICE_STRANGER + 17 * i + k;
        writer.fold(outcomeOf({ outcome: 0, signatureIndex: 0, voice, settledAtMs: hour + k }));
      }
    }
    const settledAtMs = hour + 600_000 * (1 + (i % 4));
    const signed = { signatureIndex: 2, voice: VOICE_REPORTER };
    const reporter = `agent://known/${i}`;
    const share = writer.fold(outcomeOf({ ...signed, reporter, outcome: 0, settledAtMs }));
    expect(share).toBe(1);
  }
  expect(reader.check(SUBJECT, 0, endMs + 6 * HOUR_MS).isDenied).toBe(true);
});

test.each([
  [1, [], 0],
  [1, [20, 90], 10],
  [20, [90], 0],
  [250, [20, 90], 59],
  [250, [90, 150], 5],
])(
  "two failures at %i within an hour by one first-party reporter close nothing, failed before %j",
  (stakes, failed, minutes) => {
    const { writer, endMs, risk } = openRecord(211, failed);
    // Whatever the minute of the hour they begin in.
    const atMs = endMs + 47 * 60_000;
    for (const settledAtMs of [atMs, atMs + minutes * 60_000]) {
      writer.fold(outcomeOf({ reporter: "agent://ops/gateway", outcome: 0, stakes, settledAtMs }));
      expect(risk(settledAtMs)).toBeLessThanOrEqual(L2.allow_up_to);
    }
  },
);

test("fifteen failures over three days from five reporters close L2 and L3", () => {
  const { writer, endMs, risk } = openRecord(211, [20, 90]);
  for (let i = 0; i < 15; i++) {
    const reporter = `agent://ops/gateway-${i % 5}`;
    const settledAtMs = endMs + i * 0.2 * DAY_MS;
    writer.fold(outcomeOf({ reporter, outcome: 0, stakes: 1, settledAtMs }));
  }
  expect(risk(endMs + 3 * DAY_MS)).toBeGreaterThan(Math.max(L2.allow_up_to, L3.allow_up_to));
});

test("one gateway that sees every call fail for an hour closes L2", () => {
  const { writer, endMs, risk } = openRecord(211, [20, 90]);
  for (let i = 0; i < 60; i++) {
    const settledAtMs = endMs + i * 60_000;
    writer.fold(outcomeOf({ reporter: "agent://ops/gateway", outcome: 0, settledAtMs }));
  }
  expect(risk(endMs + HOUR_MS)).toBeGreaterThan(L2.allow_up_to);
});

test("failures under one name count as one hour's over days, and no further for another tenant", () => {
  const failing = (incident: number) => {
    const { writer, reader, endMs } = openRecord(200, []);
    let counted = 0;
    for (let i = 0; i < 24; i++) {
      const settledAtMs = endMs + i * 3 * HOUR_MS;
      const reporter = `agent://new/${i}`;
      const share = writer.fold(outcomeOf({ reporter, outcome: 0, settledAtMs, incident }));
      counted += share * COUNTERPARTY_WEIGHT;
    }
    return { counted, capped: reader.explain(SUBJECT, endMs + 4 * DAY_MS).cappedFailures };
  };
  expect(failing(0).capped).toBe(0);
  const named = failing(hashIncident("acme", "outage-7"));
  expect(named.counted).toBeCloseTo(3, 5);
  expect(named.capped).toBe(19);
  expect(hashIncident("globex", "outage-7")).not.toBe(hashIncident("acme", "outage-7"));
});

test("what comes more than a day late counts in the hour in which it arrives", () => {
  const { writer, reader, endMs } = openRecord(200, []);
  for (let i = 0; i < 12; i++) {
    writer.fold(
      outcomeOf({
        reporter: `agent://new/${i}`,
        outcome: 0,
        settledAtMs: endMs + i * 2 * HOUR_MS,
        incidentAtMs: endMs + 4 * DAY_MS,
      }),
    );
  }
  expect(reader.explain(SUBJECT, endMs + 4 * DAY_MS).cappedFailures).toBe(7);
});

test("hours that alternate are one hour, not a new one each time", () => {
  const { writer, reader, endMs } = openRecord(200, []);
  for (let i = 0; i < 12; i++) {
    const settledAtMs = endMs + (i % 2 === 0 ? 0 : HOUR_MS);
    writer.fold(outcomeOf({ reporter: `agent://new/${i}`, outcome: 0, settledAtMs }));
  }
  // One in the first hour, five in the second.
  expect(reader.explain(SUBJECT, endMs + DAY_MS).cappedFailures).toBe(6);
});

test("a failure beyond the cap changes neither its subject, its reporter nor what either may add", () => {
  fc.assert(
    fc.property(outcomeStream(), (stream) => {
      const { writer, reader } = openEngine();
      for (const outcome of stream) writer.fold(outcome);
      const now = stream.at(-1)!.settledAtMs;
      const subject = "agent://t/0";
      const reporter = "agent://t/1";
      const atMs = now + HOUR_MS;
      for (let i = 0; i < 12; i++) {
        const filling = outcomeOf({ subject, reporter: `agent://new/${i}`, settledAtMs: atMs });
        writer.fold({ ...filling, outcome: 0, stakes: 1e6 });
      }
      const view = (id: string) => ({ ...reader.explain(id, atMs), reasonIndexes: null });
      writer.fold(outcomeOf({ subject: "agent://t/9", reporter, settledAtMs: atMs }));
      const before = [view(subject), view(reporter)];
      const last = outcomeOf({ subject, reporter, outcome: 0, settledAtMs: atMs });
      expect(writer.fold(last)).toBe(0);
      const cappedFailures = before[0]!.cappedFailures + 1;
      const outcomeCount = before[0]!.outcomeCount + 1;
      expect([view(subject), view(reporter)]).toEqual([
        { ...before[0]!, cappedFailures, outcomeCount },
        before[1],
      ]);
    }),
    { numRuns: 50 },
  );
});

test("an agent is heard of by weight: a full outcome is news, a stranger's word hardly", () => {
  const { writer, reader } = openEngine();
  const heardDays = () => (reader.explain(SUBJECT, START_MS).heardAtMs - START_MS) / DAY_MS;
  expect(reader.explain(SUBJECT, START_MS).heardAtMs).toBe(0);
  writer.fold(outcomeOf({}));
  expect(heardDays()).toBe(0);
  writer.fold(outcomeOf({ reporter: "agent://t/other", settledAtMs: START_MS + 100 * DAY_MS }));
  expect(heardDays()).toBe(100);
  // The stranger's cap leaves its words .01 to .04 of a weight, .25 is news in full.
  const voice = VOICE_STRANGER + 5;
  const settledAtMs = START_MS + 300 * DAY_MS;
  writer.fold(outcomeOf({ voice, signatureIndex: 0, settledAtMs }));
  expect(heardDays()).toBeGreaterThan(100);
  expect(heardDays()).toBeLessThanOrEqual(100 + 200 * (0.04 / 0.25));
  const before = heardDays();
  writer.fold(outcomeOf({ reporter: "agent://t/late", settledAtMs: START_MS + 50 * DAY_MS }));
  expect(heardDays()).toBe(before);
});
