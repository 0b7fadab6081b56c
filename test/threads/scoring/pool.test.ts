// Batches on the pool and in place, by the real service: the same verdicts, faults that survive the
// crossing to another thread, and refusal instead of waiting when too many are under way.
import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { isDeepStrictEqual } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { VerifyBatchResponse } from "../../../src/contract/schemas/scores.ts";
import { endAll, startCommand, type Started } from "../../cli/_process.ts";

const KEY = "scoring-pool-admin-key-0123456789abcdef";
const dataDir = mkdtempSync(path.join(tmpdir(), "trustrank-pool-"));
const urls = new Map<string, string>();

beforeAll(async () => {
  // One history for all: each service that makes the sample dates it by the moment of its start.
  const first = await start("inline");
  first.process.kill("SIGTERM");
  await first.ended;
  for (const mode of ["pool", "auto"]) {
    cpSync(path.join(dataDir, "inline"), path.join(dataDir, mode), { recursive: true });
  }
  await Promise.all(["inline", "pool", "auto"].map(start));
});

afterAll(async () => {
  await endAll();
  rmSync(dataDir, { recursive: true, force: true });
});

async function start(mode: string): Promise<Started> {
  const parameters = ["serve", "--port", "0", "--scoring", mode, "--json"];
  const started = startCommand([...parameters, "--data-dir", path.join(dataDir, mode)], {
    TRUSTRANK_ADMIN_KEY: KEY,
  });
  const { url } = JSON.parse(await started.firstLine) as { url: string };
  urls.set(mode, url);
  return started;
}

function post(mode: string, body: unknown): Promise<Response> {
  return fetch(`${urls.get(mode)}/v1/trust/verify/batch`, {
    method: "POST",
    headers: { authorization: `Bearer ${KEY}`, "content-type": "application/json" },
    body: typeof body === "string" ? body : JSON.stringify(body),
  });
}

/** The answer, once there is time for one: a busy machine refuses what would come too late. */
async function answer(mode: string, body: unknown): Promise<Response> {
  const responses: Response[] = [];
  const ask = async () => responses.unshift(await post(mode, body)) && responses[0]!.status;
  await expect.poll(ask).not.toBe(503);
  return responses[0]!;
}

function items(count: number): unknown[] {
  return Array.from({ length: count }, (_, i) => ({
    agent_id: i % 3 === 0 ? "agent://globex/price-scout" : `agent://acme/new-${i}`,
    action: "order.place",
    tool_level: `L${i % 4}`,
    context: {},
  }));
}

async function verdicts(mode: string, count: number): Promise<unknown[]> {
  const response = await answer(mode, { items: items(count) });
  expect(response.status).toBe(200);
  const { items: results } = (await response.json()) as VerifyBatchResponse;
  return results.map((item) => {
    if (!("result" in item)) return item;
    const { trust_evaluation, policy_action, reason_codes, config_version } = item.result;
    return { trust_evaluation, policy_action, reason_codes, config_version };
  });
}

/** Scores move with the clock: now and then one is rounded another way a moment later. */
const TRIES = 5;

test("the same verdicts wherever they are scored, small and large, in order", async () => {
  for (const count of [1, 40, 1000]) {
    for (let left = TRIES; ; left -= 1) {
      const asked = ["inline", "pool", "auto"].map((mode) => verdicts(mode, count));
      const [inline, pool, auto] = await Promise.all(asked);
      expect(inline).toHaveLength(count);
      if (left > 1 && !isDeepStrictEqual([pool, auto], [inline, inline])) continue;
      expect([pool, auto]).toEqual([inline, inline]);
      break;
    }
  }
});

test("faults of the envelope and of an item cross threads with code and pointer", async () => {
  const twice = await answer("pool", '{"items":[],"items":[]}');
  expect(twice.status).toBe(400);
  expect(await twice.json()).toMatchObject({ code: "invalid_request" });
  const mixed = await answer("pool", { items: [{ agent_id: "" }, ...items(1)] });
  const { items: results } = (await mixed.json()) as VerifyBatchResponse;
  expect(results[0]).toMatchObject({ status: 400, problem: { code: "invalid_request" } });
  expect(results[1]).toMatchObject({ status: 200 });
});

test("a pool that is full refuses, and every accepted batch is answered", async () => {
  const all = await Promise.all(
    Array.from({ length: 400 }, () => post("pool", { items: items(200) })),
  );
  const statuses = all.map((response) => response.status);
  expect(statuses.filter((status) => status !== 200 && status !== 503)).toEqual([]);
  expect(statuses).toContain(200);
  const after = await answer("pool", { items: items(2) });
  expect(after.status).toBe(200);
});
