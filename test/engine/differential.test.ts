// The WASM engine against the slow reference: same stream, same answers.
import fc from "fast-check";
import { expect, test } from "vitest";
import { LEG_ETA, LEG_SD } from "../../assembly/layout.ts";
import { loadDefaultConfig } from "../../src/engine/config.ts";
import { STANDING_BITS } from "../../src/contract/standings.ts";
import type { AgentScore, EngineReader, StandingsPart } from "../../src/engine/reading.ts";
import { computeStakesRisk } from "../../src/policy/stakes-decision.ts";
import { ReferenceBureau } from "../reference/score.ts";
import type { ReferenceLeg } from "../reference/score.ts";
import { assessmentStream, DAY_MS, openEngine, outcomeStream, START_MS } from "./_engine.ts";

/** Software and hardware exp differ in the last bits; f32 counters may round the other way. */
const TOLERANCE = 1e-5;

/** `record` is the check of the same subject: its record, as verify reads it. */
function expectSame(
  reading: AgentScore,
  leg: ReferenceLeg,
  record: ReferenceLeg,
  label: string,
): void {
  const close = (actual: number, expected: number, name: string) =>
    expect(
      Math.abs(actual - expected),
      `${label} ${name}: ${actual} against ${expected}`,
    ).toBeLessThan(TOLERANCE * Math.max(1, Math.abs(expected)));
  close(reading.failureProbability, leg.probability, "probability");
  close(reading.failureOptimistic, leg.optimistic, "optimistic");
  close(reading.failurePessimistic, leg.pessimistic, "pessimistic");
  close(reading.scoreInternal, leg.internal, "internal");
  close(reading.scoreEffective, leg.effective, "effective");
  close(reading.recordProbability, record.probability, "probability of the record");
  close(reading.recordOptimistic, record.optimistic, "optimistic of the record");
  expect([reading.tierIndex, reading.regimeIndex]).toEqual([leg.tier, leg.regime]);
  const standing = [reading.isRefused, reading.isDenied, reading.isThin, reading.isJudged];
  expect(standing, label).toEqual([leg.isRefused, leg.isDenied, leg.isThin, leg.isJudged]);
  const held = [reading.isRecordRefused, reading.isRecordDenied, reading.isRecordThin];
  expect(held, label).toEqual([record.isRefused, record.isDenied, record.isThin]);
}

/** The risk at all stakes follows from one reading, whichever stakes that one was asked at. */
function expectSameRisks(reading: AgentScore, riskAt: (stakes: number) => number): void {
  for (const stakes of [0, 0.5, 1, 1.5, 9, 40, 700, 2e4, 1e7]) {
    const risk = riskAt(stakes);
    expect(
      Math.abs(computeStakesRisk(reading, stakes) - risk),
      `risk at ${stakes}: ${computeStakesRisk(reading, stakes)} against ${risk}`,
    ).toBeLessThan(TOLERANCE);
  }
}

/** What the row keeps beside the tracks. */
function expectSameRecord(reader: EngineReader, reference: ReferenceBureau, id: string): void {
  const details = reader.explain(id, START_MS);
  const agent = reference.agents.get(id);
  expect(details.cappedFailures, `${id} capped`).toBe(agent?.incidents.capped ?? 0);
  const counted = (agent?.outcomes ?? 0) + (agent?.incidents.capped ?? 0);
  expect(details.outcomeCount, `${id} outcomes`).toBe(counted);
  const proven = agent?.proven ?? 0;
  const seen = reader.explain(id, agent?.subjectAt ?? 0).stakesProven;
  expect(Math.abs(seen - proven), `${id} proven`).toBeLessThan(TOLERANCE * Math.max(1, proven));
  // A share of a way in whole seconds: the last bit of a weight may round it the other way.
  expect(Math.abs(details.heardAtMs - (agent?.heardAt ?? 0)), `${id} heard`).toBeLessThan(5001);
}

const shipped = loadDefaultConfig().handshake;
const NOVEL = {
  ...shipped,
  weights: { ...shipped.weights, stakes_novelty: 0.3, beta: 0.2, age: -0.1 },
};

/** Standings as a batch may write them: any bits, any rho, a few clusters. */
const standingsArbitrary: fc.Arbitrary<StandingsPart> = fc.record({
  isInForce: fc.constantFrom(true, true, true, false),
  stakesHigh: fc.constantFrom(0, 3, 250),
  agents: fc.array(
    fc.record({
      agent: fc.nat(9).map((i) => `agent://t/${i}`),
      flags: fc
        .subarray(Object.values(STANDING_BITS))
        .map((bits) => bits.reduce((sum: number, bit) => sum + bit, 0)),
      credibility: fc.nat(1000).map((thousandths) => thousandths / 1000),
      cluster: fc.nat(2),
    }),
    { maxLength: 12 },
  ),
});

const ids = Array.from({ length: 10 }, (_, i) => `agent://t/${i}`);

test.each([
  ["the shipped config", {}],
  ["a base rate moved by every outcome", { base_period_days: 0 }],
  ["a fixed base rate", { base_variance: 0 }],
  ["stakes that matter to the probability", { check: NOVEL, handshake: NOVEL }],
])("check and handshake equal the reference under %s", (_name, overrides) => {
  fc.assert(
    fc.property(outcomeStream(), fc.nat(60), fc.constantFrom(0, 1, 30, 5000), (stream, wait, v) => {
      const { writer, reader, config } = openEngine(overrides);
      const reference = new ReferenceBureau(config);
      for (const outcome of stream) {
        writer.fold(outcome);
        reference.fold(outcome);
      }
      const now = stream.at(-1)!.settledAtMs + wait * DAY_MS + 12_345;
      expect(Math.abs(reader.baseRate - reference.g)).toBeLessThan(1e-9);
      for (const id of ids) expectSameRecord(reader, reference, id);
      ids.forEach((id, i) => {
        const eta = reference.score(id, null, v, now);
        expectSame(reader.check(id, v, now), eta, eta, `check ${id}`);
        expectSameRisks(
          reader.check(id, v, now),
          (stakes) => reference.score(id, null, stakes, now).stakesRisk,
        );
        expect(reader.legWords[LEG_ETA]! - eta.eta).toBeLessThan(TOLERANCE);
        expect(reader.legWords[LEG_SD]! - eta.sd).toBeLessThan(TOLERANCE);
        const other = ids[(i + 3) % ids.length]!;
        const [aToB, bToA] = reader.handshake(id, other, v, now);
        const record = reference.score(other, null, v, now);
        expectSame(aToB, reference.score(other, id, v, now), record, `leg ${id} sees ${other}`);
        expectSame(bToA, reference.score(id, other, v, now), eta, `leg ${other} sees ${id}`);
        expectSameRisks(aToB, (stakes) => reference.score(other, id, stakes, now).stakesRisk);
      });
    }),
    { numRuns: 150 },
  );
});

test("failures of regular reporters count as in the reference, isolated or among many", () => {
  const report = fc.record({
    reporter: fc.nat(5),
    isFailure: fc.constantFrom(true, true, true, false),
    gapMs: fc.integer({ min: 1000, max: 1_800_000 }),
  });
  // Regular at first; then most of them report failures.
  const streams = fc.tuple(
    fc.integer({ min: 40, max: 160 }),
    fc.array(report, { minLength: 10, maxLength: 60 }),
  );
  let unusual = 0;
  fc.assert(
    fc.property(streams, ([regular, later]) => {
      const { writer, reader, config } = openEngine();
      const reference = new ReferenceBureau(config);
      let settledAtMs = START_MS;
      const add = (reporter: number, outcome: 0 | 1, gapMs: number) => {
        settledAtMs += gapMs;
        const told = { stakes: 250, gradeIndex: 3, signatureIndex: 2, voice: 0, incident: 0 };
        const [subject, by] = ["agent://t/9", `agent://t/${reporter}`];
        const folded = { ...told, subject, reporter: by, outcome, settledAtMs };
        writer.fold(folded);
        reference.fold(folded);
      };
      for (let i = 0; i < regular; i++) add(i % 6, 1, 900_000);
      for (const { reporter, isFailure, gapMs } of later) add(reporter, isFailure ? 0 : 1, gapMs);
      expectSameRecord(reader, reference, "agent://t/9");
      const leg = reference.score("agent://t/9", null, 30, settledAtMs + 1000);
      expectSame(reader.check("agent://t/9", 30, settledAtMs + 1000), leg, leg, "check");
      const { failing } = reference.agents.get("agent://t/9")!.streak;
      if (failing > config.isolated_share!) unusual++;
    }),
    { numRuns: 200 },
  );
  expect(unusual).toBeGreaterThan(50);
});

test("what reporters count follows their standing as in the reference", () => {
  const batches = fc.array(fc.tuple(fc.nat(119), standingsArbitrary), { maxLength: 4 });
  fc.assert(
    fc.property(outcomeStream(), batches, (stream, standings) => {
      const { writer, reader, config } = openEngine();
      const reference = new ReferenceBureau(config);
      stream.forEach((outcome, i) => {
        for (const [, batch] of standings.filter(([before]) => before % stream.length === i)) {
          writer.applyStandings(batch);
          reference.applyStandings(batch);
        }
        writer.fold(outcome);
        reference.fold(outcome);
      });
      expect(reader.areStandingsInForce).toBe(reference.isInForce);
      for (const id of ids) expectSameRecord(reader, reference, id);
      const now = stream.at(-1)!.settledAtMs + 12_345;
      for (const id of ids) {
        const leg = reference.score(id, null, 30, now);
        expectSame(reader.check(id, 30, now), leg, leg, `check ${id}`);
      }
    }),
    { numRuns: 300 },
  );
});

test("failed texts among outcomes count as in the reference, with or without a record", () => {
  let known = 0;
  fc.assert(
    fc.property(outcomeStream(6, 60), assessmentStream(10), fc.nat(400), (stream, texts, wait) => {
      const { writer, reader, config } = openEngine();
      const reference = new ReferenceBureau(config);
      stream.forEach((outcome, i) => {
        for (const [, text] of [...texts.entries()].filter(([k]) => k % stream.length === i)) {
          writer.foldAssessment(text);
          reference.texts.add(text);
        }
        writer.fold(outcome);
        reference.fold(outcome);
      });
      const last = Math.max(...texts.map((text) => text.assessedAtMs), stream.at(-1)!.settledAtMs);
      const now = last + wait * DAY_MS + 12_345;
      ids.forEach((id, i) => {
        const leg = reference.score(id, null, 30, now);
        expectSame(reader.check(id, 30, now), leg, leg, `check ${id}`);
        if (leg.features.has("hallucination")) known++;
        const other = ids[(i + 3) % ids.length]!;
        const [aToB] = reader.handshake(id, other, 30, now);
        const record = reference.score(other, null, 30, now);
        expectSame(aToB, reference.score(other, id, 30, now), record, `leg ${id} sees ${other}`);
      });
    }),
    { numRuns: 200 },
  );
  expect(known).toBeGreaterThan(500);
});
