// Every SQL block of the guide and of README.md, run as it stands there against the sample history
// and a few decisions on it.
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import { readOutcomes } from "../../src/service/import/read-outcomes.ts";
import type { OutcomeRequest } from "../../src/contract/schemas/outcomes.ts";
import { GRADES } from "../../src/contract/vocabulary.ts";
import { createDecisionRing } from "../../src/store/decisions/ring-layout.ts";
import { DecisionRing } from "../../src/store/decisions/ring.ts";
import { type OpenStore, startStore } from "../../src/store/client.ts";
import {
  assessed,
  assessedRunOf,
  recordOf,
  runOf,
  temporaryDirectory,
} from "../ledger/_fixtures.ts";
import { openTable, principalOf } from "../store/_decisions.ts";
import { LIMITS, openJournal } from "../store/_fixtures.ts";
import { type Fence, exampleBody, fencesOf, GUIDES, placeOf } from "./_fences.ts";

const SAMPLE = fileURLToPath(new URL("../../data/sample/outcomes.ndjson", import.meta.url));

/** One statement per block. */
const isQuery = ({ language, notRun }: Fence) => language === "sql" && notRun === undefined;
const blocks = ["README.md", ...GUIDES].flatMap(fencesOf).filter(isQuery);

let store: OpenStore;

beforeAll(async () => {
  const dataDir = temporaryDirectory();
  const rows = [...readOutcomes(SAMPLE, "ndjson", "")].map((row) => row.outcome as OutcomeRequest);
  const newestMs = Math.max(...rows.map((row) => row.settled_at ?? 0));
  const records = rows.map((row, index) =>
    recordOf(index, {
      subject: row.subject,
      reporter: row.reporter,
      outcome: row.outcome,
      stakes: row.stakes,
      gradeIndex: GRADES.indexOf(row.grade),
      settledAtMs: (row.settled_at ?? 0) + Date.now() - newestMs,
      action: row.action ?? "",
      // Some settle a verdict, as outcomes of the service do.
      requestId: index % 100 === 0 ? `request-${index % 5}` : "",
    }),
  );
  const journal = openJournal(dataDir);
  for (let at = 0; at < records.length; at += 500) {
    journal.commit([runOf(records.slice(at, at + 500))], Date.now());
  }
  journal.commit([assessedRunOf([assessed(1), assessed(2)])], Date.now());
  journal.close();
  const ring = createDecisionRing();
  store = await startStore({ dataDir, isStandalone: true, rings: [ring] });
  const nowMs = Date.now();
  const { bureau } = openTable(new DecisionRing(ring, { waitMs: 0 }), () => nowMs);
  for (const [index, level] of (["L0", "L1", "L2", "L3", "L3"] as const).entries()) {
    const agent = index % 2 === 0 ? "agent://shop/bad" : "agent://shop/good";
    const request = { agent_id: agent, action: "order.place", tool_level: level, context: {} };
    await bureau.verify(request, { requestId: `request-${index}`, principal: principalOf("acme") });
  }
  const refusal = { reason: "missing_scope", address: "192.0.2.1", route: "usage", count: 3 };
  await store.note("audit_events", {
    recorded_at: Date.now(),
    event: "access.denied",
    tenant: "acme",
    actor: "key-1",
    detail: refusal,
  });
  await store.note("kaizen_runs", {
    recorded_at: Date.now(),
    run_id: "k-1",
    started_at: Date.now() - 1000,
    finished_at: Date.now(),
    started_by: "schedule",
    status: "kept",
    promoted: false,
    reason: "insufficient evidence",
    config_from: "c-1",
    config_to: null,
    outcome_count: rows.length,
    gates: [],
    record: {},
  });
});

afterAll(() => store.close());

test.each(blocks.map((fence) => ({ ...fence, place: placeOf(fence) })))(
  "gives rows: $place",
  async ({ text, example }) => {
    if (example !== undefined) expect(text).toBe(exampleBody(example));
    const { columns, rows } = await store.query(text, LIMITS);
    expect(columns.length).toBeGreaterThan(0);
    expect(rows.length).toBeGreaterThan(0);
  },
);

test("every view says what it is", async () => {
  const { rows } = await store.query(
    `SELECT view_name FROM duckdb_views() WHERE NOT internal AND comment IS NULL`,
    LIMITS,
  );
  expect(rows).toEqual([]);
});
