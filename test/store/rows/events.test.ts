// Events that are not in the journal, from the layers that send them to the views that show them.
import * as fs from "node:fs";
import { afterEach, expect, test } from "vitest";
import { createDecisionRing } from "../../../src/store/decisions/ring-layout.ts";
import { DecisionRing } from "../../../src/store/decisions/ring.ts";
import { type OpenStore, startStore } from "../../../src/store/client.ts";
import { entryOf, NOW_MS } from "../_decisions.ts";
import { LIMITS } from "../_fixtures.ts";

const opened: { store: OpenStore; dataDir: string }[] = [];

afterEach(async () => {
  for (const { store, dataDir } of opened.splice(0)) {
    await store.close();
    fs.rmSync(dataDir, { recursive: true });
  }
});

async function openWith(rings: SharedArrayBuffer[]): Promise<OpenStore> {
  const dataDir = fs.mkdtempSync("/tmp/trustrank-events-");
  const store = await startStore({ dataDir, isStandalone: true, rings, decisionsKeptDays: 36_500 });
  opened.push({ store, dataDir });
  return store;
}

test("events land in their views, the newest of each", async () => {
  const store = await openWith([]);
  await store.note("provenance", {
    recorded_at: NOW_MS,
    tenant: "acme",
    agent_id: "agent://acme/writer",
    action: "report.write",
    content_hash: `sha256:${"ab".repeat(32)}`,
    cited_sources: ["doc:1", 'it\'s "quoted", [2]'],
    request_id: null,
  });
  const run = {
    recorded_at: NOW_MS,
    run_id: "run-1",
    started_at: NOW_MS,
    finished_at: null,
    started_by: "schedule",
    status: "running",
    promoted: false,
    reason: "under way",
    config_from: "c-0123456789abcdef",
    config_to: null,
    outcome_count: 0,
    gates: [],
    record: { run_id: "run-1" },
  };
  await store.note("kaizen_runs", run);
  await store.note("kaizen_runs", {
    ...run,
    recorded_at: NOW_MS + 7,
    finished_at: NOW_MS + 6,
    status: "dry_run",
    reason: "insufficient evidence",
    outcome_count: 12,
    gates: [{ gate: "superiority", z: 0.4, passed: false }],
  });
  const rowsOf = async (sql: string) => (await store.query(sql, LIMITS)).rows;
  expect(await rowsOf("SELECT recorded_at, cited_sources FROM provenance")).toEqual([
    [new Date(NOW_MS).toISOString(), ["doc:1", 'it\'s "quoted", [2]']],
  ]);
  const audit = { event: "api_key.created", tenant: "acme", actor: "key-admin" };
  await store.note("audit_events", { ...audit, recorded_at: NOW_MS, detail: { id: "key-1" } });
  expect(
    await rowsOf("SELECT event, tenant, actor, position, detail->>'id' FROM audit_events"),
  ).toEqual([["api_key.created", "acme", "key-admin", null, "key-1"]]);
  expect(
    await rowsOf(
      "SELECT run_id, status, finished_at, gates->0->>'z', record->>'run_id' FROM kaizen_runs",
    ),
  ).toEqual([["run-1", "dry_run", new Date(NOW_MS + 6).toISOString(), "0.4", "run-1"]]);
});

test("a review follows its flagged decision and is joined to it", async () => {
  const ring = createDecisionRing();
  const store = await openWith([ring]);
  const writer = new DecisionRing(ring, { waitMs: 0 });
  writer.record({ ...entryOf(1, true), isFlagged: true });
  writer.record(entryOf(2, false));
  const filter = { tenant: "acme", limit: 10 };
  expect(await store.reviews(filter, true)).toMatchObject([
    { request_id: "request-1", resolution: null },
  ]);
  const review = { tenant: "acme", request_id: "request-1", note: "seen", key_id: "key-acme" };
  await store.note("reviews", { ...review, recorded_at: NOW_MS, resolution: "upheld" });
  await store.note("reviews", { ...review, recorded_at: NOW_MS + 1, resolution: "dismissed" });
  expect(await store.reviews(filter, true)).toEqual([]);
  expect(await store.reviews(filter, false)).toMatchObject([
    { request_id: "request-1", resolution: "dismissed", note: "seen", reviewer: "key-acme" },
  ]);
  expect(await store.reviews({ ...filter, tenant: "other" }, false)).toEqual([]);
});
