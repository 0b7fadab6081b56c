// Proofs of how fresh a node is: what counts as one, when it holds, and when a tick is due.
import fc from "fast-check";
import { expect, test } from "vitest";
import { FIRST_RULES, type MessageId, TICK_RULES } from "../../src/ledger/ordered/message.ts";
import type { Moment } from "../../src/platform/moment.ts";
import { FreshnessProofs } from "../../src/stream/freshness.ts";
import { StreamMetrics } from "../../src/stream/metrics.ts";

const NOW_MS = 1_700_000_000_000;
const ELSEWHERE = { firstSeq: 1, lastSeq: 9, leader: "n0" };

function at(ms: number, wallStepMs = 0): Moment {
  return { epochMs: NOW_MS + ms + wallStepMs, monotonicMs: 1000 + ms };
}

/** Proofs of a node whose ticks are answered by the test. */
function open(rules = TICK_RULES) {
  const time = { ms: 0, wallStepMs: 0 };
  const ticks: { id: MessageId; acknowledge: (seq: number) => void; fail: () => void }[] = [];
  const acknowledged: [Moment, number][] = [];
  const link = { isUp: true, lost: 0, onChange: undefined };
  const appendTick = (id: MessageId) =>
    new Promise<number>((acknowledge, reject) => {
      ticks.push({ id, acknowledge, fail: () => reject(new Error("refused by the test")) });
    });
  const proofs = new FreshnessProofs({
    log: { appendTick, link },
    readAfter: () => 0,
    origin: "one:1",
    readMoment: () => at(time.ms, time.wallStepMs),
    acknowledged: (moment, seq) => acknowledged.push([moment, seq]),
  });
  proofs.rules = rules;
  const look = (ms: number) => {
    time.ms = ms;
    proofs.tickIfDue();
    return ticks.length;
  };
  return { proofs, time, ticks, acknowledged, link, look };
}

test("an own message proves the moment at which it was begun, once its place is applied", () => {
  const { proofs, acknowledged } = open();
  proofs.add(at(10), 5);
  expect(acknowledged).toEqual([[at(10), 5]]);
  expect(proofs.takeReached(4)).toBeUndefined();
  expect(proofs.takeReached(5)).toEqual(at(10));
  expect(proofs.takeReached(5)).toBeUndefined();
});

test("a tick is due after a second without a proof, and again soon until one is acknowledged", async () => {
  const { proofs, ticks, look } = open();
  expect(look(0)).toBe(1);
  expect([look(199), look(200), look(399), look(400)]).toEqual([1, 2, 2, 3]);
  expect(ticks.map(({ id }) => id)).toEqual(
    [1, 2, 3].map((n) => ({ origin: "one:1:tick", n, after: 0 })),
  );
  // The first is acknowledged late: it proves the moment at which it was begun, and no other.
  ticks[0]!.acknowledge(7);
  await Promise.resolve();
  expect(proofs.takeReached(7)).toEqual(at(0));
  expect([look(999), look(1200)]).toEqual([3, 4]);
  ticks[1]!.fail();
  ticks[3]!.acknowledge(8);
  await Promise.resolve();
  expect([look(2199), look(2200)]).toEqual([4, 5]);
});

test("own messages stand for ticks; a tick is due at once after a stop that the wall clock alone saw", () => {
  const { proofs, time, look } = open();
  proofs.add(at(0), 1);
  expect(look(999)).toBe(0);
  time.wallStepMs = 3000;
  expect(look(999)).toBe(1);
});

test("no tick leaves without a connection, in a log of the first rules, or before a log's first message", () => {
  const { link, look } = open();
  link.isUp = false;
  expect(look(5000)).toBe(0);
  link.isUp = true;
  expect(look(5000)).toBe(1);
  expect(open(FIRST_RULES).look(5000)).toBe(0);
  const unknown = open(0);
  expect(unknown.look(5000)).toBe(0);
  unknown.proofs.addState(at(5000), ELSEWHERE);
  expect(unknown.look(5000)).toBe(0);
  unknown.proofs.addState(at(5000), { ...ELSEWHERE, lastSeq: 0, leader: undefined });
  expect(unknown.look(5000), "nobody leads").toBe(0);
  unknown.proofs.addState(at(5000), { ...ELSEWHERE, lastSeq: 0 });
  expect(unknown.look(5000)).toBe(1);
});

test("what a server tells of the log proves nothing where nodes tick", () => {
  const { proofs, acknowledged } = open();
  proofs.addState(at(0), ELSEWHERE);
  expect([proofs.takeReached(9), acknowledged]).toEqual([undefined, []]);
});

test("in a log of the first rules it proves when the leader last heard of a majority", () => {
  const { proofs } = open(FIRST_RULES);
  proofs.addState(at(5000), { ...ELSEWHERE, leader: undefined });
  proofs.addState(at(5000), { ...ELSEWHERE, majoritySilenceMs: Number.POSITIVE_INFINITY });
  expect(proofs.takeReached(9)).toBeUndefined();
  proofs.addState(at(5000), { ...ELSEWHERE, majoritySilenceMs: 3000 });
  expect(proofs.takeReached(9)).toEqual(at(2000));
});

test("a moment counts as proved exactly when its place or a later one of an own message is applied", () => {
  const begun = fc.array(fc.tuple(fc.nat(500), fc.integer({ min: 1, max: 60 })), { maxLength: 40 });
  fc.assert(
    fc.property(begun, fc.nat(60), (messages, applied) => {
      const { proofs } = open();
      const byPlace = new Map(messages.map(([ms, seq]) => [seq, ms]));
      for (const [seq, ms] of byPlace) proofs.add(at(ms), seq);
      const reached = [...byPlace].filter(([seq]) => seq <= applied).map(([, ms]) => ms);
      const newest = reached.length === 0 ? undefined : at(Math.max(...reached));
      expect(proofs.takeReached(applied)).toEqual(newest);
    }),
  );
});

test("a clock that was set forward and back makes no node fresher than it is", () => {
  const figures = new StreamMetrics();
  const stepMs = 50 * 60_000;
  expect(figures.lagMs(NOW_MS, 0)).toBe(Number.POSITIVE_INFINITY);
  figures.setCaughtUpAt(at(0, stepMs));
  expect(figures.lagMs(NOW_MS + 20_000, 1000 + 20_000)).toBe(20_000);
  figures.setCaughtUpAt(at(30_000));
  expect(figures.lagMs(NOW_MS + 30_250, 1000 + 30_250)).toBe(250);
  // An earlier proof that comes late says nothing, whatever the wall clock was.
  figures.setCaughtUpAt(at(10_000, stepMs));
  expect(figures.lagMs(NOW_MS + 30_250, 1000 + 30_250)).toBe(250);
  // A machine that slept: its monotonic clock stood.
  expect(figures.lagMs(NOW_MS + 90_000, 1000 + 30_250)).toBe(60_000);
});
