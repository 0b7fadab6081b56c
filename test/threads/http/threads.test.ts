// The further HTTP threads as the main one handles them: a table made anew, what they have counted,
// and one that cannot start.
import { afterAll, beforeAll, expect, test } from "vitest";
import { loadDefaultConfig } from "../../../src/engine/config.ts";
import { createUsageMemory, visitUsage } from "../../../src/http/access/usage-memory.ts";
import { createEngineMemory } from "../../../src/engine/memory.ts";
import { openEngineWriter } from "../../../src/engine/writer.ts";
import { openHttpThreads } from "../../../src/threads/http/threads.ts";
import type { OpenLedger } from "../../../src/ledger/client.ts";
import { createDecisionRing } from "../../../src/store/decisions/ring-layout.ts";
import { AGENTS, openWorld, post } from "../../spec/_world.ts";
import type { World } from "../../spec/_world.ts";

let world: World;
beforeAll(async () => {
  world = await openWorld();
});
afterAll(() => world.close());

test("a thread tells what it alone has counted", async () => {
  const { urls, key, threads, usageMemory } = world;
  const body = { subject: AGENTS.trusted, stakes: 1 };
  for (let i = 0; i < 3; i++) await post(urls[1], "/v1/check", body, key);
  await post(urls[0], "/v1/check", body, key);
  await post(urls[1], "/v1/check", {}, key);
  const [counts, ...others] = await threads.counts();
  expect(others).toEqual([]);
  const counted: unknown[] = [];
  visitUsage(usageMemory, (number, _day, { check, verify }) => {
    counted.push({ number, check, verify });
  });
  expect(counted).toEqual([{ number: 0, check: 3, verify: 0 }]);
  expect(counts?.metrics.requests.map(([, count]) => count).toSorted()).toEqual([1, 3]);
  expect(Object.values(counts!.metrics.tallies.checks).reduce((sum, count) => sum + count)).toBe(3);
  expect(counts?.figures).toMatchObject({
    outcomes_pending: 0,
    assessments_recorded_total: 0,
    assessments_repeated_total: 0,
    assessments_dropped_total: 0,
  });
});

test("what another thread has answered is counted once", async () => {
  const { urls, key } = world;
  const authorization = { authorization: `Bearer ${key}` };
  const rejected = async () => {
    const text = await (await fetch(`${urls[0]}/metrics`, { headers: authorization })).text();
    return Number(
      /^trustrank_http_faults_total\{code="query_rejected"\} (\d+)$/m.exec(text)?.[1] ?? 0,
    );
  };
  const before = await rejected();
  await post(urls[1], "/v1/query", { sql: "DROP TABLE agents" }, key);
  expect((await rejected()) - before).toBe(1);
});

test("a table made anew is read from the next request on", async () => {
  const { urls, key, threads } = world;
  const known = async (url: string) => {
    const path = `/v1/agents/${encodeURIComponent(AGENTS.trusted)}`;
    const response = await fetch(url + path, { headers: { authorization: `Bearer ${key}` } });
    return ((await response.json()) as { known: boolean }).known;
  };
  expect(await Promise.all(urls.map(known))).toEqual([true, true]);
  const empty = createEngineMemory();
  openEngineWriter(empty, loadDefaultConfig(), 1n);
  threads.rebind(empty);
  expect(await Promise.all(urls.map(known)), "the further thread alone was told").toEqual([
    true,
    false,
  ]);
});

test("threads that cannot start say why, and are no failure of a service that runs", async () => {
  const { promise: broken, resolve: onBroken } = Promise.withResolvers<string>();
  const ledger = { join: () => undefined, position: () => 0, rememberedSinceMs: 0 };
  const opening = openHttpThreads({
    shared: {} as never,
    ledger: ledger as unknown as OpenLedger,
    decisionRings: [createDecisionRing(), createDecisionRing()],
    usageMemories: [createUsageMemory(), createUsageMemory()],
    log: { info: () => undefined, warn: () => undefined, error: () => undefined },
    relay: () => Promise.reject(new Error("nothing is handed on")),
    scorer: undefined,
    assess: () => Promise.reject(new Error("nothing is assessed")),
    onRefused: () => undefined,
    onWatched: () => undefined,
    onAsked: () => undefined,
    onBroken: () => onBroken("broken"),
    entry: new URL("data:text/javascript,throw new Error('as planned')"),
  });
  await expect(opening).rejects.toThrow(/^HTTP thread \d: Error: as planned/);
  expect(await Promise.race([broken, Promise.resolve("not told")])).toBe("not told");
});
