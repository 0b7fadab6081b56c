// A store that lags: on record once, after a minute, and again only when it has caught up in between.
import { afterEach, expect, it } from "vitest";
import { StoreLagMonitor } from "../../../src/service/health/store-lag-monitor.ts";

const MINUTE_MS = 60_000;
const watches: StoreLagMonitor[] = [];

afterEach(() => {
  for (const watch of watches.splice(0)) watch.close();
});

function open(append: (payload: Uint8Array) => Promise<unknown> = () => Promise.resolve()) {
  const clock = { nowMs: 1_000_000_000 };
  const state = {
    behindSinceMs: 0,
    appliedLsn: 10,
    durableLsn: 90,
    failure: "",
    isBuilding: false,
  };
  const records: Record<string, unknown>[] = [];
  const logged: string[] = [];
  const log = (message: string) => void logged.push(message);
  const watch = new StoreLagMonitor({
    state: () => state,
    append: (payload) => {
      records.push(JSON.parse(Buffer.from(payload).toString()) as Record<string, unknown>);
      return append(payload);
    },
    clock: () => clock.nowMs,
    log: { info: log, warn: log },
  });
  watches.push(watch);
  return { clock, state, records, logged, watch };
}

it("is told of once it has lagged for a minute, and once for each time", () => {
  const { clock, state, records, logged, watch } = open();
  watch.look();
  state.behindSinceMs = clock.nowMs;
  clock.nowMs += MINUTE_MS - 1;
  watch.look();
  expect(records).toEqual([]);
  clock.nowMs += 1;
  watch.look();
  clock.nowMs += 30 * MINUTE_MS;
  watch.look();
  expect(records).toEqual([
    {
      event: "store.lagging",
      at_ms: 1_000_000_000 + MINUTE_MS,
      behind_seconds: 60,
      position: 10,
      durable_position: 90,
      is_rebuilding: false,
      reason: null,
    },
  ]);
  state.behindSinceMs = 0;
  watch.look();
  Object.assign(state, { behindSinceMs: clock.nowMs, failure: "no room" });
  clock.nowMs += MINUTE_MS;
  watch.look();
  expect(records).toHaveLength(2);
  expect(records[1]).toMatchObject({ reason: "no room" });
  expect(logged).toEqual(["store_lagging", "store_caught_up", "store_lagging"]);
});

it("fills no journal by lagging on and off", () => {
  const { clock, state, records, watch } = open();
  for (let n = 0; n < 60; n++) {
    state.behindSinceMs = clock.nowMs;
    clock.nowMs += MINUTE_MS;
    watch.look();
    state.behindSinceMs = 0;
    watch.look();
  }
  expect(records).toHaveLength(6);
});

it("is told of in the log where the journal cannot take it", async () => {
  const { clock, state, logged, watch } = open(() => Promise.reject(new Error("disk")));
  state.behindSinceMs = clock.nowMs;
  clock.nowMs += MINUTE_MS;
  watch.look();
  await Promise.resolve();
  expect(logged).toEqual(["store_lagging", "store_lagging_not_on_record"]);
});
