// Availability of the log: what makes it away, what ends that, and that nothing else does.
import fc from "fast-check";
import { expect, test } from "vitest";
import { Availability } from "../../src/stream/availability.ts";

const NOW_MS = 1_700_000_000_000;
const CONNECTED = "no server of the ordered log is connected";
const LEADS = "no server of the ordered log leads";
const MAJORITY = "no majority of the ordered log takes messages";

test("a lost connection counts after a second, and no longer than it is lost", () => {
  const availability = new Availability(NOW_MS);
  availability.connected(false, NOW_MS);
  availability.connected(false, NOW_MS + 999);
  expect(availability.whyAway(NOW_MS + 999)).toBeUndefined();
  expect(availability.whyAway(NOW_MS + 1000)).toBe(CONNECTED);
  availability.connected(true, NOW_MS + 1500);
  expect(availability.whyAway(NOW_MS + 1500)).toBeUndefined();
});

test("a leader that is not heard of counts after four seconds; a message that was taken is as good", () => {
  const availability = new Availability(NOW_MS);
  expect(availability.whyAway(NOW_MS + 4000)).toBeUndefined();
  expect(availability.whyAway(NOW_MS + 4001)).toBe(LEADS);
  availability.taken(NOW_MS + 5000);
  expect(availability.whyAway(NOW_MS + 9000)).toBeUndefined();
  expect(availability.whyAway(NOW_MS + 9001)).toBe(LEADS);
  availability.led(NOW_MS + 9002);
  expect(availability.whyAway(NOW_MS + 9002)).toBeUndefined();
});

test("a message that nobody took ends only with one that was, or with a report begun after it", () => {
  const availability = new Availability(NOW_MS);
  availability.failed(NOW_MS + 100);
  availability.led(NOW_MS + 200);
  availability.reported(NOW_MS + 100);
  expect(availability.whyAway(NOW_MS + 200)).toBe(MAJORITY);
  availability.reported(NOW_MS + 101);
  expect(availability.whyAway(NOW_MS + 200)).toBeUndefined();
  availability.failed(NOW_MS + 300);
  availability.taken(NOW_MS + 301);
  expect(availability.whyAway(NOW_MS + 301)).toBeUndefined();
});

test("whatever came before, a connection, a leader and a message taken end it", () => {
  const event = fc.tuple(
    fc.constantFrom("up", "down", "led", "taken", "failed", "reported"),
    fc.integer({ min: 0, max: 20_000 }),
  );
  fc.assert(
    fc.property(fc.array(event, { maxLength: 40 }), (events) => {
      const availability = new Availability(NOW_MS);
      let nowMs = NOW_MS;
      for (const [kind, ms] of events) {
        nowMs += ms;
        if (kind === "up" || kind === "down") availability.connected(kind === "up", nowMs);
        else availability[kind](nowMs);
      }
      availability.connected(true, nowMs);
      availability.taken(nowMs);
      expect(availability.whyAway(nowMs + 4000)).toBeUndefined();
      availability.connected(false, nowMs);
      expect(availability.whyAway(nowMs + 1000)).toBe(CONNECTED);
    }),
  );
});
