// Outcomes by the namespace that they were signed in: the journal's count, the store's, and the text of both.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { RegistryEvent } from "../../src/contract/namespaces.ts";
import { DAY_MS, HOUR_MS } from "../../src/contract/units.ts";
import {
  buildUnvouchedOwnersWarning,
  SIGNED_COUNTS_WINDOW_MS,
} from "../../src/http/access/vouching-warning.ts";
import { FRAME_KINDS } from "../../src/journal/format.ts";
import { verifyJournal } from "../../src/journal/verify.ts";
import { diskFileLayer } from "../../src/platform/files.ts";
import type { OutcomeRecord } from "../../src/journal/records.ts";
import { FrameBatch } from "../../src/ledger/frame-batch.ts";
import { SignedCounter } from "../../src/service/health/signed-counter.ts";
import { SignerTally } from "../../src/service/signers.ts";
import type { OpenStore } from "../../src/store/client.ts";
import { NOW_MS, recordOf, runOf } from "../ledger/_fixtures.ts";
import { openJournal, openStore } from "../store/_fixtures.ts";

const dataDir = mkdtempSync(join(tmpdir(), "trustrank-signers-"));
let store: OpenStore;

const grant = (namespace: string, isVouched: boolean): RegistryEvent => ({
  event: "namespace.granted",
  at_ms: 1,
  namespace,
  tenant: `${namespace}-tenant`,
  keeps_keys: false,
  vouched: isVouched,
  by: "k",
});
const register = (agent: string): RegistryEvent => ({
  event: "registered",
  at_ms: 2,
  tenant: "t",
  not_before_ms: 0,
  expires_ms: null,
  others_retire_ms: 0,
  agent,
  kid: agent,
  x: "x",
  proof: "p",
  by: "owner",
});
const signed = (namespace: string, ageMs: number): Partial<OutcomeRecord> => ({
  reporter: `agent://${namespace}/a`,
  signature: "reporter",
  recordedAtMs: NOW_MS - ageMs,
});

function fillDirectory(): void {
  const events = new FrameBatch();
  const add = (event: RegistryEvent) => {
    const kind = event.event === "registered" ? FRAME_KINDS.key : FRAME_KINDS.namespace;
    events.addEvent(kind, Buffer.from(JSON.stringify(event)));
  };
  for (const event of [grant("market", false), grant("shop", true), grant("quiet", false)])
    add(event);
  for (const namespace of ["market", "shop", "quiet"]) add(register(`agent://${namespace}/a`));
  const records = [
    ...[1, 2, 29 * DAY_MS].map((ageMs) => signed("market", ageMs)),
    signed("market", SIGNED_COUNTS_WINDOW_MS + 1),
    ...[1, 2, 3].map((ageMs) => signed("shop", ageMs)),
    // In the same namespace, and not signed.
    { reporter: "agent://market/b", recordedAtMs: NOW_MS },
    { reporter: "plain:bot", recordedAtMs: NOW_MS },
    { signature: "bureau" as const, isFirstParty: true, recordedAtMs: NOW_MS },
    { recordedAtMs: NOW_MS },
    { recordedAtMs: NOW_MS - 31 * DAY_MS },
  ];
  const journal = openJournal(dataDir);
  const run = runOf(records.map((record, index) => recordOf(index, record)));
  journal.commit([events.drain(), run], NOW_MS);
  journal.close();
}

beforeAll(async () => {
  fillDirectory();
  ({ store } = await openStore(dataDir));
});

afterAll(async () => {
  await store.close();
  rmSync(dataDir, { recursive: true, force: true });
});

const tally = () => {
  const signers = new SignerTally(NOW_MS);
  const add = (bytes: Buffer, at: number) => signers.add(bytes, at);
  verifyJournal(diskFileLayer, join(dataDir, "journal"), undefined, add);
  return signers;
};

test("the journal gives owners that nobody vouches for, with their share of 30 days", () => {
  const { detail, advice } = tally().describe(false);
  expect(detail).toBe("those of 2 owners count as one voice of their tenant");
  expect(advice).toMatch(
    /^not vouched for: market of market-tenant \(30 %\), quiet of quiet-tenant \(0 %\); they signed 30 % of the 10 outcomes/,
  );
  expect(tally().describe(true)).toEqual({
    detail: "those of 2 owners, weighed by credibility",
    advice: "",
  });
  expect(tally().owners.hasVouched()).toBe(true);
});

test("the store counts the same, once an hour", async () => {
  let nowMs = NOW_MS;
  let isNeeded = false;
  let queryCount = 0;
  const queryTrusted = (sql: string) => {
    queryCount += 1;
    return store.queryTrusted(sql);
  };
  const status = () => store.status();
  const clock = () => nowMs;
  const counted = new SignedCounter({
    store: { queryTrusted, status },
    isNeeded: () => isNeeded,
    clock,
  });
  await counted.look();
  expect([queryCount, counted.counts], "nobody to name").toEqual([0, undefined]);
  isNeeded = true;
  await Promise.all([counted.look(), counted.look()]);
  expect(queryCount).toBe(1);
  expect(counted.counts?.total).toBe(10);
  expect(Object.fromEntries(counted.counts!.signed)).toEqual({ market: 3, shop: 3 });
  const owners = tally().owners.listUnvouched();
  expect(buildUnvouchedOwnersWarning(owners, counted.counts)).toBe(tally().describe(false).advice);
  nowMs += HOUR_MS - 1;
  await counted.look();
  expect(queryCount).toBe(1);
  nowMs += DAY_MS;
  await counted.look();
  expect([queryCount, counted.counts?.total]).toEqual([2, 9]);
  counted.close();
});

test("a store that fails leaves the last counts, and is asked again after a minute", async () => {
  let nowMs = NOW_MS;
  let isFailing = false;
  const queryTrusted = (sql: string) =>
    isFailing ? Promise.reject(new Error("closed")) : store.queryTrusted(sql);
  const status = () => store.status();
  const options = { store: { queryTrusted, status }, isNeeded: () => true, clock: () => nowMs };
  const counted = new SignedCounter(options);
  await counted.look();
  isFailing = true;
  nowMs += DAY_MS + HOUR_MS;
  await counted.look();
  expect(counted.counts?.total).toBe(10);
  isFailing = false;
  await counted.look();
  expect(counted.counts?.total).toBe(10);
  nowMs += 60_000;
  await counted.look();
  expect(counted.counts?.total).toBe(9);
  counted.close();
});
