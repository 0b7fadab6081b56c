// A queue that stays long turns away those that come last, a moment's pause nobody, and a caller with
// few requests is answered beside any flood.
import { describe, expect, it } from "vitest";
import fc from "fast-check";
import { OverloadDetector } from "../../../src/http/server/overload-detector.ts";

const ROUND_MS_MAX = 25;
const MANY = 1000;

/** A watch, its clock, and rounds that last as long as they are told. */
function watchWith(roundMsMax = ROUND_MS_MAX) {
  let nowMs = 1000;
  let ranMs = 0;
  const queue = new OverloadDetector(
    roundMsMax,
    () => nowMs,
    () => ranMs,
  );
  const pass = (ms: number, running = 1) => {
    nowMs += ms;
    ranMs += ms * running;
  };
  const round = (ms: number, asked = MANY, running = 1) => {
    pass(ms, running);
    queue.asked = asked;
    queue.look();
  };
  const rounds = (count: number, ms: number, asked = MANY, running = 1) => {
    for (let at = 0; at < count; at++) round(ms, asked, running);
  };
  return { queue, pass, round, rounds };
}

/** Asks `count` times, each taking `ms`, and counts those turned away. */
function ask(world: ReturnType<typeof watchWith>, caller: string, count: number, ms: number) {
  let turnedAway = 0;
  for (let at = 0; at < count; at++) {
    world.queue.asked++;
    if (world.queue.turnsAway(caller)) turnedAway++;
    world.pass(ms);
  }
  return turnedAway;
}

describe("a long queue", () => {
  it("is one whose rounds have all been too long for a tenth of a second", () => {
    const { queue, round } = watchWith();
    round(30);
    round(30);
    round(30);
    expect(queue.isBusy).toBe(false);
    round(30);
    expect(queue.isBusy).toBe(true);
  });

  it("is not one pause, however long", () => {
    const { queue, round } = watchWith();
    round(99);
    expect(queue.isBusy).toBe(false);
    round(10);
    round(99);
    expect(queue.isBusy).toBe(false);
  });

  it("is not what a machine has no time for", () => {
    const { queue, rounds } = watchWith();
    rounds(100, 90, MANY, 0.4);
    expect(queue.isBusy).toBe(false);
    rounds(2, 90, MANY, 0.6);
    expect(queue.isBusy).toBe(true);
  });

  it("is not a few slow requests", () => {
    const { queue, rounds } = watchWith();
    rounds(100, 90, 31);
    expect(queue.isBusy).toBe(false);
    rounds(2, 90, 32);
    expect(queue.isBusy).toBe(true);
  });

  it("is over when no round has been too long for a second", () => {
    const { queue, rounds, round } = watchWith();
    rounds(5, 30);
    rounds(90, 10);
    expect(queue.isBusy).toBe(true);
    round(30);
    rounds(99, 10);
    expect(queue.isBusy).toBe(true);
    round(10);
    expect(queue.isBusy).toBe(false);
  });

  it("is not over because turning away makes rounds short", () => {
    const world = watchWith();
    const { queue } = world;
    const told: boolean[] = [];
    queue.onChange = (isBusy) => void told.push(isBusy);
    /** Rounds of a thread that needs `.2` ms for an answer and `.02` for a refusal, asked `perMs` times each ms. */
    const serve = (perMs: number, ms: number) => {
      let roundMs = 10;
      for (let passed = 0; passed < ms; passed += roundMs) {
        const asked = Math.round(roundMs * perMs);
        roundMs = 0;
        for (let at = 0; at < asked; at++) {
          queue.asked++;
          const costMs = queue.isBusy && queue.turnsAway("flood") ? 0.02 : 0.2;
          world.pass(costMs);
          roundMs += costMs;
        }
        if (roundMs < 10) world.pass(10 - roundMs);
        roundMs = Math.max(roundMs, 10);
        queue.look();
      }
    };
    serve(10, 10_000);
    expect(told).toEqual([true]);
    expect(queue.turnedAway).toBeGreaterThan(40_000);
    serve(2.5, 3000);
    expect(told).toEqual([true, false]);
  });

  it("is told once when it begins and once when it ends, with who was turned away", () => {
    const world = watchWith();
    const told: [boolean, number][] = [];
    world.queue.onChange = (isBusy) => void told.push([isBusy, world.queue.turnedAway]);
    world.rounds(8, 30);
    const turnedAway = ask(world, "flood", 100, 1);
    world.rounds(200, 10);
    expect(turnedAway).toBeGreaterThan(50);
    expect(told).toEqual([
      [true, 0],
      [false, turnedAway],
    ]);
  });
});

describe("of a round that is long", () => {
  it("the first are answered, for as long as the budget lasts", () => {
    const world = watchWith();
    world.rounds(5, 26);
    const turnedAway = ask(world, "flood", 1000, 0.1);
    // Half of 25 ms, a little less for rounds of 26 ms, at .1 ms each.
    expect(1000 - turnedAway).toBeGreaterThan(112);
    expect(1000 - turnedAway).toBeLessThan(127);
  });

  it("the budget shrinks until turning away takes no longer than it may", () => {
    const world = watchWith();
    world.rounds(5, 26);
    const answeredOf = () => 2000 - ask(world, "flood", 2000, 0.03);
    const first = answeredOf();
    world.queue.look();
    const second = answeredOf();
    world.queue.look();
    expect(second).toBeLessThan(first * 0.8);
    expect(answeredOf()).toBeLessThan(second * 0.8);
  });

  it("a few are answered whatever it has lasted", () => {
    const world = watchWith();
    world.rounds(5, 30);
    world.pass(500);
    expect(ask(world, "flood", 32, 10)).toBe(0);
    expect(ask(world, "flood", 5, 10)).toBe(5);
  });

  it("another caller's few requests are answered, a stranger's are not", () => {
    const world = watchWith();
    world.rounds(5, 30);
    expect(ask(world, "flood", 500, 1)).toBeGreaterThan(400);
    expect(ask(world, "other", 8, 0)).toBe(0);
    expect(ask(world, "other", 5, 0)).toBe(5);
    expect(ask(world, "", 5, 0)).toBe(5);
    world.round(1);
    ask(world, "flood", 500, 1);
    expect(ask(world, "other", 8, 0)).toBe(0);
  });

  it("many callers together have a bounded share", () => {
    const world = watchWith();
    world.rounds(5, 30);
    ask(world, "flood", 100, 1);
    const away = Array.from({ length: 2000 }, (_, at) => ask(world, `caller ${at}`, 1, 0));
    expect(away.filter((each) => each === 0).length).toBeLessThanOrEqual(256);
  });
});

it("is never busy while no round was too long", () => {
  const anyRounds = fc.array(fc.double({ min: 0, max: ROUND_MS_MAX, noNaN: true }));
  fc.assert(
    fc.property(anyRounds, (lengths) => {
      const { queue, round } = watchWith();
      for (const ms of lengths) round(ms);
      expect(queue.isBusy).toBe(false);
    }),
  );
});

it("watches nothing when it is told to turn nobody away", () => {
  const { queue } = watchWith(0);
  const end = queue.start();
  expect(queue.isBusy).toBe(false);
  end();
});
