// Discount by a namespace taken back: by the time of recording, what was signed there, until another
// grant, in whichever order the journal tells of it.
import { expect, test } from "vitest";
import { FRAME_HEAD_BYTES } from "../../src/journal/format.ts";
import { OutcomeExclusions } from "../../src/journal/exclusions.ts";
import type { OutcomeProof } from "../../src/journal/records.ts";
import { recordOf, runOf } from "../ledger/_fixtures.ts";

const PROOF: OutcomeProof = {
  kind: "own",
  kid: "A".repeat(43),
  jti: "0198c5d2-0000-7000-8000-000000000001",
  protectedText: "eyJ9",
  signature: Buffer.alloc(64),
};

const event = (what: object) => Buffer.from(JSON.stringify({ namespace: "friends", ...what }));
const granted = (at_ms: number) => event({ event: "namespace.granted", at_ms });
const revoked = (at_ms: number, discount_since_ms?: number) =>
  event({ event: "namespace.revoked", at_ms, discount_since_ms });

function isExcluded(exclusions: OutcomeExclusions, recordedAtMs: number, more: object = {}) {
  const signed = { reporter: "agent://friends/r", signature: "reporter" as const, proof: PROOF };
  const { bytes } = runOf([recordOf(1, { recordedAtMs, ...signed, ...more })]);
  expect(bytes.byteLength).toBeGreaterThan(FRAME_HEAD_BYTES);
  return exclusions.isExcluded(bytes, 0);
}

test("a namespace taken back with a time discounts what was signed there since", () => {
  const exclusions = new OutcomeExclusions();
  expect(exclusions.applyRegistryEvent(granted(0))).toBe(false);
  expect(exclusions.applyRegistryEvent(revoked(100, 50))).toBe(true);
  expect([49, 50, 100].map((atMs) => isExcluded(exclusions, atMs))).toEqual([false, true, true]);
  const elsewhere = { reporter: "agent://others/r" };
  expect(isExcluded(exclusions, 60, elsewhere), "another namespace").toBe(false);
  const unsigned = { signature: "none", proof: undefined };
  expect(isExcluded(exclusions, 60, unsigned), "unsigned").toBe(false);
});

test("another grant is heard again, and the discount of before stays", () => {
  const exclusions = new OutcomeExclusions();
  exclusions.applyRegistryEvent(revoked(100, 50));
  exclusions.applyRegistryEvent(granted(200));
  expect([60, 199, 200].map((atMs) => isExcluded(exclusions, atMs))).toEqual([true, true, false]);
});

test("without a time nothing is discounted", () => {
  const exclusions = new OutcomeExclusions();
  expect(exclusions.applyRegistryEvent(revoked(100))).toBe(false);
  expect(isExcluded(exclusions, 100)).toBe(false);
});
