// Jobs of the whole cluster on one node: taken when nobody has them, told once, given up when the lease has run out,
// given back at the end.
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { type ClusterJob, StreamMetrics } from "../../src/stream/metrics.ts";
import { JobLeases } from "../../src/stream/leases.ts";
import type { Lease } from "../../src/stream/ordered-log.ts";

const LEASE_MS = 15_000;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval", "Date"], now: 1_000_000 });
});
afterEach(() => {
  vi.useRealTimers();
});

/** Leases of several nodes, renewed by themselves while their node is not paused. */
class Bucket {
  readonly holders = new Map<string, { node: string; untilMs: number }>();
  readonly paused = new Set<string>();
  isAway = false;
  #token = 0;

  of(node: string) {
    return { acquireLease: (job: string) => this.#lease(node, job) };
  }

  async #lease(node: string, job: string): Promise<Lease | undefined> {
    if (this.isAway) throw new Error("no server answers");
    const { holders } = this;
    if ((holders.get(job)?.untilMs ?? 0) > Date.now()) return undefined;
    const own = { node, untilMs: Date.now() + LEASE_MS };
    holders.set(job, own);
    const leftMs = () => {
      const isOwn = holders.get(job) === own && own.untilMs > Date.now();
      if (isOwn && !this.isAway && !this.paused.has(node)) own.untilMs = Date.now() + LEASE_MS;
      return isOwn ? own.untilMs - Date.now() : 0;
    };
    return {
      token: ++this.#token,
      get isHeld() {
        return leftMs() > 0;
      },
      get leftMs() {
        return leftMs();
      },
      release: async () => {
        if (holders.get(job) === own) holders.delete(job);
      },
    };
  }
}

function nodeOver(bucket: Bucket, node: string, jobs: readonly ClusterJob[] = ["kaizen"]) {
  const figures = new StreamMetrics();
  const told: [ClusterJob, boolean][] = [];
  const leases = new JobLeases({
    jobs,
    log: bucket.of(node),
    figures,
    clock: Date.now,
    tell: ({ job, isHeld }) => void told.push([job, isHeld]),
  });
  leases.start();
  return { figures, told, leases, leads: () => figures.isJobOwner("kaizen", Date.now()) };
}

test("one node has a job, and another the next when it has gone", async () => {
  const bucket = new Bucket();
  const one = nodeOver(bucket, "one", ["kaizen", "credibility"]);
  await vi.advanceTimersByTimeAsync(1);
  const two = nodeOver(bucket, "two", ["kaizen", "credibility"]);
  await vi.advanceTimersByTimeAsync(60_000);
  expect([one.told, two.told]).toEqual([
    [
      ["kaizen", true],
      ["credibility", true],
    ],
    [],
  ]);
  expect([one.leads(), two.leads()]).toEqual([true, false]);
  expect(one.leases.listHeldJobs).toEqual(["kaizen", "credibility"]);
  await one.leases.close();
  expect([one.leads(), one.leases.listHeldJobs]).toEqual([false, []]);
  await vi.advanceTimersByTimeAsync(2000);
  expect([two.leads(), two.told]).toEqual([true, one.told.slice(0, 2)]);
  await two.leases.close();
});

test("a node that stood still knows at once that its time has run out", async () => {
  const bucket = new Bucket();
  const one = nodeOver(bucket, "one");
  await vi.advanceTimersByTimeAsync(1);
  const two = nodeOver(bucket, "two");
  await vi.advanceTimersByTimeAsync(4000);
  expect(one.leads()).toBe(true);
  // Its timers stand still with it: only time goes on.
  bucket.paused.add("one");
  vi.setSystemTime(Date.now() + LEASE_MS + 1);
  expect(one.leads()).toBe(false);
  await vi.advanceTimersByTimeAsync(2000);
  expect([one.leads(), two.leads()].filter(Boolean)).toHaveLength(1);
  expect(one.told).toContainEqual(["kaizen", false]);
  await Promise.all([one.leases.close(), two.leases.close()]);
});

test("while the log is away nothing is taken, and what runs out is told", async () => {
  const bucket = new Bucket();
  const one = nodeOver(bucket, "one");
  await vi.advanceTimersByTimeAsync(1);
  bucket.isAway = true;
  await vi.advanceTimersByTimeAsync(LEASE_MS + 2000);
  expect(one.leads()).toBe(false);
  expect(one.told).toEqual([
    ["kaizen", true],
    ["kaizen", false],
  ]);
  bucket.isAway = false;
  await vi.advanceTimersByTimeAsync(2000);
  expect(one.leads()).toBe(true);
  await one.leases.close();
});

test("a node takes only the jobs that it may do", async () => {
  const bucket = new Bucket();
  const one = nodeOver(bucket, "one", ["credibility"]);
  await vi.advanceTimersByTimeAsync(4000);
  expect([...bucket.holders.keys()]).toEqual(["credibility"]);
  expect(one.leads()).toBe(false);
  await one.leases.close();
});

test("started twice it asks once, and closed it asks no more", async () => {
  const bucket = new Bucket();
  const { leases } = nodeOver(bucket, "one");
  await vi.advanceTimersByTimeAsync(1);
  leases.start();
  await leases.close();
  leases.start();
  await vi.advanceTimersByTimeAsync(4000);
  expect([...bucket.holders.keys()]).toEqual([]);
});
