// Kaizen over HTTP, in the service as it starts: run, list, show, page, roll back, and who may.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { parseServeConfig } from "../../../src/service/settings/config.ts";
import { startService } from "../../../src/service/start.ts";
import type { Service } from "../../../src/service/start.ts";

const ADMIN_KEY = "kaizen-http-test-key-of-enough-length";
const dataDir = mkdtempSync(join(tmpdir(), "kaizen-http-"));
const silent = { info: () => undefined, warn: () => undefined, error: () => undefined };
let service: Service;

beforeAll(async () => {
  const config = parseServeConfig(
    { port: "0", dataDir, sample: true },
    { TRUSTRANK_ADMIN_KEY: ADMIN_KEY },
  );
  service = await startService(config, silent, () => undefined);
});
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
  const text = await response.text();
  const isJson = response.headers.get("content-type")?.includes("json") === true;
  return { status: response.status, body: isJson ? JSON.parse(text) : text };
}

describe("kaizen over HTTP", () => {
  it("runs, answers with every gate, lists and shows the run, and makes its page", async () => {
    const run = await send("POST", "/v1/kaizen/run", { dry_run: true, holdout_days: 90 });
    expect(run.status).toBe(200);
    expect(run.body).toMatchObject({ state: "dry_run", started_by: "operator" });
    expect(run.body.findings.sides).toHaveLength(2);
    const { run_id: id } = run.body;
    const list = await send("GET", "/v1/kaizen/runs");
    expect(list.body.runs[0].run_id).toBe(id);
    expect(list.body.runs[0].gates[0]).toEqual({
      side: "check",
      id: "G1",
      passed: run.body.findings.sides[0].gates[0].passed,
      is_warning: false,
    });
    expect(list.body.next_run_at).toMatch(/T03:00:00/);
    const { report: _, ...answered } = run.body;
    expect((await send("GET", `/v1/kaizen/runs/${id}`)).body).toMatchObject(answered);
    const page = await send("GET", `/v1/kaizen/reports/${id}`);
    expect(page.body).toContain("<!doctype html>");
  });

  it("opens a run's page by a link, without a key, and no other page", async () => {
    const { body: run } = await send("POST", "/v1/kaizen/run", { dry_run: true });
    const { url, expires_at } = run.report;
    expect(Date.parse(expires_at) - Date.now()).toBeGreaterThan(14 * 60_000);
    const page = await fetch(service.url + url);
    expect(page.status).toBe(200);
    expect(page.headers.get("content-type")).toBe("text/html; charset=utf-8");
    expect(page.headers.get("content-security-policy")).toMatch(/^default-src 'none'/);
    expect(page.headers.get("referrer-policy")).toBe("no-referrer");
    expect(page.headers.get("cache-control")).toBe("no-store");
    expect(await page.text()).toContain(run.run_id);
    const { body: other } = await send("POST", "/v1/kaizen/run", { dry_run: true });
    for (const wrong of [
      url.replace(run.run_id, other.run_id),
      url.replace(/token=.*/, "token=x"),
      url.replace(/\?.*/, ""),
    ]) {
      const refused = await fetch(service.url + wrong);
      expect(refused.status).toBe(404);
      expect(await refused.text()).not.toContain("<!doctype");
    }
    const posted = await fetch(service.url + url, { method: "DELETE" });
    expect(posted.status).toBe(405);
  });

  it("runs as of an earlier time, and of no later one", async () => {
    const as_of = new Date(Date.now() - 30 * 86_400_000).toISOString();
    const then = await send("POST", "/v1/kaizen/run", { as_of });
    expect(then.body).toMatchObject({ state: "dry_run", as_of });
    const now = await send("POST", "/v1/kaizen/run", { dry_run: true });
    expect(then.body.rows).toBeLessThan(now.body.rows);
    expect(now.body).not.toHaveProperty("as_of");
    for (const wrong of [Date.now() + 3_600_000, "then"]) {
      expect(await send("POST", "/v1/kaizen/run", { as_of: wrong })).toMatchObject({
        status: 400,
        body: { code: "invalid_request", errors: [{ pointer: "/as_of" }] },
      });
    }
  });

  it("puts every run into the store, with each gate and its numbers", async () => {
    const run = await send("POST", "/v1/kaizen/run", { dry_run: true, holdout_days: 90 });
    const sql =
      "SELECT status, promoted, config_from, outcome_count, gates->>'$[0].id', " +
      "json_array_length(gates), record->>'run_id' FROM kaizen_runs WHERE run_id = " +
      `'${run.body.run_id}'`;
    const gates = run.body.findings.sides.flatMap((side: { gates: object[] }) => side.gates);
    const { champion_version: from, run_id: id } = run.body;
    const expected = ["dry_run", false, from, run.body.rows, "G1", gates.length, id];
    // The row follows the answer; until then the view shows the run under way.
    await expect
      .poll(async () => (await send("POST", "/v1/query", { sql })).body.rows)
      .toEqual([expected]);
  });

  it("answers at once when asked not to wait", async () => {
    const started = await send("POST", "/v1/kaizen/run", { dry_run: true, wait: false });
    expect(started.status).toBe(202);
    const readState = async () =>
      (await send("GET", `/v1/kaizen/runs/${started.body.run_id}`)).body.state;
    await expect.poll(readState, { interval: 100 }).toBe("dry_run");
  });

  it.each([
    ["an unknown member", { dryrun: true }],
    ["no days", { holdout_days: 0 }],
    ["text for a flag", { dry_run: "yes" }],
  ])("refuses %s", async (_, body) => {
    expect(await send("POST", "/v1/kaizen/run", body)).toMatchObject({
      status: 400,
      body: { code: "invalid_request" },
    });
  });

  it("has nothing to take back, knows no strange run, lets nobody else in", async () => {
    expect((await send("POST", "/v1/kaizen/rollback", {})).status).toBe(404);
    expect((await send("GET", "/v1/kaizen/runs/..%2Fstate")).status).toBe(404);
    const { body } = await send("POST", "/v1/keys", { tenant: "acme", scopes: ["score:read"] });
    expect((await send("GET", "/v1/kaizen/runs", undefined, body.key)).status).toBe(403);
  });
});
