// The outbox against any course of deliveries: order within a lane, nothing lost, one lane never held
// back by another, and a day of attempts before an event is a dead letter.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  RETRY_PERIOD_MS,
  computeRetryDelayMs,
  DELIVERIES_IN_FLIGHT_MAX,
  Outbox,
  type PendingDelivery,
} from "../../src/webhooks/outbox.ts";
import type { OutgoingWebhookEvent } from "../../src/webhooks/event.ts";

const START_MS = Date.UTC(2026, 3, 1);
const HOUR_MS = 3_600_000;

const eventOf = (lane: string, n: number): OutgoingWebhookEvent => ({
  id: `evt_${n}`,
  type: "decision.denied",
  tenant: "acme",
  lane,
  atMs: START_MS,
  data: { n },
});

describe("an outbox", () => {
  it("keeps the order of every lane and loses nothing, whatever fails and restarts", () => {
    const step = fc.oneof(
      fc.record({ kind: fc.constant("add" as const), lane: fc.constantFrom("a", "b", "c", "") }),
      fc.record({ kind: fc.constant("take" as const) }),
      fc.record({ kind: fc.constant("end" as const), isDelivered: fc.boolean() }),
      fc.record({ kind: fc.constant("wait" as const), ms: fc.integer({ min: 0, max: HOUR_MS }) }),
      fc.record({ kind: fc.constant("restart" as const) }),
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
        let nowMs = START_MS;
        let outbox = new Outbox(() => 0.5);
        let underWay: PendingDelivery[] = [];
        const added: OutgoingWebhookEvent[] = [];
        const done: OutgoingWebhookEvent[] = [];
        const dead: OutgoingWebhookEvent[] = [];
        for (const each of steps) {
          if (each.kind === "add") {
            const event = eventOf(each.lane, added.length);
            added.push(event);
            outbox.add(event);
          } else if (each.kind === "take") {
            const taken = outbox.take(nowMs);
            if (taken === undefined) continue;
            expect(underWay.map(({ event }) => event.lane)).not.toContain(taken.event.lane);
            underWay.push(taken);
            expect(underWay.length).toBeLessThanOrEqual(DELIVERIES_IN_FLIGHT_MAX);
          } else if (each.kind === "end") {
            const ended = underWay.shift();
            if (ended === undefined) continue;
            if (each.isDelivered) {
              done.push(ended.event);
              outbox.delivered(ended, nowMs);
            } else if (outbox.failed(ended, nowMs, undefined)) dead.push(ended.event);
          } else if (each.kind === "wait") nowMs += each.ms;
          else {
            // As a crash leaves it: what was under way waits again.
            underWay = [];
            const kept = JSON.parse(JSON.stringify(outbox.list())) as PendingDelivery[];
            outbox = new Outbox(() => 0.5, outbox.health, kept);
          }
        }
        const left = outbox.list().map(({ event }) => event.id);
        const all = [...done, ...dead].map(({ id }) => id);
        expect([...all, ...left].toSorted()).toEqual(added.map(({ id }) => id).toSorted());
        for (const lane of ["a", "b", "c", ""]) {
          const numbers = done.filter((event) => event.lane === lane).map(({ data }) => data["n"]);
          expect(numbers).toEqual(numbers.toSorted((x, y) => Number(x) - Number(y)));
        }
      }),
      { numRuns: 300 },
    );
  });

  it("tries one event for a day, ever more slowly, and then gives it up", () => {
    const outbox = new Outbox(() => 0);
    outbox.add(eventOf("a", 1));
    outbox.add(eventOf("a", 2));
    const times: number[] = [];
    let isDead = false;
    for (let nowMs = START_MS; !isDead; nowMs += 1000) {
      const taken = outbox.take(nowMs);
      if (taken === undefined) continue;
      times.push(nowMs - START_MS);
      isDead = outbox.failed(taken, nowMs, undefined);
    }
    expect(times[0]).toBe(0);
    expect(times.at(-1)).toBeGreaterThanOrEqual(RETRY_PERIOD_MS);
    expect(times.at(-1)).toBeLessThan(RETRY_PERIOD_MS + 2 * HOUR_MS);
    expect(times.length).toBeLessThan(150);
    expect(outbox.list().map(({ event }) => event.id)).toEqual(["evt_2"]);
  });

  it("goes on with other lanes while one fails", () => {
    const outbox = new Outbox(() => 0);
    outbox.add(eventOf("poison", 0));
    for (let n = 1; n <= 20; n++) outbox.add(eventOf("sound", n));
    const delivered: string[] = [];
    for (let nowMs = START_MS; nowMs < START_MS + HOUR_MS; nowMs += 1000) {
      for (let taken = outbox.take(nowMs); taken !== undefined; taken = outbox.take(nowMs)) {
        if (taken.event.lane === "poison") outbox.failed(taken, nowMs, undefined);
        else {
          delivered.push(taken.event.id);
          outbox.delivered(taken, nowMs);
        }
      }
    }
    expect(delivered).toHaveLength(20);
    expect(outbox.list()).toHaveLength(1);
    expect(outbox.list()[0]!.attempts).toBeLessThan(10);
  });

  it("asks an endpoint that is down by one event at a time, and sends all once it answers", () => {
    const outbox = new Outbox(() => 0);
    for (let n = 0; n < 100; n++) outbox.add(eventOf(`lane-${n}`, n));
    let attempts = 0;
    let nowMs = START_MS;
    for (; nowMs < START_MS + 12 * HOUR_MS; nowMs += 1000) {
      for (let taken = outbox.take(nowMs); taken !== undefined; taken = outbox.take(nowMs)) {
        attempts++;
        outbox.failed(taken, nowMs, undefined);
      }
    }
    expect(outbox.isDown).toBe(true);
    expect(attempts).toBeLessThan(100);
    let delivered = 0;
    const endMs = nowMs + HOUR_MS;
    for (; nowMs < endMs && outbox.size > 0; nowMs += 1000) {
      for (let taken = outbox.take(nowMs); taken !== undefined; taken = outbox.take(nowMs)) {
        outbox.delivered(taken, nowMs);
        delivered++;
      }
    }
    expect(delivered).toBe(100);
    expect(endMs - nowMs).toBeGreaterThan(HOUR_MS / 2);
  });

  it("comes when the receiver asks for it, and within an hour", () => {
    const outbox = new Outbox(() => 0);
    outbox.add(eventOf("a", 1));
    const taken = outbox.take(START_MS)!;
    outbox.failed(taken, START_MS, 600);
    expect(taken.nextMs).toBe(START_MS + 600_000);
    outbox.take(START_MS + 600_000);
    outbox.failed(taken, START_MS + 600_000, 999_999);
    expect(taken.nextMs).toBe(START_MS + 600_000 + HOUR_MS);
  });

  it("spreads attempts by chance, by half at most", () => {
    const delays = [0, 0.25, 0.5, 0.99].map((chance) => computeRetryDelayMs(3, chance));
    expect(delays).toEqual(delays.toSorted((left, right) => right - left));
    expect(delays.at(-1)).toBeGreaterThan(delays[0]! / 2);
    expect(computeRetryDelayMs(1000, 0)).toBe(HOUR_MS);
  });
});
