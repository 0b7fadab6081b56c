// A port that several servers of one process share, and who is kept from it.
import { describe, expect, it } from "vitest";
import { probePort } from "../../../src/http/server/port-probe.ts";
import { call } from "../_client.ts";
import { describeAdapters, openTestServer, type TestServer } from "../_setup.ts";

/** New connections every time: `fetch` would keep one. */
const headers = { connection: "close" };
const ROUNDS = 64;

describeAdapters("a shared port", (adapter) => {
  it("deals connections out to all, and refuses whoever would have it alone", async () => {
    const port = await probePort("127.0.0.1", 0);
    const services: TestServer[] = [];
    for (let i = 0; i < 2; i++)
      services.push(await openTestServer(adapter, { port, isPortShared: true }));
    for (let i = 0; i < ROUNDS; i++) {
      expect((await call(services[0]!, "/healthz", { headers })).status).toBe(200);
    }
    const counts = services.map((service) => {
      const { requests } = service.server.counts().metrics;
      return requests.reduce((sum, [, count]) => sum + count, 0);
    });
    expect(counts[0]! + counts[1]!).toBe(ROUNDS);
    expect(Math.min(...counts)).toBeGreaterThan(0);
    await expect(openTestServer(adapter, { port })).rejects.toThrow(/port|EADDRINUSE/);
    await expect(probePort("127.0.0.1", port)).rejects.toThrow("is the port taken?");
    await Promise.all(services.map((service) => service.stop()));
  });
});

describe("findPort", () => {
  it("says what else is wrong with an address", async () => {
    await expect(probePort("192.0.2.1", 0)).rejects.toThrow("EADDRNOTAVAIL");
  });
});
