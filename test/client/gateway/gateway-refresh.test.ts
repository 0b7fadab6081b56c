// Background refresh on virtual time over a real bureau: which agents are asked about again, how many
// at once, and that a fault of it changes nothing for anybody.
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { TrustRankClient } from "../../../src/client/client.ts";
import { TrustGateway, type TrustGatewayOptions } from "../../../src/client/gateway/gateway.ts";
import type { FetchLike } from "../../../src/client/runtime.ts";
import { NEWEST_MS, openSampleBureau } from "../../bureau/_harness.ts";
import { MINUTE_MS } from "../_gateway.ts";
import { openDoor } from "./_bureau.ts";

const AGENT = "agent://acme/ledger-sync";
const { engine } = openSampleBureau();

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
});
afterEach(() => {
  vi.useRealTimers();
});

function open(more: Partial<TrustGatewayOptions> = {}) {
  const door = openDoor(engine, () => NEWEST_MS);
  const batches: number[] = [];
  const service = { isDown: false, delayMs: 0 };
  let underWay = 0;
  const seen = { batchesAtOnce: 0 };
  const fetch: FetchLike = async (url, init) => {
    const isBatch = url.endsWith("/batch");
    if (isBatch) {
      batches.push((JSON.parse(init.body as string) as { items: unknown[] }).items.length);
      underWay += 1;
      seen.batchesAtOnce = Math.max(seen.batchesAtOnce, underWay);
      if (service.delayMs > 0) await new Promise((done) => setTimeout(done, service.delayMs));
      underWay -= 1;
    }
    if (service.isDown) throw new TypeError("fetch failed");
    return door.fetch(url, init);
  };
  const client = new TrustRankClient({ baseUrl: "http://bureau", fetch });
  const gateway = new TrustGateway({ client, refresh: true, follow: false, ...more });
  const ask = (agentId = AGENT, toolLevel: "L1" | "L2" | "L3" = "L3", stakes = 0) =>
    gateway.authorize({ agentId, action: "a.b", toolLevel, stakes });
  const pass = (minutes: number) => vi.advanceTimersByTimeAsync(minutes * MINUTE_MS);
  return { gateway, ask, pass, door, batches, service, seen };
}

describe("an agent in use", () => {
  it("never waits again: its answer is refreshed before it ends, for every level", async () => {
    const { ask, pass, gateway, batches } = open();
    await ask();
    for (let minute = 0; minute < 30; minute += 1) {
      await pass(1);
      const answer = await ask(AGENT, minute % 2 === 0 ? "L2" : "L3");
      expect(answer).toMatchObject({ isCached: true, allowed: true });
      expect(answer.ageMs).toBeLessThan(5 * MINUTE_MS);
    }
    expect(gateway.counts.asked).toBe(1);
    // Once in the last fifth of every lifetime: each fifth minute at the most.
    expect(batches.length).toBeGreaterThanOrEqual(6);
    expect(batches.length).toBeLessThanOrEqual(8);
    expect(gateway.counts.refreshed).toBe(batches.length);
    gateway.close();
  });

  it("is one that was asked about since its last read, and no other", async () => {
    const { ask, pass, gateway, batches } = open();
    await ask();
    await pass(10);
    expect(batches, "asked once").toEqual([]);
    await ask();
    await pass(1);
    await ask();
    await pass(20);
    expect(batches, "once more, then not in use").toEqual([1]);
    expect(vi.getTimerCount(), "nothing left to look after").toBe(0);
    gateway.close();
  });

  it("is not refreshed unless the gateway says so", async () => {
    const { ask, pass, batches } = open({ refresh: false });
    await ask();
    await ask();
    expect(vi.getTimerCount()).toBe(0);
    await pass(10);
    expect(batches).toEqual([]);
  });
});

describe("bounds", () => {
  const use = async ({ ask }: ReturnType<typeof open>, count: number) => {
    for (let round = 0; round < 2; round += 1) {
      for (let index = 0; index < count; index += 1) await ask(`agent://new/${index}`, "L2");
    }
  };

  it("keep the agents used last, in batches of a size, few at once", async () => {
    const options = { agentsMax: 50, batchMax: 10, batchesMax: 2 };
    const opened = open({ refresh: options });
    opened.service.delayMs = 100;
    await use(opened, 80);
    await opened.pass(4.9);
    expect(opened.batches).toEqual([10, 10, 10, 10, 10]);
    expect(opened.seen.batchesAtOnce).toBe(2);
    await opened.pass(0.2);
    expect(await opened.ask("agent://new/79", "L2")).toMatchObject({ isCached: true });
    expect(await opened.ask("agent://new/0", "L2")).toMatchObject({ isCached: false });
    opened.gateway.close();
  });

  it("end with close: no timer, no batch, and nobody is denied for it", async () => {
    const { ask, pass, gateway, batches, service } = open();
    await ask();
    await ask();
    service.delayMs = MINUTE_MS;
    await pass(4.2);
    expect(batches).toEqual([1]);
    gateway.close();
    await pass(0.1);
    await ask();
    // The transport's own limit of the batch under way is gone with it.
    await pass(20);
    expect(batches).toEqual([1]);
    expect(vi.getTimerCount()).toBe(0);
    expect(await ask()).toMatchObject({ allowed: true });
  });
});

describe("a fault of the refresh", () => {
  it("leaves a live answer as it is, no longer and no shorter", async () => {
    const { ask, pass, gateway, service, batches } = open();
    await ask();
    await ask();
    service.isDown = true;
    await pass(4.9);
    expect(batches.length).toBeGreaterThan(1);
    expect(await ask()).toMatchObject({ allowed: true, isCached: true });
    expect(gateway.counts).toMatchObject({ degraded: 0, blocked: 0 });
    await pass(0.1);
    expect(await ask()).toMatchObject({ allowed: false, status: 503 });
    gateway.close();
  });

  it("is tried again ever more rarely, and not at all without a live answer", async () => {
    const { ask, pass, gateway, service, batches } = open({ cache: { ttlMs: 5 * MINUTE_MS } });
    await ask();
    await ask();
    service.isDown = true;
    await pass(5);
    const attempts = batches.length;
    expect(attempts).toBeGreaterThan(1);
    // Four looks in the last minute; the pauses of 5, 10 and 20 s leave at most three of them.
    expect(attempts).toBeLessThanOrEqual(4);
    await pass(30);
    expect(batches.length).toBe(attempts);
    service.isDown = false;
    expect(await ask()).toMatchObject({ allowed: true, isCached: false });
    gateway.close();
  });

  it("waits as long as the service asks for", async () => {
    const { ask, pass, door } = open();
    let batches = 0;
    const fetch: FetchLike = async (url, init) => {
      if (!url.endsWith("/batch")) return door.fetch(url, init);
      batches += 1;
      const body = { code: "rate_limited", detail: "later" };
      const headers = { "Content-Type": "application/problem+json", "Retry-After": "50" };
      return new Response(JSON.stringify(body), { status: 429, headers });
    };
    const client = new TrustRankClient({ baseUrl: "http://bureau", fetch });
    const gateway = new TrustGateway({ client, refresh: true, follow: false });
    const request = { agentId: AGENT, action: "a.b", toolLevel: "L3" } as const;
    await gateway.authorize(request);
    await gateway.authorize(request);
    await ask();
    await pass(4.75);
    expect(batches).toBe(1);
    gateway.close();
  });
});

describe("what is forgotten", () => {
  it("does not come back by an answer that was on its way", async () => {
    const { ask, pass, gateway, service, batches } = open();
    await ask();
    await ask();
    service.delayMs = 1000;
    await pass(4.01);
    expect(batches).toEqual([1]);
    gateway.forget(AGENT);
    await pass(1);
    expect(await ask()).toMatchObject({ isCached: false });
    gateway.close();
  });
});
