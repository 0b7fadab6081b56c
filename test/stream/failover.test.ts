// Three servers of which one dies or stands still, while two nodes append and two follow: nothing that was
// acknowledged is lost, every follower reads the same in the same order, by itself.
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { setTimeout as sleep } from "node:timers/promises";
import type { OrderedLog } from "../../src/stream/ordered-log.ts";
import { WAIT_MS_MAX } from "../_patience.ts";
import { messageOf, plain, reader } from "./_messages.ts";
import { type Servers, startServers } from "./_nats.ts";
import { needs } from "../_needs.ts";

/** Appends until stopped; resolves to the place of each message that was acknowledged. */
function appender(log: OrderedLog, origin: string) {
  const places = new Map<number, number>();
  let isStopped = false;
  const run = async () => {
    for (let n = 1; !isStopped; n++) {
      places.set(n, await log.append(messageOf(n, "x".repeat(2000), origin), WAIT_MS_MAX));
      await sleep(20);
    }
  };
  const running = run();
  return {
    places,
    /** Until so many more are acknowledged. */
    more: async (count: number) => {
      const until = places.size + count;
      await expect.poll(() => places.size).toBeGreaterThanOrEqual(until);
    },
    stop: async () => {
      isStopped = true;
      await running;
    },
  };
}

describe("on three servers", needs("nats-server"), () => {
  let servers: Servers;
  beforeAll(async () => {
    servers = await startServers({ size: 3 });
  });
  afterAll(() => servers?.stop());

  test("killed and stopped leaders cost no acknowledged message and no follower", async () => {
    const logs = await Promise.all([servers.open(), servers.open()]);
    const readers = logs.map((log) => reader(log));
    const appenders = logs.map((log, index) => appender(log, `node-${index}:1`));
    const goOn = async () => {
      await Promise.all(appenders.map((each) => each.more(20)));
      const { length } = readers[0]!.taken;
      // A follower whose server stands still gets no error: only its watch moves it on.
      for (const { upTo } of readers) await upTo(length + 20);
    };
    await goOn();
    const killed = await servers.leaderOf(logs[0]);
    await servers.kill(killed);
    await goOn();
    servers.start(killed);
    await servers.ready();
    const stopped = await servers.leaderOf(logs[0]);
    servers.signal(stopped, "SIGSTOP");
    await goOn();
    servers.signal(stopped, "SIGCONT");
    await goOn();
    await Promise.all(appenders.map(({ stop }) => stop()));
    const { lastSeq } = await logs[0].readState();
    const [first, second] = await Promise.all(
      readers.map(async ({ upTo }) => (await upTo(lastSeq)).map(plain)),
    );
    expect(second).toEqual(first);
    const found = new Map(first!.map(({ origin, n, seq }) => [`${origin} ${n}`, seq] as const));
    for (const [index, { places }] of appenders.entries()) {
      const lost = [...places.keys()].filter((n) => !found.has(`node-${index}:1 ${n}`));
      expect(lost).toEqual([]);
    }
    // A new node reads the same.
    const late = reader(await servers.open());
    expect((await late.upTo(lastSeq)).map(plain)).toEqual(first);
  });

  test("without a majority nothing is acknowledged, and what was is there when it is back", async () => {
    const log = await servers.open({ name: "majority" });
    expect(await log.append(messageOf(1), 10_000)).toBe(1);
    const leader = await servers.leaderOf(log);
    const others = [0, 1, 2].filter((index) => index !== leader);
    await Promise.all(others.map((index) => servers.kill(index)));
    await expect(log.append(messageOf(2), 3000)).rejects.toThrow(/not to be had/);
    for (const index of others) servers.start(index);
    await servers.ready();
    const place = await log.append(messageOf(3), WAIT_MS_MAX);
    const all = await reader(log).upTo(place);
    expect(all.map(({ n }) => n).filter((n) => n !== 2)).toEqual([1, 3]);
  });
});
