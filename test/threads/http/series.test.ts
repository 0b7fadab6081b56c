// Series and status of a real service with two HTTP threads: what either has answered is in both.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { WAIT_MS_MAX } from "../../_patience.ts";
import { endAll } from "../../cli/_process.ts";
import { type Connection, connectToBoth, startThreads } from "./_service.ts";

const folder = mkdtempSync(join(tmpdir(), "trustrank-series-"));
const CHECK = { subject: "agent://acme/ledger-sync", stakes: 5 };
const ASKED = 7;
const PATIENCE = { timeout: WAIT_MS_MAX, interval: 200 };

describe("the service by the second", () => {
  let both: [Connection, Connection];
  beforeAll(async () => {
    const { url } = await startThreads(join(folder, "data"));
    both = await connectToBoth(url);
  });
  afterAll(async () => {
    for (const each of both ?? []) each.close();
    await endAll();
    rmSync(folder, { recursive: true, force: true });
  });

  const sumOf = (counts: number[]) => counts.reduce((sum, count) => sum + count, 0);
  const answeredIn = (series: { let_through: number[]; denied: number[] }) =>
    sumOf(series.let_through) + sumOf(series.denied);

  it("counts what both threads have answered, and times it", async () => {
    // Each thread has been looked at once.
    const path = "/v1/service/series";
    await vi.waitFor(async () => {
      expect((await both[0].ask(path)).json.at.length).toBeGreaterThan(0);
    }, PATIENCE);
    for (const each of both) {
      for (let count = 0; count < ASKED; count++) await each.ask("/v1/check", { body: CHECK });
    }
    await vi.waitFor(async () => {
      expect(answeredIn((await both[0].ask(path)).json)).toBe(2 * ASKED);
    }, PATIENCE);
    const { json } = await both[1].ask(path);
    expect(sumOf(json.whole.latency_counts)).toBe(2 * ASKED);
    expect(json.whole.p99_ms).toBeGreaterThan(0);
    const since = json.at.at(-1) as string;
    const later = (await both[1].ask(`${path}?since=${since}`)).json;
    expect(later.at.every((at: string) => at > since)).toBe(true);
    const wrong = await both[0].ask(`${path}?since=yesterday`);
    expect([wrong.status, wrong.json.code]).toEqual([400, "invalid_parameter"]);
  });

  it("tells the state of every part, to those who may read metrics", async () => {
    for (const each of both) {
      const { status, json } = await each.ask("/v1/service/status");
      expect(status).toBe(200);
      expect(json).toMatchObject({
        ready: true,
        reasons: [],
        http: { threads: 2, console: "loopback" },
        journal: { damages: [] },
        disk: { is_low: false },
        store: { failure: null },
        archive: { is_set: false, age_seconds: null },
        webhooks: { endpoints: 0, dead: 0, oldest_seconds: 0 },
      });
      expect(json.http.connections_max).toBeGreaterThan(0);
    }
    const body = { tenant: "acme", scopes: ["score:read"] };
    const { key } = (await both[0].ask("/v1/keys", { body })).json as { key: string };
    for (const path of ["/v1/service/status", "/v1/service/series"]) {
      for (const each of both) expect((await each.ask(path, { key })).status).toBe(403);
    }
  });
});
