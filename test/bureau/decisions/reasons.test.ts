// SPEC §2.5 rule 2 at the bureau, over any evidence: a clear decision has no reasons, any other has
// one to four, each code with its sentence.
import fc from "fast-check";
import { expect, test } from "vitest";
import { openBureau } from "../../../src/bureau/open.ts";
import { listImprovements } from "../../../src/bureau/decisions/reasons.ts";
import { REASON_CODES } from "../../../src/contract/vocabulary.ts";
import { DAY_MS, openEngine, outcomeStream } from "../../engine/_engine.ts";
import { call } from "../_harness.ts";
import { closedLedger } from "../_harness.ts";
import { UuidV7Generator } from "../../../src/platform/uuid.ts";

const ids = Array.from({ length: 5 }, (_, i) => `agent://t/${i}`);

function bureauOver(engine: ReturnType<typeof openEngine>["reader"], nowMs: number) {
  return openBureau({
    engine,
    ledger: closedLedger,
    clock: () => nowMs,
    environment: {
      delay: () => Promise.resolve(),
      outcomeIds: new UuidV7Generator((bytes) => bytes.fill(7)),
      isReservedEnabled: false,
    },
  });
}

test("a clear decision has no reasons, any other at most four", async () => {
  const decisions = new Set<string>();
  const codes = new Set<string>();
  const mixed = fc.oneof(outcomeStream(4, 120), outcomeStream(5, 300));
  const successes = mixed.map((all) => all.map((each) => ({ ...each, outcome: 1 as const })));
  const stream = fc.oneof(mixed, successes);
  await fc.assert(
    fc.asyncProperty(stream, fc.constantFrom(0, 0.2, 1, 30, 4000), async (outcomes, stakes) => {
      const { writer, reader } = openEngine();
      for (const outcome of outcomes) writer.fold(outcome);
      const bureau = bureauOver(reader, outcomes.at(-1)!.settledAtMs + DAY_MS);
      for (const [i, subject] of ids.entries()) {
        const parties = { initiator: ids[(i + 1) % ids.length]!, counterparty: subject, stakes };
        const check = await bureau.check({ subject, stakes }, call);
        const { a_to_b: forward, b_to_a: backward } = await bureau.handshake(parties, call);
        for (const answer of [check, forward, backward]) {
          const isClear = answer.decision === "connect";
          expect(answer.reason_codes.length > 0).toBe(!isClear);
          expect(answer.reason_codes.length).toBeLessThanOrEqual(4);
          expect(answer.reasons).toHaveLength(answer.reason_codes.length);
          decisions.add(answer.decision);
          for (const code of answer.reason_codes) codes.add(code);
        }
      }
    }),
    { numRuns: 1000 },
  );
  expect([...decisions]).toEqual(expect.arrayContaining(["connect", "escalate"]));
  expect([...codes]).toEqual(expect.arrayContaining(["CONCENTRATED_REPORTERS", "RING_PATTERN"]));
});

test("every code says what would change it", () => {
  const improvements = listImprovements(REASON_CODES);
  expect(new Set(improvements).size).toBe(REASON_CODES.length);
  for (const sentence of improvements) expect(sentence).toMatch(/^[A-Z].*\.$/);
});
