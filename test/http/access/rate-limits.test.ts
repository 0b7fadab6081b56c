// Token buckets, alone with a clock the test moves and over HTTP with their headers.
import { once } from "node:events";
import { Worker } from "node:worker_threads";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Principal } from "../../../src/contract/principal.ts";
import { createBucketMemory, RateLimiter } from "../../../src/http/access/rate-limits.ts";
import { call, problemIn } from "../_client.ts";
import type { BucketTask } from "./_bucket-thread.ts";
import {
  CHECK_BODY,
  describeAdapters,
  openTestServer,
  OUTCOME_BODY,
  type TestServer,
  VERIFY_BODY,
} from "../_setup.ts";

const PRINCIPAL: Principal = {
  keyId: "k1",
  tenant: "t",
  scopes: new Set(),
  minimumScores: { L0: 0, L1: 0, L2: 0, L3: 0 },
  isShadow: false,
  isFirstParty: false,
  voice: 2,
};

describe("RateLimiter", () => {
  it("lets the burst through, then the rate, per key and class", () => {
    let nowMs = 0;
    const limiter = new RateLimiter({ score: { perSecond: 10, burst: 3 } }, () => nowMs);
    const take = (keyId: string) =>
      limiter.take({ ...PRINCIPAL, keyId }, "score", 1)?.retryAfterSec === undefined;
    expect([take("a"), take("a"), take("a"), take("a"), take("b")]).toEqual([
      true,
      true,
      true,
      false,
      true,
    ]);
    nowMs = 100;
    expect([take("a"), take("a")]).toEqual([true, false]);
    nowMs = 60_000;
    expect([take("a"), take("a"), take("a"), take("a")]).toEqual([true, true, true, false]);
    expect(limiter.take(PRINCIPAL, "outcomes", 1)).toBeUndefined();
  });

  it("lets a batch into debt and makes the key wait it out", () => {
    let nowMs = 0;
    const limiter = new RateLimiter({ score: { perSecond: 10, burst: 5 } }, () => nowMs);
    expect(limiter.take(PRINCIPAL, "score", 1)?.retryAfterSec).toBeUndefined();
    limiter.charge(PRINCIPAL, "score", 24);
    expect(limiter.take(PRINCIPAL, "score", 1)?.retryAfterSec).toBe(3);
    nowMs = 2000;
    expect(limiter.take(PRINCIPAL, "score", 1)?.retryAfterSec).toBe(1);
    nowMs = 2100;
    expect(limiter.take(PRINCIPAL, "score", 1)?.retryAfterSec).toBeUndefined();
  });

  it("stands still when the clock goes back", () => {
    let nowMs = 1000;
    const limiter = new RateLimiter({ score: { perSecond: 1, burst: 1 } }, () => nowMs);
    limiter.take(PRINCIPAL, "score", 1);
    nowMs = 0;
    expect(limiter.take(PRINCIPAL, "score", 1)?.retryAfterSec).toBe(1);
  });

  it("is one limit for all threads that share the buckets, to the token", async () => {
    const task: BucketTask = {
      memory: createBucketMemory(),
      gate: new SharedArrayBuffer(4),
      limit: { perSecond: 1, burst: 150_000 },
      takes: 100_000,
    };
    const entry = new URL("./_bucket-thread.ts", import.meta.url);
    const workers = [1, 2].map(() => new Worker(entry, { workerData: task }));
    await Promise.all(workers.map((worker) => once(worker, "message")));
    const taken = Promise.all(workers.map((worker) => once(worker, "message")));
    const gate = new Int32Array(task.gate);
    Atomics.store(gate, 0, 1);
    Atomics.notify(gate, 0);
    const counts = (await taken).map(([count]) => count as number);
    expect(counts[0]! + counts[1]!).toBe(task.limit.burst);
    expect(Math.min(...counts)).toBeGreaterThan(0);
  });

  it("keeps the buckets of keys and classes apart", () => {
    const limit = { perSecond: 1, burst: 1 };
    const limits = { score: limit, outcomes: limit };
    const buckets = { memory: createBucketMemory(), findKeyNumber: (id: string) => Number(id) };
    const limiter = new RateLimiter(limits, () => 0, buckets);
    for (const rateClass of ["score", "outcomes"] as const) {
      for (const keyId of ["0", "1", "2"]) {
        const take = () =>
          limiter.take({ ...PRINCIPAL, keyId, voice: 2 + Number(keyId) }, rateClass, 1)
            ?.retryAfterSec;
        expect([take(), take()]).toEqual([undefined, 1]);
      }
    }
  });

  it("limits outcomes by tenant, but for first-party keys and administrators", () => {
    const limiter = new RateLimiter({ outcomes: { perSecond: 1, burst: 2 } }, () => 0);
    const take = (more: Partial<Principal>) =>
      limiter.take({ ...PRINCIPAL, ...more }, "outcomes", 1)?.retryAfterSec;
    expect([take({ keyId: "a" }), take({ keyId: "b" }), take({ keyId: "c" })]).toEqual([
      undefined,
      undefined,
      1,
    ]);
    expect(take({ keyId: "d", tenant: "u", voice: 3 })).toBeUndefined();
    for (let count = 0; count < 5; count++) {
      expect(take({ isFirstParty: true })).toBeUndefined();
      expect(take({ scopes: new Set(["admin"]) })).toBeUndefined();
    }
    limiter.charge({ ...PRINCIPAL, isFirstParty: true, voice: 3 }, "outcomes", 100);
    expect(take({ tenant: "u", voice: 3 })).toBeUndefined();
    expect(take({ tenant: "u", voice: 3 })).toBe(1);
  });

  it("refuses limits that let nothing through", () => {
    expect(() => new RateLimiter({ score: { perSecond: 0, burst: 5 } }, () => 0)).toThrow(/rate/);
  });
});

describeAdapters("rate limits over HTTP", (adapter) => {
  let service: TestServer;
  beforeAll(async () => {
    service = await openTestServer(adapter, { rateLimits: { score: { perSecond: 2, burst: 4 } } });
  });
  afterAll(async () => {
    await service.stop();
  });

  it("tells where the key stands, then 429 with when to come back", async () => {
    const statuses: number[] = [];
    for (let index = 0; index < 4; index += 1) {
      const answer = await call(service, "/v1/check", { body: CHECK_BODY });
      statuses.push(answer.status);
      expect(answer.headers.get("ratelimit-policy")).toBe('"score";q=4;w=2');
      expect(answer.headers.get("ratelimit")).toMatch(`"score";r=${3 - index};t=`);
    }
    expect(statuses).toEqual([200, 200, 200, 200]);
    const refused = await call(service, "/v1/check", { body: CHECK_BODY });
    expect([refused.status, problemIn(refused).code]).toEqual([429, "rate_limited"]);
    expect(refused.headers.get("retry-after")).toBe("1");
    expect(refused.headers.get("ratelimit")).toBe('"score";r=0;t=1');
    const other = await service.makeKey(["score:read"]);
    expect((await call(service, "/v1/check", { key: other, body: CHECK_BODY })).status).toBe(200);
    const outcome = await call(service, "/v1/outcomes", { body: OUTCOME_BODY });
    expect([outcome.status, outcome.headers.get("ratelimit")]).toEqual([201, null]);
    service.clock.nowMs += 500;
    expect((await call(service, "/v1/check", { body: CHECK_BODY })).status).toBe(200);
  });

  it("charges a batch by its items", async () => {
    const key = await service.makeKey(["score:read"]);
    const items = Array(9).fill(VERIFY_BODY);
    const answer = await call(service, "/v1/trust/verify/batch", { key, body: { items } });
    expect(answer.status).toBe(200);
    const refused = await call(service, "/v1/check", { key, body: CHECK_BODY });
    expect([refused.status, refused.headers.get("retry-after")]).toEqual([429, "3"]);
  });
});

describeAdapters("the limit of outcomes over HTTP", (adapter) => {
  let service: TestServer;
  beforeAll(async () => {
    const rateLimits = { outcomes: { perSecond: 2, burst: 4 } };
    service = await openTestServer(adapter, { rateLimits });
  });
  afterAll(async () => {
    await service.stop();
  });

  it("charges a tenant's batches by their items, whichever of its keys sends them", async () => {
    const report = (key: string, path = "/v1/outcomes", body: object = OUTCOME_BODY) =>
      call(service, path, { key, body });
    const [first, second] = [
      await service.makeKey(["outcomes:write"]),
      await service.makeKey(["outcomes:write"]),
    ];
    const outcomes = Array.from({ length: 9 }, (_, index) => {
      return { ...OUTCOME_BODY, outcome_id: `limited-${index}` };
    });
    expect((await report(first, "/v1/outcomes/batch", outcomes)).status).toBe(200);
    const refused = await report(second);
    expect([refused.status, refused.headers.get("retry-after")]).toEqual([429, "3"]);
    expect(problemIn(refused).detail).toContain("tenant");
    const admin = await call(service, "/v1/outcomes", { key: service.admin, body: OUTCOME_BODY });
    expect([admin.status, admin.headers.get("ratelimit")]).toEqual([201, null]);
  });
});
