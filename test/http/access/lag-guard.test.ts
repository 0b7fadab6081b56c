// A node that has not heard of its cluster for too long believes no key that another node may have
// revoked; reads of scores go on for longer, and the environment's key always gets in.
import { expect, it } from "vitest";
import { LagGuard } from "../../../src/http/access/lag-guard.ts";
import { type Moment, readMonotonicMs } from "../../../src/platform/moment.ts";
import { StreamMetrics } from "../../../src/stream/metrics.ts";
import { createLagGuard } from "../../../src/threads/http/server.ts";
import { ADMIN_SECRET, describeAdapters, openTestServer } from "../_setup.ts";

const REFUSE_MS = 10_000;
const CHECK = { subject: "agent://acme/ledger-sync", stakes: 5 };

describeAdapters("a node behind its cluster", (adapter) => {
  it("refuses keys after a while, reads of scores after three times as long", async () => {
    const clock = { nowMs: 0 };
    const figures = new StreamMetrics();
    const lagGuard = new LagGuard(figures, REFUSE_MS, () => clock.nowMs);
    const service = await openTestServer(adapter, { lagGuard });
    try {
      const key = await service.makeKey(["score:read", "analytics:read"]);
      const ask = async (path: string, body: unknown, secret: string) => {
        const method = body === undefined ? "GET" : "POST";
        const headers = {
          authorization: `Bearer ${secret}`,
          ...(body === undefined ? {} : { "content-type": "application/json" }),
        };
        const init = body === undefined ? {} : { body: JSON.stringify(body) };
        return fetch(`http://127.0.0.1:${service.server.port}${path}`, {
          method,
          headers,
          ...init,
        });
      };
      const read = async () => (await ask("/v1/check", CHECK, key)).status;
      const other = async (secret = key) => (await ask("/v1/usage", undefined, secret)).status;
      figures.setCaughtUpAt(momentAt(1));
      clock.nowMs = 1 + REFUSE_MS;
      expect([await read(), await other()]).toEqual([200, 200]);
      clock.nowMs += 1;
      const refused = await ask("/v1/usage", undefined, key);
      expect([refused.status, refused.headers.get("retry-after")]).toEqual([503, "5"]);
      expect(await refused.json()).toMatchObject({ code: "node_behind" });
      expect([await read(), await other(ADMIN_SECRET)]).toEqual([200, 200]);
      expect(await other("nonsense"), "what is no key is told as ever").toBe(401);
      clock.nowMs = 1 + 3 * REFUSE_MS;
      expect(await read()).toBe(200);
      clock.nowMs += 1;
      expect(await read()).toBe(503);
      figures.setCaughtUpAt(momentAt(clock.nowMs - 5));
      expect([await read(), await other()]).toEqual([200, 200]);
    } finally {
      await service.stop();
    }
  });
});

/** By the wall clock alone: the monotonic age stays next to nothing. */
function momentAt(epochMs: number): Moment {
  return { epochMs, monotonicMs: readMonotonicMs() };
}

describeAdapters("answers of a node of a cluster", (adapter) => {
  it("tell how old their state may be, whatever else their head has", async () => {
    const clock = { nowMs: 1_000_000 };
    const figures = new StreamMetrics();
    const lagGuard = new LagGuard(figures, REFUSE_MS, () => clock.nowMs);
    const rateLimits = { score: { perSecond: 1, burst: 2 } };
    const service = await openTestServer(adapter, { lagGuard, rateLimits });
    const alone = await openTestServer(adapter, {});
    try {
      const ask = (of: typeof service, path: string, secret?: string) =>
        fetch(`http://127.0.0.1:${of.server.port}${path}`, {
          ...(path === "/v1/check"
            ? { method: "POST", body: JSON.stringify(CHECK) }
            : { method: "GET" }),
          headers: {
            "content-type": "application/json",
            ...(secret === undefined ? {} : { authorization: `Bearer ${secret}` }),
          },
        });
      const lagOf = (answer: Response) => answer.headers.get("x-trust-lag-ms");
      const key = await service.makeKey(["score:read"]);
      expect(lagOf(await ask(service, "/v1/usage", ADMIN_SECRET)), "not known yet").toBeNull();
      figures.setCaughtUpAt(momentAt(clock.nowMs - 240));
      const first = await ask(service, "/v1/check", key);
      expect([first.status, lagOf(first)]).toEqual([200, "240"]);
      expect(first.headers.get("ratelimit-policy")).not.toBeNull();
      clock.nowMs += 1000.5;
      const statuses = [];
      for (const answer of [
        await ask(service, "/v1/check", key),
        await ask(service, "/v1/check", key),
        await ask(service, "/v1/keys", key),
      ]) {
        statuses.push(answer.status);
        expect(lagOf(answer)).toBe("1241");
      }
      expect(statuses).toEqual([200, 429, 403]);
      expect(lagOf(await ask(service, "/livez"))).toBeNull();
      expect(lagOf(await ask(alone, "/v1/check", ADMIN_SECRET)), "no cluster").toBeNull();
    } finally {
      await service.stop();
      await alone.stop();
    }
  });
});

it("a further thread reads the same figures", () => {
  const figures = new StreamMetrics();
  const { shared } = new LagGuard(figures, REFUSE_MS, () => 0);
  const guard = createLagGuard(shared, () => 50_000)!;
  const ask = () => guard.assertCurrent({ keyId: "k1" }, undefined);
  expect(ask).toThrow("has not heard");
  figures.setCaughtUpAt(momentAt(49_000));
  expect(ask).not.toThrow();
  expect(createLagGuard(undefined, () => 0)).toBeUndefined();
});
