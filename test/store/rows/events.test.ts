// Notes: from the journal to the views that show them, again after the database is lost, and from an
// older version's rows into the journal, each once.
import * as fs from "node:fs";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import type { NoteEvents } from "../../../src/contract/notes.ts";
import { createDecisionRing } from "../../../src/store/decisions/ring-layout.ts";
import { DecisionRingWriter } from "../../../src/store/decisions/ring.ts";
import { type OpenStore, startStore } from "../../../src/store/client.ts";
import { temporaryDirectory } from "../../ledger/_fixtures.ts";
import { entryOf, NOW_MS } from "../_decisions.ts";
import { askCore, catchUp, LIMITS, notesInto, openStoreCore } from "../_fixtures.ts";

const KEPT = { decisionsKeptDays: 36_500, outcomesKeptDays: 36_500, provenanceKeptDays: 36_500 };

const opened: OpenStore[] = [];

afterEach(async () => {
  for (const store of opened.splice(0)) await store.close();
});

async function openWith(
  rings: SharedArrayBuffer[],
  dataDir = temporaryDirectory(),
): Promise<OpenStore> {
  const store = await startStore({ dataDir, isStandalone: true, rings, ...KEPT });
  opened.push(store);
  return store;
}

const PROVENANCE: NoteEvents["provenance"] = {
  recorded_at: NOW_MS,
  tenant: "acme",
  agent_id: "agent://acme/writer",
  action: "report.write",
  content_hash: `sha256:${"ab".repeat(32)}`,
  cited_sources: ["doc:1", 'it\'s "quoted", [2]'],
  request_id: null,
};
const AUDIT = {
  recorded_at: NOW_MS,
  event: "api_key.created",
  tenant: "acme",
  actor: "key-admin",
  detail: { id: "key-1", via: "console:0a1b2c3d" },
};
const BACKTEST = {
  recorded_at: NOW_MS,
  backtest_id: "b-1",
  tenant: "acme",
  key_id: "key-acme",
  policy_version: "p-2",
  compared_with: "p-1",
  decisions: 10,
  changed: 1,
  report: { rows: [1] },
};

test("notes are rows of their views, and again when the store's directory is gone", async () => {
  const dataDir = temporaryDirectory();
  const notes = notesInto(dataDir);
  await notes.recordNote("provenance", PROVENANCE);
  await notes.recordNote("audit_events", AUDIT);
  await notes.recordNote("backtests", BACKTEST);
  notes.close();
  for (let life = 0; life < 2; life++) {
    const store = await openWith([], dataDir);
    const rowsOf = async (sql: string) => (await store.query(sql, LIMITS)).rows;
    expect(await rowsOf("SELECT recorded_at, cited_sources, position FROM provenance")).toEqual([
      [new Date(NOW_MS).toISOString(), PROVENANCE.cited_sources, 1],
    ]);
    expect(
      await rowsOf(
        "SELECT event, tenant, actor, position, via FROM audit_events ORDER BY position",
      ),
    ).toEqual([
      ["api_key.created", "acme", "key-admin", 2, "console:0a1b2c3d"],
      ["policy.backtested", "acme", "key-acme", 3, null],
    ]);
    expect(await rowsOf("SELECT backtest_id, changed, report->'rows'->>0 FROM backtests")).toEqual([
      ["b-1", 1, "1"],
    ]);
    await opened.pop()!.close();
    fs.rmSync(join(dataDir, "store"), { recursive: true });
  }
});

test("rows of an older version move into the journal, each once", async () => {
  const dataDir = temporaryDirectory();
  const { core, log } = openStoreCore(dataDir);
  await core.write(async (writer) => {
    for (let twice = 0; twice < 2; twice++) {
      await writer.run(
        `INSERT INTO review_rows BY NAME SELECT 'acme' AS tenant, 'r-1' AS request_id,
         epoch_ms(${NOW_MS}) AS recorded_at, 'upheld' AS resolution, 'it''s fine' AS note`,
      );
    }
    await writer.run(
      `INSERT INTO provenance_rows BY NAME SELECT 'acme' AS tenant, ['a', 'b'] AS cited_sources,
       epoch_ms(${NOW_MS}) AS recorded_at`,
    );
  });
  await core.close();
  const first = await openWith([], dataDir);
  const moved = await first.listUnjournaledNotes();
  expect(moved.map(({ table }) => table).toSorted()).toEqual(["provenance", "reviews", "reviews"]);
  await opened.pop()!.close();
  const notes = notesInto(dataDir);
  for (const note of moved) await notes.move(note);
  notes.close();
  const { core: next } = openStoreCore(dataDir);
  await catchUp(next, 3);
  const rowsOf = async (sql: string) => (await askCore(next, sql)).rows;
  expect(await rowsOf("SELECT note, resolution, recorded_at FROM review_rows")).toEqual(
    [1, 2].map(() => ["it's fine", "upheld", new Date(NOW_MS).toISOString()]),
  );
  expect(await rowsOf("SELECT cited_sources FROM provenance")).toEqual([[["a", "b"]]]);
  expect(await rowsOf("SELECT count(*) FROM review_rows WHERE position IS NULL")).toEqual([[0]]);
  await next.close();
  expect(log).toEqual([]);
});

test("provenance past its time is no row, and a row no longer", async () => {
  const dataDir = temporaryDirectory();
  const notes = notesInto(dataDir);
  for (const daysAgo of [0, 40]) {
    await notes.recordNote("provenance", {
      ...PROVENANCE,
      recorded_at: Date.now() - daysAgo * 86_400_000,
    });
  }
  notes.close();
  const count = async (provenanceKeptDays: number) => {
    const store = await startStore({ dataDir, isStandalone: true, provenanceKeptDays });
    opened.push(store);
    const { rows } = await store.query("SELECT count(*) FROM provenance", LIMITS);
    await opened.pop()!.close();
    return rows[0]![0];
  };
  expect(await count(50)).toBe(2);
  expect(await count(30)).toBe(1);
  fs.rmSync(join(dataDir, "store"), { recursive: true });
  expect(await count(30)).toBe(1);
});

test("runs of kaizen show their newest state", async () => {
  const store = await openWith([]);
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
  await store.recordRun("kaizen_runs", run);
  await store.recordRun("kaizen_runs", {
    ...run,
    recorded_at: NOW_MS + 7,
    finished_at: NOW_MS + 6,
    status: "dry_run",
    reason: "insufficient evidence",
    outcome_count: 12,
    gates: [{ gate: "superiority", z: 0.4, passed: false }],
  });
  const rowsOf = async (sql: string) => (await store.query(sql, LIMITS)).rows;
  expect(
    await rowsOf(
      "SELECT run_id, status, finished_at, gates->0->>'z', record->>'run_id' FROM kaizen_runs",
    ),
  ).toEqual([["run-1", "dry_run", new Date(NOW_MS + 6).toISOString(), "0.4", "run-1"]]);
});

test("a review follows its flagged decision and is joined to it", async () => {
  const dataDir = temporaryDirectory();
  const ring = createDecisionRing();
  const writer = new DecisionRingWriter(ring, { waitMs: 0 });
  writer.record({ ...entryOf(1, true), isFlagged: true });
  writer.record(entryOf(2, false));
  const filter = { tenant: "acme", limit: 10 };
  const store = await openWith([ring], dataDir);
  await expect
    .poll(() => store.listReviews(filter, true))
    .toMatchObject([{ request_id: "request-1", resolution: null }]);
  await opened.pop()!.close();
  const review = { tenant: "acme", request_id: "request-1", note: "seen", key_id: "key-acme" };
  const notes = notesInto(dataDir);
  await notes.recordNote("reviews", { ...review, recorded_at: NOW_MS, resolution: "upheld" });
  await notes.recordNote("reviews", {
    ...review,
    recorded_at: NOW_MS + 1,
    resolution: "dismissed",
  });
  notes.close();
  // With or without the database that had the decision.
  for (const lost of ["none", "store"]) {
    fs.rmSync(join(dataDir, lost), { recursive: true, force: true });
    const next = await openWith([], dataDir);
    expect(await next.listReviews(filter, true)).toEqual([]);
    expect(await next.listReviews(filter, false)).toMatchObject([
      { request_id: "request-1", resolution: "dismissed", note: "seen", reviewer: "key-acme" },
    ]);
    expect(await next.listReviews({ ...filter, tenant: "other" }, false)).toEqual([]);
    await opened.pop()!.close();
  }
});
