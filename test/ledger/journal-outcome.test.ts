// An outcome survives the trip through journal bytes, whatever its members hold.
import fc from "fast-check";
import { expect, test } from "vitest";
import { SIGNATURES } from "../../src/contract/vocabulary.ts";
import {
  decodeFold,
  decodeOutcome,
  type FoldedOutcome,
  outcomeRecordedAtMs,
  outcomeReplayParts,
} from "../../src/ledger/journal-outcome.ts";
import { sealFrame, intactFrameBytes } from "../../src/ledger/journal-format.ts";
import type { OutcomeRecord } from "../../src/ledger/ledger.ts";
import { OutcomeBatch } from "../../src/ledger/outcome-batch.ts";
import { outcomeIdOf, recordOf, runOf } from "./_fixtures.ts";

// Lone surrogates never get past parsing; UTF-8 could not carry them.
const text = (maxLength: number) =>
  fc.string({ unit: "binary", maxLength }).map((value) => value.toWellFormed());
const time = fc.integer({ min: 0, max: 4_102_444_800_000 });

const records: fc.Arbitrary<OutcomeRecord> = fc.record({
  outcomeId: fc.integer({ min: 0, max: 2 ** 40 }).map(outcomeIdOf),
  idempotencyKey: text(60),
  subject: text(300),
  reporter: text(300),
  outcome: fc.constantFrom<0 | 1>(0, 1),
  stakes: fc.double({ min: 0, max: 1e12, noNaN: true }),
  gradeIndex: fc.integer({ min: 0, max: 4 }),
  signature: fc.constantFrom(...SIGNATURES),
  settledAtMs: time,
  recordedAtMs: time,
  isAgentFault: fc.boolean(),
  tenant: text(40),
  action: text(256),
  requestId: text(40),
  source: text(40),
  body: fc.uint8Array({ maxLength: 4096 }),
});

test("encode and decode are inverse", () => {
  fc.assert(
    fc.property(records, (record) => {
      const { bytes } = runOf([record]);
      const decoded = decodeOutcome(bytes, 0);
      expect({ ...decoded, body: [...decoded.body] }).toEqual({
        ...record,
        body: [...record.body],
      });
    }),
  );
});

test("the lazy decode sees what the whole decode sees, anywhere in a run", () => {
  fc.assert(
    fc.property(fc.array(records, { minLength: 1, maxLength: 5 }), (several) => {
      const { bytes } = runOf(several);
      let at = 0;
      const fold = {} as FoldedOutcome;
      for (const [index, record] of several.entries()) {
        sealFrame(bytes, at, index + 1, 1);
        expect(decodeFold(bytes, at, fold)).toBe(record.isAgentFault);
        if (record.isAgentFault) {
          expect(fold).toEqual({
            subject: record.subject,
            reporter: record.reporter,
            outcome: record.outcome,
            stakes: record.stakes,
            gradeIndex: record.gradeIndex,
            signatureIndex: SIGNATURES.indexOf(record.signature),
            settledAtMs: record.settledAtMs,
          });
        }
        expect(outcomeRecordedAtMs(bytes, at)).toBe(record.recordedAtMs);
        at += intactFrameBytes(bytes, at, bytes.byteLength);
      }
      expect(at).toBe(bytes.byteLength);
    }),
  );
});

test("replay identity: key, tenant and body as stored; none without a key", () => {
  const { bytes } = runOf([recordOf(1, { idempotencyKey: "k", tenant: "t" })]);
  const parts = outcomeReplayParts(bytes, 0);
  expect(parts?.key.toString()).toBe("k");
  expect(parts?.tenant.toString()).toBe("t");
  expect(parts?.content.toString()).toBe('{"n":1}');
  expect(outcomeReplayParts(runOf([recordOf(1)]).bytes, 0)).toBeUndefined();
});

test("an import's content is its members, without what receipt and rebase change", () => {
  const content = (changes: Partial<OutcomeRecord>) =>
    outcomeReplayParts(
      runOf([recordOf(1, { idempotencyKey: "k", body: new Uint8Array(), ...changes })]).bytes,
      0,
    )?.content.toString("hex");
  const first = content({});
  expect(content({ outcomeId: outcomeIdOf(9), recordedAtMs: 5, settledAtMs: 7 })).toBe(first);
  expect(content({ stakes: 2 })).not.toBe(first);
  expect(content({ outcome: 0 })).not.toBe(first);
  expect(content({ subject: "agent://a/b" })).not.toBe(first);
});

test("an id that is not a UUID is a programmer's error", () => {
  expect(() => new OutcomeBatch().add(recordOf(1, { outcomeId: "nope" }))).toThrow("UUID");
});
