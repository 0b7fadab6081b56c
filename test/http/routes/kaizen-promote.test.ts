// Promotion of a dry run over HTTP, on evidence from which a real run learns: live at once, on record
// with the key and the reason, told to nobody without the scope.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { parseServeConfig } from "../../../src/service/settings/config.ts";
import { startService } from "../../../src/service/start.ts";
import type { Service } from "../../../src/service/start.ts";
import { openStage, outcomesOf } from "../../kaizen/_service.ts";

const ADMIN_KEY = "kaizen-promote-test-key-of-enough-length";
const dataDir = mkdtempSync(join(tmpdir(), "kaizen-promote-"));
const silent = { info: () => undefined, warn: () => undefined, error: () => undefined };
let service: Service;

beforeAll(async () => {
  const stage = await openStage(dataDir);
  await stage.ledger.appendBatch(outcomesOf(1, 6000, Date.now(), 1.5));
  await stage.kaizen.close();
  await stage.ledger.close();
  const config = parseServeConfig(
    { port: "0", dataDir, sample: false },
    { TRUSTRANK_ADMIN_KEY: ADMIN_KEY },
  );
  service = await startService(config, silent, () => undefined);
}, 60_000);
afterAll(async () => {
  await service?.close();
  rmSync(dataDir, { recursive: true, force: true });
});

async function send(method: string, path: string, body?: unknown, key = ADMIN_KEY) {
  const response = await fetch(service.url + path, {
    method,
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    body: body === undefined ? null : JSON.stringify(body),
  });
  return { status: response.status, body: JSON.parse(await response.text()) };
}

describe("promoting a dry run", () => {
  it("answers a run's numbers, makes it live, and puts who and why on record", async () => {
    const asked = { dry_run: true, sign_off: true, holdout_days: 120 };
    const { body: run } = await send("POST", "/v1/kaizen/run", asked);
    expect(run.reason).toMatch(/^all gates passed/);
    const { body: shown } = await send("GET", `/v1/kaizen/runs/${run.run_id}`);
    expect(shown.numbers.sides[0].gates[1].measures[0]).toMatchObject({
      name: "z",
      comparison: "above",
      is_within: true,
    });
    const path = `/v1/kaizen/runs/${run.run_id}/promote`;
    const { body: made } = await send("POST", "/v1/keys", {
      tenant: "acme",
      scopes: ["score:read"],
    });
    expect((await send("POST", path, { reason: "x" }, made.key)).status).toBe(403);
    for (const wrong of [
      {},
      { reason: "" },
      { reason: "x".repeat(501) },
      { reason: "x", now: 1 },
    ]) {
      expect((await send("POST", path, wrong)).body.code).toBe("invalid_request");
    }
    const promoted = await send("POST", path, { reason: "reviewed on Tuesday" });
    expect(promoted).toMatchObject({
      status: 200,
      body: { state: "promoted", promotion: { reason: "reviewed on Tuesday" } },
    });
    const { body: runs } = await send("GET", "/v1/kaizen/runs");
    expect(runs).toMatchObject({ config_version: run.challenger_version, promoted_by: run.run_id });
    expect(await send("POST", path, { reason: "again" })).toMatchObject({
      status: 409,
      body: { code: "run_not_promotable" },
    });
    const back = await send("POST", "/v1/kaizen/rollback", { reason: "worse in Asia" });
    expect(back.status).toBe(200);
    const sql =
      "SELECT event, detail->>'run_id', detail->>'reason' FROM audit_events " +
      "WHERE event LIKE 'kaizen.%' ORDER BY event";
    await expect
      .poll(async () => (await send("POST", "/v1/query", { sql })).body.rows)
      .toEqual([
        ["kaizen.promoted", run.run_id, "reviewed on Tuesday"],
        ["kaizen.rolled_back", run.run_id, "worse in Asia"],
      ]);
  }, 60_000);

  it("knows no strange run", async () => {
    const path = "/v1/kaizen/runs/k-20260101-000000000/promote";
    expect((await send("POST", path, { reason: "x" })).status).toBe(404);
  });
});
