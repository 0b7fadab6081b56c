// Shipments: when they are asked for, what is told of them and how often, and that nobody waits for a
// target that does not answer.
import { beforeEach, expect, test } from "vitest";
import { collectArchiveMetrics } from "../../../src/service/health/metrics.ts";
import { listArchiveWarnings } from "../../../src/service/health/readiness.ts";
import {
  ArchiveScheduler,
  type ArchiveReply,
  type ArchiveRequest,
} from "../../../src/threads/archive/scheduler.ts";

const START_MS = 1_800_000_000_000;
const EVERY_MS = 10_000;
const shipped = (position: number, parted?: string): ArchiveReply => ({
  kind: "shipped",
  position,
  parted,
});
const failed = (why: string): ArchiveReply => ({ kind: "failed", why });

let nowMs: number;
let durable: number;
let asked: ArchiveRequest[];
let told: string[];
let reply: (reply: ArchiveReply) => void;
let end: (why: string) => void;
let tick: () => void;
let isRepeating: boolean;

beforeEach(() => {
  nowMs = START_MS;
  durable = 5;
  asked = [];
  told = [];
});

function keep(terminate: () => Promise<unknown> = () => Promise.resolve()): ArchiveScheduler {
  return new ArchiveScheduler({
    thread: {
      post: (request) => asked.push(request),
      onReply: (take) => (reply = take),
      onEnd: (take) => (end = take),
      terminate,
    },
    everyMs: EVERY_MS,
    clock: () => nowMs,
    durable: () => durable,
    log: {
      info: (event, fields) => told.push(`info ${event}: ${String(fields?.["detail"])}`),
      error: (event, fields) => told.push(`error ${event}: ${String(fields?.["detail"])}`),
    },
    repeat: (act, everyMs) => {
      expect(everyMs).toBe(EVERY_MS);
      isRepeating = true;
      tick = () => {
        nowMs += everyMs;
        act();
      };
      return () => (isRepeating = false);
    },
  });
}

test("one shipment at the start and one an interval, never two at once", () => {
  const keeper = keep();
  expect(asked).toEqual([{ nowMs: START_MS, durable: 5, isLast: false }]);
  tick();
  expect(asked).toHaveLength(1);
  reply(shipped(5));
  expect(asked).toHaveLength(1);
  durable = 9;
  tick();
  expect(asked.at(-1)).toEqual({ nowMs: START_MS + 20_000, durable: 9, isLast: false });
  reply(shipped(9));
  expect(keeper.status()).toMatchObject({ ageMs: 0, position: 9, failures: 0, why: "" });
  nowMs += 3000;
  expect(keeper.status().ageMs).toBe(3000);
  expect(told).toEqual([]);
});

test("the age counts from when a shipment was asked for, not from when it ended", () => {
  const keeper = keep();
  nowMs += 4000;
  reply(shipped(5));
  expect(keeper.status().ageMs).toBe(4000);
});

test("trouble is counted each time and told once, the end of it as well", () => {
  const keeper = keep();
  reply(failed("ENOSPC"));
  for (const why of ["ENOSPC", "ENOSPC", "EIO", "ENOSPC"]) {
    tick();
    reply(failed(why));
  }
  expect(keeper.status()).toMatchObject({ ageMs: 40_000, failures: 5, why: "ENOSPC" });
  expect(told).toEqual(["error archive_failed: ENOSPC", "error archive_failed: EIO"]);
  expect(listArchiveWarnings(keeper.status())).toEqual([
    "archive does not follow: ENOSPC; it is 40 s old",
  ]);
  tick();
  reply(shipped(7));
  expect(told.at(-1)).toBe("info archive_recovered: position 7");
  expect(keeper.status()).toMatchObject({ ageMs: 0, failures: 5, why: "" });
  expect(listArchiveWarnings(keeper.status())).toEqual([]);
  tick();
  reply(failed("ENOSPC"));
  expect(told.at(-1)).toBe("error archive_failed: ENOSPC");
});

test("a target that hangs is told of once, and the age grows", () => {
  const keeper = keep();
  for (let round = 0; round < 9; round++) tick();
  expect(asked).toHaveLength(1);
  expect(told).toEqual(["error archive_late: a shipment takes 60 s so far"]);
  expect(collectArchiveMetrics(keeper.status(), 8)).toEqual({
    archive_age_seconds: 90,
    archive_interval_seconds: 10,
    archive_lag_records: 8,
    archive_failures_total: 0,
    archive_parted: 0,
  });
  expect(listArchiveWarnings(keeper.status())).toEqual(["archive is behind: it is 90 s old"]);
});

test("another history is told of, and stays in the warnings", () => {
  const keeper = keep();
  for (let round = 0; round < 2; round++) {
    reply(shipped(5, "parted-1"));
    tick();
  }
  expect(told).toEqual([
    expect.stringContaining("archive_parted: the archive held another history"),
  ]);
  expect(listArchiveWarnings(keeper.status())).toEqual([expect.stringContaining("`parted-1`")]);
  expect(collectArchiveMetrics(keeper.status(), 5)).toMatchObject({ archive_parted: 1 });
});

test("an end ships once more what is durable by then", async () => {
  const keeper = keep();
  reply(shipped(5));
  durable = 11;
  const closing = keeper.close();
  expect(isRepeating).toBe(false);
  await Promise.resolve();
  expect(asked.at(-1)).toMatchObject({ durable: 11, isLast: true });
  reply(shipped(11));
  await closing;
  expect(keeper.isLate).toBe(false);
  expect(keeper.status().position).toBe(11);
});

test("a thread that has ended is asked nothing any more", async () => {
  const keeper = keep();
  end("out of memory");
  expect(keeper.status().why).toContain("out of memory");
  tick();
  await keeper.close();
  expect(asked).toHaveLength(1);
});

test("an end does not wait for a thread whose call does not come back", async () => {
  const keeper = keep(() => new Promise(() => undefined));
  await keeper.close();
  expect(keeper.isLate).toBe(true);
});

test("without an archive there is no figure and no warning", () => {
  expect(collectArchiveMetrics(undefined, 9)).toEqual({});
  expect(listArchiveWarnings(undefined)).toEqual([]);
});
