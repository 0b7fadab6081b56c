// A clock that is set, by a second or for good, forward or back, while the service runs or is off.
import { expect, test } from "vitest";
import {
  SteadyClockWriter,
  CLOCK_CONFIRM_MS,
  createClockMemory,
  CLOCK_JUMP_MS_MIN,
  SteadyClock,
  LONG_STOP_MS_MIN,
} from "../../src/platform/steady-clock.ts";

const START_MS = Date.UTC(2026, 5, 1);
const DAY_MS = 86_400_000;
const JUMP_DAYS = 400 * DAY_MS;

function open(lastMs?: number) {
  const time = { passedMs: 0, setMs: 0 };
  const sources = {
    wall: () => START_MS + time.passedMs + time.setMs,
    monotonic: () => 5000 + time.passedMs,
  };
  const memory = createClockMemory();
  const told: string[] = [];
  const keeper = new SteadyClockWriter(memory, sources, (event) => void told.push(event));
  keeper.begin(lastMs);
  const other = new SteadyClock(memory, sources);
  /** Lets time pass, with a look every second of it (or sixty in all). */
  const pass = (ms: number) => {
    for (let step = 0; step < 60; step++) {
      time.passedMs += ms / 60;
      keeper.look();
    }
  };
  const trueMs = () => START_MS + time.passedMs;
  return { time, keeper, other, told, pass, trueMs };
}

test("it is the wall clock's time, also where that is set right by minutes", () => {
  const { time, keeper, other, told, pass, trueMs } = open(START_MS - 5000);
  expect(keeper.now()).toBe(START_MS);
  pass(10_000);
  time.setMs = -20 * 60_000;
  pass(1000);
  expect(other.now()).toBe(trueMs() - 20 * 60_000);
  expect(other.isConfirmed).toBe(true);
  expect(told).toEqual([]);
});

test("a start before the journal's end goes on there, also for who has just read the clock", () => {
  const { keeper, other } = open();
  expect([keeper.now(), other.now()]).toEqual([START_MS, START_MS]);
  keeper.begin(START_MS + DAY_MS);
  expect([keeper.now(), other.now()]).toEqual([START_MS + DAY_MS, START_MS + DAY_MS]);
});

test.each([JUMP_DAYS, -JUMP_DAYS, 2 * CLOCK_JUMP_MS_MIN])(
  "a jump of %d ms is held and told",
  (setMs) => {
    const { time, keeper, other, told, pass, trueMs } = open(START_MS - 5000);
    pass(60_000);
    time.setMs = setMs;
    // Before anybody has looked, on any thread.
    expect(other.now()).toBeCloseTo(trueMs(), -1);
    pass(1000);
    expect(other.now()).toBeCloseTo(trueMs(), -1);
    expect([other.isConfirmed, told]).toEqual([false, ["clock_jumped"]]);
    expect(keeper.leadMs).toBeCloseTo(setMs, -1);
    time.setMs = 0;
    pass(1000);
    expect(other.now()).toBe(trueMs());
    expect([other.isConfirmed, keeper.leadMs]).toEqual([true, 0]);
    expect(told).toEqual(["clock_jumped", "clock_returned"]);
  },
);

test("a jump that stands for an hour is followed, and confirmed an hour later", () => {
  const { time, other, told, pass, trueMs } = open(START_MS - 5000);
  time.setMs = 30 * DAY_MS;
  pass(CLOCK_CONFIRM_MS - 60_000);
  expect(other.now()).toBeCloseTo(trueMs(), -1);
  pass(120_000);
  expect(other.now()).toBe(trueMs() + 30 * DAY_MS);
  expect([other.isConfirmed, told]).toEqual([false, ["clock_jumped", "clock_followed"]]);
  pass(CLOCK_CONFIRM_MS);
  expect(other.isConfirmed).toBe(true);
});

test("a clock that is moved on bit by bit gains no more than an hour in an hour", () => {
  const { time, other, pass, trueMs } = open(START_MS - 5000);
  for (let minute = 0; minute < 120; minute++) {
    time.setMs += CLOCK_JUMP_MS_MIN / 2;
    pass(60_000);
  }
  expect(other.now() - trueMs()).toBeLessThanOrEqual(4 * CLOCK_JUMP_MS_MIN);
});

test("a machine that was off for a week starts with the right time, and deletes an hour later", () => {
  const { other, told, pass, trueMs } = open(START_MS - 7 * DAY_MS);
  expect(other.now()).toBe(trueMs());
  expect([other.isConfirmed, told]).toEqual([false, ["clock_after_long_stop"]]);
  pass(CLOCK_CONFIRM_MS);
  expect(other.isConfirmed).toBe(true);
});

test("a stop of hours needs no confirmation", () => {
  const { other, told } = open(START_MS - LONG_STOP_MS_MIN + 1000);
  expect([other.isConfirmed, told]).toEqual([true, []]);
});

test("a clock set forward for the start alone is taken back at once", () => {
  // On record is the time of yesterday; the wall clock says it is 400 days later.
  const { time, other, told, pass } = open(START_MS - JUMP_DAYS - DAY_MS);
  expect(other.now()).toBe(START_MS);
  time.setMs = -JUMP_DAYS;
  pass(1000);
  expect(other.now()).toBeCloseTo(START_MS - JUMP_DAYS + 1000, -1);
  expect([other.isConfirmed, told]).toEqual([false, ["clock_after_long_stop", "clock_returned"]]);
});

test("a clock set back while the service was off goes on where the journal ends", () => {
  const lastMs = START_MS + 10 * DAY_MS;
  const { time, other, told, pass } = open(lastMs);
  expect(other.now()).toBeCloseTo(lastMs, -1);
  expect(told).toEqual(["clock_jumped"]);
  pass(1000);
  expect(other.now()).toBeCloseTo(lastMs + 1000, -1);
  // And it is set right, as time servers do.
  time.setMs = 10 * DAY_MS;
  pass(1000);
  expect([other.isConfirmed, told]).toEqual([true, ["clock_jumped", "clock_returned"]]);
});
