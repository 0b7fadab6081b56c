// Availability of the log: what makes it away, what ends that, and that nothing else does.
import fc from "fast-check";
import { expect, test } from "vitest";
import { LogAvailability } from "../../src/stream/availability.ts";

const NOW_MS = 1_700_000_000;
const CONNECTED = "no server of the ordered log is connected";
const ACKNOWLEDGES = "no majority of the ordered log acknowledges";
const MAJORITY = "no majority of the ordered log takes messages";

test("a lost connection counts after a second, and no longer than it is lost", () => {
  const availability = new LogAvailability(NOW_MS);
  availability.setConnected(false, NOW_MS);
  availability.setConnected(false, NOW_MS + 999);
  expect(availability.describeOutage(NOW_MS + 999)).toBeUndefined();
  expect(availability.describeOutage(NOW_MS + 1000)).toBe(CONNECTED);
  availability.setConnected(true, NOW_MS + 1500);
  expect(availability.describeOutage(NOW_MS + 1500)).toBeUndefined();
});

test("a log that acknowledges nothing counts after four seconds from when the newest was begun", () => {
  const availability = new LogAvailability(NOW_MS);
  expect(availability.describeOutage(NOW_MS + 4000)).toBeUndefined();
  expect(availability.describeOutage(NOW_MS + 4001)).toBe(ACKNOWLEDGES);
  availability.recordAcknowledged(NOW_MS + 5000);
  availability.recordAcknowledged(NOW_MS + 4500);
  expect(availability.describeOutage(NOW_MS + 9000)).toBeUndefined();
  expect(availability.describeOutage(NOW_MS + 9001)).toBe(ACKNOWLEDGES);
});

test("a server through which nothing is acknowledged is left after five seconds, and again after five more", () => {
  const availability = new LogAvailability(NOW_MS);
  expect(availability.isServerSilent(NOW_MS + 5000)).toBe(false);
  expect(availability.isServerSilent(NOW_MS + 5001)).toBe(true);
  availability.recordServerChange(NOW_MS + 5001);
  expect(availability.isServerSilent(NOW_MS + 10_001)).toBe(false);
  expect(availability.isServerSilent(NOW_MS + 10_002)).toBe(true);
  availability.recordAcknowledged(NOW_MS + 10_002);
  expect(availability.isServerSilent(NOW_MS + 15_002)).toBe(false);
  // A lost connection goes to another server by itself.
  availability.setConnected(false, NOW_MS + 15_003);
  expect(availability.isServerSilent(NOW_MS + 20_000)).toBe(false);
});

test("a message that nobody took ends only with one that was begun after it", () => {
  const availability = new LogAvailability(NOW_MS);
  availability.recordAppendFailure(NOW_MS + 100);
  availability.recordAcknowledged(NOW_MS + 100);
  expect(availability.describeOutage(NOW_MS + 200)).toBe(MAJORITY);
  availability.recordAcknowledged(NOW_MS + 101);
  expect(availability.describeOutage(NOW_MS + 200)).toBeUndefined();
});

test("whatever came before, a connection and a message acknowledged end it", () => {
  const event = fc.tuple(
    fc.constantFrom("up", "down", "recordAcknowledged", "recordAppendFailure"),
    fc.integer({ min: 0, max: 20_000 }),
  );
  fc.assert(
    fc.property(fc.array(event, { maxLength: 40 }), (events) => {
      const availability = new LogAvailability(NOW_MS);
      let nowMs = NOW_MS;
      for (const [kind, ms] of events) {
        nowMs += ms;
        if (kind === "up" || kind === "down") availability.setConnected(kind === "up", nowMs);
        else availability[kind](nowMs);
      }
      availability.setConnected(true, nowMs);
      availability.recordAcknowledged(nowMs + 1);
      expect(availability.describeOutage(nowMs + 4001)).toBeUndefined();
      availability.setConnected(false, nowMs);
      expect(availability.describeOutage(nowMs + 1000)).toBe(CONNECTED);
    }),
  );
});
