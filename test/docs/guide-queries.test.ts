// Every SQL block of the guide and of README.md, run as it stands there: on the sample history alone,
// as after a first start, and on a sparse import of long ago. None is without rows.
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { readOutcomes } from "../../src/service/import/read-outcomes.ts";
import type { OutcomeRequest } from "../../src/contract/schemas/outcomes.ts";
import { GRADES } from "../../src/contract/vocabulary.ts";
import { loadDefaultConfig } from "../../src/engine/config.ts";
import { createEngineMemory } from "../../src/engine/memory.ts";
import { openEngineWriter } from "../../src/engine/writer.ts";
import type { OutcomeRecord } from "../../src/journal/records.ts";
import { type OpenStore, startStore } from "../../src/store/client.ts";
import {
  assessed,
  assessedRunOf,
  recordOf,
  runOf,
  temporaryDirectory,
} from "../ledger/_fixtures.ts";
import { LIMITS, openJournal } from "../store/_fixtures.ts";
import { type Fence, exampleBody, fencesOf, GUIDES, placeOf } from "./_fences.ts";

const SAMPLE = fileURLToPath(new URL("../../data/sample/outcomes.ndjson", import.meta.url));

/** One statement per block. */
const isQuery = ({ language, notRun }: Fence) => language === "sql" && notRun === undefined;
const blocks = ["README.md", ...GUIDES].flatMap(fencesOf).filter(isQuery);

function sampleRecords(): OutcomeRecord[] {
  const rows = [...readOutcomes(SAMPLE, "ndjson", "")].map((row) => row.outcome as OutcomeRequest);
  const newestMs = Math.max(...rows.map((row) => row.settled_at ?? 0));
  return rows.map((row, index) =>
    recordOf(index, {
      subject: row.subject,
      reporter: row.reporter,
      outcome: row.outcome,
      stakes: row.stakes,
      gradeIndex: GRADES.indexOf(row.grade),
      settledAtMs: (row.settled_at ?? 0) + Date.now() - newestMs,
      action: row.action ?? "",
    }),
  );
}

/** A few agents with an outcome or two each, years ago, each by a reporter of its own. */
function importedRecords(): OutcomeRecord[] {
  return Array.from({ length: 12 }, (_, index) =>
    recordOf(index, {
      subject: `agent://otc/${index % 8}`,
      reporter: `agent://otc/${100 + index}`,
      outcome: index % 3 === 0 ? 0 : 1,
      settledAtMs: Date.parse("2016-01-25") - index * 40 * 86_400_000,
      recordedAtMs: Date.now(),
      source: "ratings:otc.csv",
    }),
  );
}

async function openOn(records: OutcomeRecord[]): Promise<OpenStore> {
  const dataDir = temporaryDirectory();
  const journal = openJournal(dataDir);
  for (let at = 0; at < records.length; at += 500) {
    journal.commit([runOf(records.slice(at, at + 500))], Date.now());
  }
  journal.commit([assessedRunOf([assessed(1), assessed(2)])], Date.now());
  journal.close();
  const store = await startStore({ dataDir, isStandalone: true });
  const memory = createEngineMemory();
  const writer = openEngineWriter(memory, loadDefaultConfig(), 1n);
  for (const record of records) writer.fold({ ...record, signatureIndex: 0, voice: 0 });
  store.setAgentTable(memory);
  return store;
}

describe.each([
  ["the sample alone", sampleRecords],
  ["an import of long ago", importedRecords],
] as const)("on %s", (_, records) => {
  let store: OpenStore;
  beforeAll(async () => {
    store = await openOn(records());
  });
  afterAll(() => store.close());

  test.each(blocks.map((fence) => ({ ...fence, place: placeOf(fence) })))(
    "gives rows: $place",
    async ({ text, example }) => {
      if (example !== undefined) expect(text).toBe(exampleBody(example));
      const { columns, rows } = await store.query(text, LIMITS);
      expect(columns.length).toBeGreaterThan(0);
      // No batch has marked a ring here, and a history may repeat nothing: see test/store/rows/finding-views.test.ts.
      const isFinding = /^analyst\/(rings|repeated-reports)\.sql$/.test(example ?? "");
      if (!isFinding) expect(rows.length).toBeGreaterThan(0);
    },
  );

  test("every view and every column of a view says what it is", async () => {
    const { views } = await store.describeViews();
    const { rows } = await store.query(
      "SELECT view_name FROM duckdb_views() WHERE NOT internal ORDER BY 1",
      LIMITS,
    );
    expect(views.map(({ name }) => name).toSorted()).toEqual(rows.flat());
    const silent = views.flatMap(({ name, comment, columns }) => [
      ...(comment === "" ? [name] : []),
      ...columns.filter((column) => column.comment === "").map((each) => `${name}.${each.name}`),
    ]);
    expect(silent).toEqual([]);
    expect(views.every(({ columns }) => columns.length > 3)).toBe(true);
  });
});
