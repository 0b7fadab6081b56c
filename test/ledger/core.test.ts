// The core's promises on a real journal: order, replay guard, what is folded and when.
import { beforeEach, expect, test } from "vitest";
import type { BureauKey } from "../../src/journal/signing-key.ts";
import {
  type CommitResult,
  VERDICT_CONFLICT,
  VERDICT_DUPLICATE,
  VERDICT_RECORDED,
} from "../../src/ledger/replay-guard.ts";
import { CLOCK_CONFIRM_MS } from "../../src/platform/steady-clock.ts";
import { openLocalLedger } from "./_local-ledger.ts";
import {
  newKey,
  NOW_MS,
  openCore,
  outcomeIdOf,
  recordOf,
  runOf,
  temporaryDirectory,
} from "./_fixtures.ts";

const DAY_MS = 86_400_000;
let directory: string;
let key: BureauKey;

beforeEach(() => {
  directory = temporaryDirectory();
  key = newKey();
});

const verdicts = (results: CommitResult[]) => results.map((result) => [result.verdict, result.lsn]);

test("positions are dense, in order, and go on after a restart", () => {
  const { core, folded } = openCore(directory, key);
  core.commit([runOf([recordOf(1), recordOf(2)]), runOf([recordOf(3)])], NOW_MS);
  expect(core.syncCount).toBeGreaterThan(0);
  expect(folded.map((outcome) => outcome.stakes)).toEqual([1.25, 2.25, 3.25]);
  core.close();
  const { core: next, folded: replayed } = openCore(directory, key);
  expect(replayed).toEqual(folded);
  expect(next.replayedOutcomes).toBe(3);
  expect(verdicts(next.commit([runOf([recordOf(4)])], NOW_MS))).toEqual([[VERDICT_RECORDED, 4]]);
  next.close();
});

test("an outcome that was not the agent's fault is recorded, not folded", () => {
  const { core, folded } = openCore(directory, key);
  core.commit([runOf([recordOf(1, { isAgentFault: false }), recordOf(2)])], NOW_MS);
  expect(core.lsn).toBe(2);
  expect(folded).toHaveLength(1);
  core.close();
  expect(openCore(directory, key).folded).toHaveLength(1);
});

test("a repeat gets the first receipt, a change is a conflict, across a restart too", () => {
  const first = recordOf(1, { idempotencyKey: "k" });
  const again = recordOf(1, { idempotencyKey: "k", outcomeId: outcomeIdOf(2) });
  const changed = recordOf(3, { idempotencyKey: "k" });
  const other = recordOf(4, { idempotencyKey: "k", tenant: "other" });
  const { core, folded } = openCore(directory, key);
  core.commit([runOf([first])], NOW_MS);
  const results = core.commit([runOf([again, changed, other])], NOW_MS);
  expect(verdicts(results)).toEqual([
    [VERDICT_DUPLICATE, 1],
    [VERDICT_CONFLICT, 1],
    [VERDICT_RECORDED, 2],
  ]);
  expect(results[0]).toMatchObject({ outcomeId: outcomeIdOf(1), recordedAtMs: NOW_MS + 1 });
  expect(folded).toHaveLength(2);
  core.close();
  const { core: next } = openCore(directory, key);
  expect(verdicts(next.commit([runOf([again, changed])], NOW_MS))).toEqual([
    [VERDICT_DUPLICATE, 1],
    [VERDICT_CONFLICT, 1],
  ]);
  expect(next.lsn).toBe(2);
});

test("repeats inside one commit: one record, the rest answered with it", () => {
  const same = [1, 2, 3].map((index) =>
    recordOf(1, { idempotencyKey: "k", outcomeId: outcomeIdOf(index) }),
  );
  const { core, folded } = openCore(directory, key);
  const results = core.commit(
    [runOf([recordOf(7), ...same]), runOf([recordOf(8, { idempotencyKey: "k" }), recordOf(9)])],
    NOW_MS,
  );
  expect(verdicts(results)).toEqual([
    [VERDICT_RECORDED, 1],
    [VERDICT_RECORDED, 2],
    [VERDICT_DUPLICATE, 2],
    [VERDICT_DUPLICATE, 2],
    [VERDICT_CONFLICT, 2],
    [VERDICT_RECORDED, 3],
  ]);
  expect(results[2]?.outcomeId).toBe(outcomeIdOf(1));
  expect(folded).toHaveLength(3);
});

test("identities are remembered for the window, not longer", () => {
  const { core } = openCore(directory, key);
  const old = recordOf(1, { idempotencyKey: "old", recordedAtMs: NOW_MS - 9 * DAY_MS });
  const recent = recordOf(2, { idempotencyKey: "recent", recordedAtMs: NOW_MS - 7 * DAY_MS });
  core.commit([runOf([old, recent])], NOW_MS);
  core.close();
  const { core: next } = openCore(directory, key);
  const results = next.commit([runOf([old, recent])], NOW_MS);
  expect(verdicts(results)).toEqual([
    [VERDICT_RECORDED, 3],
    [VERDICT_DUPLICATE, 2],
  ]);
});

test("the local ledger speaks receipts and faults", async () => {
  const { core } = openCore(directory, key);
  const ledger = openLocalLedger(core, () => NOW_MS);
  const record = recordOf(1, { idempotencyKey: "k", signature: "bureau" });
  const receipt = await ledger.append(record);
  expect(receipt).toEqual({
    outcome_id: outcomeIdOf(1),
    position: 1,
    recorded_at: new Date(NOW_MS + 1).toISOString(),
    duplicate: false,
    signature: "bureau",
  });
  expect(await ledger.append(record)).toEqual({ ...receipt, duplicate: true });
  await expect(ledger.append({ ...record, stakes: 99 })).rejects.toMatchObject({
    code: "idempotency_conflict",
  });
  const many = Array.from({ length: 2500 }, (_, index) => recordOf(index + 10));
  const receipts = await ledger.appendBatch(many);
  expect(receipts.map((each) => each.position)).toEqual(many.map((_, index) => index + 2));
  await ledger.close();
});

const keyed = (n: number, changes: object = {}) =>
  recordOf(n, { idempotencyKey: `k-${n}`, ...changes });

test("a start under a clock that was set forward forgets no id, and counts none twice", () => {
  const { core } = openCore(directory, key);
  core.commit([runOf([keyed(1)])], NOW_MS);
  core.close();
  const setMs = NOW_MS + 400 * DAY_MS;
  const { core: next, folded } = openCore(directory, key, { nowMs: setMs });
  expect(next.lastRecordMs).toBe(NOW_MS);
  // Another outcome under the clock that was set, then the clock is right again.
  next.commit([runOf([keyed(2, { recordedAtMs: setMs })])], setMs);
  const [repeat] = next.commit([runOf([keyed(1)])], NOW_MS + 1000);
  expect(repeat).toMatchObject({ verdict: VERDICT_DUPLICATE, lsn: 1 });
  expect(folded).toHaveLength(2);
  next.close();
});

test("after a long stop ids leave by age again an hour later", () => {
  const { core } = openCore(directory, key);
  core.commit([runOf([keyed(1)])], NOW_MS);
  core.close();
  const laterMs = NOW_MS + 30 * DAY_MS;
  const { core: next } = openCore(directory, key, { nowMs: laterMs });
  next.commit([runOf([keyed(2, { recordedAtMs: laterMs + 1000 })])], laterMs + 1000);
  expect(next.guard.size).toBe(2);
  const confirmedMs = laterMs + CLOCK_CONFIRM_MS;
  next.commit([runOf([keyed(3, { recordedAtMs: confirmedMs })])], confirmedMs);
  expect(next.guard.size).toBe(2);
  expect(next.rememberedSinceMs).toBeGreaterThan(0);
  next.close();
});
