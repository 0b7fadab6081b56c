// An outcome survives the trip through journal bytes, whatever its members hold.
import fc from "fast-check";
import { expect, test } from "vitest";
import { hashIncident } from "../../src/journal/incidents.ts";
import { DAY_MS } from "../../src/contract/units.ts";
import { ATTESTERS, GRADES, SIGNATURES } from "../../src/contract/vocabulary.ts";
import { VOICE_FIRST_PARTY, VOICE_MAX, VOICE_STRANGER } from "../../src/contract/voices.ts";
import { decodeFoldedOutcome, type FoldedOutcome } from "../../src/journal/folded-outcome.ts";
import {
  decodeOutcome,
  readOutcomeRecordedAtMs,
  readOutcomeReplayParts,
} from "../../src/journal/outcome.ts";
import { sealFrame, measureIntactFrame } from "../../src/journal/format.ts";
import type { OutcomeRecord } from "../../src/journal/records.ts";
import { FrameBatch } from "../../src/ledger/frame-batch.ts";
import { outcomeIdOf, recordOf, runOf } from "../ledger/_fixtures.ts";

// Lone surrogates never get past parsing; UTF-8 could not carry them.
const text = (maxLength: number) =>
  fc.string({ unit: "binary", maxLength }).map((value) => value.toWellFormed());
const time = fc.integer({ min: 0, max: 4_102_444_800_000 });

const members: fc.Arbitrary<OutcomeRecord> = fc.record({
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
const voices = fc.integer({ min: VOICE_STRANGER, max: VOICE_MAX });
const rareMembers = fc.record(
  {
    reportedStakes: fc.double({ min: 0, max: 1e12, noNaN: true }),
    incidentId: text(128).filter((id) => id !== ""),
    claimedGradeIndex: fc.integer({ min: 0, max: 4 }),
    attestation: fc.record({
      attester: fc.constantFrom(...ATTESTERS),
      transactionId: text(128).filter((id) => id !== ""),
    }),
  },
  { requiredKeys: [] },
);
const records = fc
  .tuple(members, fc.boolean(), fc.boolean(), fc.option(voices), rareMembers)
  .map(([record, isGiven, isFirstParty, voice, rare]): OutcomeRecord => ({
    ...record,
    ...rare,
    ...(isGiven ? { isTimeGiven: true } : {}),
    ...(isFirstParty ? { isFirstParty } : {}),
    ...(voice !== null && record.signature === "none" ? { voice } : {}),
    // A signed outcome is its reporter's, or a tenant's that answers for its signers.
    ...(voice !== null && record.signature === "reporter" ? { signerVoice: voice } : {}),
  }));

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
        expect(decodeFoldedOutcome(bytes, at, fold)).toBe(record.isAgentFault);
        if (record.isAgentFault) {
          const voice = record.voice ?? record.signerVoice ?? 0;
          const isStranger = record.isFirstParty !== true && voice >= VOICE_STRANGER;
          const signature = isStranger ? "none" : record.signature;
          expect(fold).toEqual({
            subject: record.subject,
            reporter: record.reporter,
            outcome: record.outcome,
            stakes: record.stakes,
            // A stranger's grade is at most what a counterparty's word proves.
            gradeIndex: isStranger
              ? Math.max(record.gradeIndex, GRADES.indexOf("counterparty"))
              : record.gradeIndex,
            signatureIndex: SIGNATURES.indexOf(
              record.isFirstParty === true && signature === "none" ? "bureau" : signature,
            ),
            settledAtMs: record.settledAtMs,
            voice: record.isFirstParty === true ? VOICE_FIRST_PARTY : voice,
            incidentAtMs:
              record.signature !== "bureau" && record.recordedAtMs - record.settledAtMs > DAY_MS
                ? record.recordedAtMs
                : record.settledAtMs,
            incident:
              record.incidentId === undefined ? 0 : hashIncident(record.tenant, record.incidentId),
          });
        }
        expect(readOutcomeRecordedAtMs(bytes, at)).toBe(record.recordedAtMs);
        at += measureIntactFrame(bytes, at, bytes.byteLength);
      }
      expect(at).toBe(bytes.byteLength);
    }),
  );
});

/** What is compared when an outcome comes again under the same key. */
function contentOf(changes: Partial<OutcomeRecord>): string | undefined {
  const { bytes } = runOf([recordOf(1, { idempotencyKey: "k", ...changes })]);
  return readOutcomeReplayParts(bytes, 0)?.content.toString("hex");
}

test("replay identity: key and tenant as stored; none without a key", () => {
  const { bytes } = runOf([recordOf(1, { idempotencyKey: "k", tenant: "t" })]);
  const parts = readOutcomeReplayParts(bytes, 0);
  expect(parts?.key.toString()).toBe("k");
  expect(parts?.tenant.toString()).toBe("t");
  expect(readOutcomeReplayParts(runOf([recordOf(1)]).bytes, 0)).toBeUndefined();
});

test("the content is what was said, not the bytes it came in nor who vouches for it", () => {
  const first = contentOf({ stakes: 0 });
  const other = { outcomeId: outcomeIdOf(9), recordedAtMs: 5, body: new Uint8Array() };
  expect(contentOf({ stakes: -0, signature: "reporter", ...other })).toBe(first);
  const changes: Partial<OutcomeRecord>[] = [
    { stakes: 2 },
    { outcome: 0 },
    { gradeIndex: 4 },
    { isAgentFault: false },
    { subject: "agent://a/b" },
    { reporter: "agent://a/b" },
    { action: "" },
    { requestId: "r" },
    { settledAtMs: 7 },
    { incidentId: "outage" },
    { reportedStakes: 3 },
  ];
  for (const change of changes) expect(contentOf({ stakes: 0, ...change })).not.toBe(first);
  // By the grade as claimed: a repeat of an older record is one.
  expect(contentOf({ stakes: 0, claimedGradeIndex: 0 })).toBe(
    contentOf({ stakes: 0, gradeIndex: 0 }),
  );
  // The same letters in another member say another thing.
  expect(contentOf({ action: "ab", requestId: "c" })).not.toBe(
    contentOf({ action: "a", requestId: "bc" }),
  );
});

test("what was said is compared in the tenant's unit, whatever it is by now", () => {
  const said = contentOf({ stakes: 12 });
  expect(contentOf({ stakes: 24, reportedStakes: 12 })).toBe(said);
  expect(contentOf({ stakes: 12, reportedStakes: 24 })).not.toBe(said);
});

test("a record without rare members has the bytes that it had before there were any", () => {
  const { bytes } = runOf([recordOf(1, { signature: "reporter", recordedAtMs: 9 })]);
  const record = decodeOutcome(bytes, 0);
  expect("reportedStakes" in record || "incidentId" in record).toBe(false);
  expect(Buffer.from(record.body).toString()).toBe('{"n":1}');
});

test("a time that the sender did not name is not content, one that it named is", () => {
  const at = (ms: number) => ({ settledAtMs: ms, recordedAtMs: ms });
  expect(contentOf(at(5))).toBe(contentOf(at(6)));
  // Named, it may happen to be the time of recording: then and later it is the same content.
  const named = contentOf({ ...at(5), isTimeGiven: true });
  expect(contentOf({ settledAtMs: 5, recordedAtMs: 6, isTimeGiven: true })).toBe(named);
  expect(named).not.toBe(contentOf(at(5)));
  // Records of before the flag: what differs from the time of recording was named.
  expect(contentOf({ settledAtMs: 5, recordedAtMs: 6 })).toBe(named);
});

test("an import's content is without the time that a rebase changes", () => {
  const imported = { signature: "bureau" as const, body: new Uint8Array() };
  const first = contentOf({ ...imported, isTimeGiven: true });
  expect(contentOf({ ...imported, recordedAtMs: 5, settledAtMs: 7, isTimeGiven: true })).toBe(
    first,
  );
  expect(contentOf({ ...imported, stakes: 2 })).not.toBe(first);
  expect(contentOf({ ...imported, source: "import:other" })).not.toBe(first);
});

test("an id that is not a UUID is a programmer's error", () => {
  expect(() => new FrameBatch().addOutcome(recordOf(1, { outcomeId: "nope" }))).toThrow("UUID");
});
