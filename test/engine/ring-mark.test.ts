// Mark of a ring on an agent's row: its record is thin whatever its outcomes, it is named first, a logged
// leg judged again says the same, and nothing is denied for it.
import { expect, test } from "vitest";
import { RING_BIT } from "../../src/contract/standings.ts";
import { REASON_CODES } from "../../src/contract/vocabulary.ts";
import { DAY_MS, openEngine, START_MS } from "./_engine.ts";

const [SUBJECT, VIEWER] = ["agent://v/subject", "agent://v/viewer"];

function openRecord() {
  const engine = openEngine();
  for (let i = 0; i < 40; i++) {
    engine.writer.fold({
      subject: SUBJECT,
      reporter: `agent://v/r-${i}`,
      outcome: 1,
      stakes: 10,
      gradeIndex: 0,
      signatureIndex: 2,
      settledAtMs: START_MS + i * DAY_MS,
    });
  }
  const mark = (cluster: number) => {
    const agents = [{ agent: SUBJECT, flags: 0, credibility: 0, cluster }];
    engine.writer.applyStandings({ isInForce: false, stakesHigh: 0, agents });
  };
  return { ...engine, mark, nowMs: START_MS + 40 * DAY_MS };
}

test("a record in a ring is thin and its reason comes first, until the mark is taken back", () => {
  const { reader, mark, nowMs } = openRecord();
  const codes = () => {
    const score = reader.check(SUBJECT, 1, nowMs);
    return [...score.reasonIndexes.subarray(0, score.reasonCount)].map((i) => REASON_CODES[i]!);
  };
  expect(reader.check(SUBJECT, 1, nowMs).isThin).toBe(false);
  const before = reader.check(SUBJECT, 1, nowMs).failureProbability;
  mark(RING_BIT | 7);
  const score = { ...reader.check(SUBJECT, 1, nowMs) };
  expect(score).toMatchObject({ isThin: true, isDenied: false, isRefused: false, isJudged: false });
  expect(score.failureProbability).toBe(before);
  expect(codes()[0]).toBe("RING_PATTERN");
  expect(reader.explain(SUBJECT, nowMs)).toMatchObject({
    cluster: 7,
    isInRing: true,
    outcomeCount: 40,
  });
  // A cluster that is no ring is no mark.
  mark(7);
  expect(reader.check(SUBJECT, 1, nowMs).isThin).toBe(false);
  expect(codes()).not.toContain("RING_PATTERN");
  expect(reader.explain(SUBJECT, nowMs)).toMatchObject({ cluster: 7, isInRing: false });
});

test("a handshake asks for a second look too, and a logged leg judged again says the same", () => {
  const { reader, mark, nowMs } = openRecord();
  mark(RING_BIT | 7);
  const [leg] = reader.handshake(VIEWER, SUBJECT, 1, nowMs);
  const handshake = { ...leg };
  expect(handshake).toMatchObject({ isThin: true, isRecordThin: true, isRecordDenied: false });
  const judge = (isHandshake: boolean) => {
    const logged = { inputs: [...reader.viewLegInputs(0)], isKnown: true, isHandshake, stakes: 1 };
    return { ...reader.rejudge(logged, reader.activeConfigVersion)! };
  };
  expect(judge(true)).toMatchObject({ isThin: true, isRecordThin: true });
  const check = { ...reader.check(SUBJECT, 1, nowMs) };
  const again = judge(false);
  expect([again.isThin, again.failureProbability]).toEqual([true, check.failureProbability]);
});
