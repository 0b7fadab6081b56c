// Failed texts in kaizen's replay: a decision sees those that were found before it, and no others.
import { afterEach, expect, test } from "vitest";
import { FEATURES } from "../../../src/contract/vocabulary.ts";
import { loadDefaultConfig } from "../../../src/engine/config.ts";
import type { TableReader } from "../../../src/engine/reader.ts";
import { resolveDataPaths } from "../../../src/journal/data-directory.ts";
import { COLUMN_COUNT } from "../../../src/kaizen/model/scorecard.ts";
import { readStandingHistory } from "../../../src/kaizen/replay/credibility-history.ts";
import { replayJournal } from "../../../src/kaizen/replay/evidence.ts";
import { AssessmentQueue } from "../../../src/ledger/assessment-queue.ts";
import { NOW_MS, openStage, outcomesOf } from "../_service.ts";
import type { Stage } from "../_service.ts";

const FEATURE = 4 + FEATURES.indexOf("hallucination");
const DAY_MS = 86_400_000;
const opened: Stage[] = [];

afterEach(async () => {
  for (const { kaizen, ledger } of opened.splice(0)) {
    await kaizen.close();
    await ledger.close();
  }
});

/** Three failed texts of every agent, found at that time. */
async function failAll({ ledger }: Stage, assessedAtMs: number): Promise<void> {
  const queue = new AssessmentQueue(ledger);
  for (let agent = 0; agent < 200; agent++) {
    for (let text = 0; text < 3; text++) {
      const digest = `${agent}-${text}`;
      queue.enqueue({
        agent: `agent://made/${agent}`,
        tenant: "house",
        keyId: "key-house",
        code: "HASH_MISMATCH",
        kindIndex: 0,
        digest: Buffer.from(digest.padEnd(32)).toString("hex"),
        assessedAtMs,
      });
    }
  }
  await queue.close();
  expect(queue.gauges()).toMatchObject({ assessments_recorded_total: 600 });
}

function replayed({ dataDir, ledger }: Stage) {
  const { journal } = resolveDataPaths(dataDir);
  return replayJournal(journal, ledger.position(), loadDefaultConfig());
}

/** Settling time and feature of every row. */
function featuresOf(stage: Stage): { timeMs: number; value: number }[] {
  const { rows, timesMs } = replayed(stage).evidence.check;
  return Array.from({ length: rows.count }, (_, row) => ({
    timeMs: timesMs[row]!,
    value: rows.values[row * COLUMN_COUNT + FEATURE]!,
  }));
}

function scoreOf(reader: TableReader, agent: string, nowMs: number): number {
  return reader.check(agent, 5, nowMs).scoreEffective;
}

test("a decision sees the texts that failed before it, and the end is what is served", async () => {
  const stage = await openStage();
  opened.push(stage);
  const { ledger, engine, dataDir } = stage;
  const outcomes = outcomesOf(3, 800);
  await ledger.appendBatch(outcomes.slice(0, 500));
  // A day before the next outcome is recorded: those settled meanwhile know of it.
  const foundMs = outcomes[499]!.settledAtMs + 1;
  await failAll(stage, foundMs);
  await ledger.appendBatch(outcomes.slice(500));
  const rows = featuresOf(stage);
  expect(rows.filter(({ timeMs, value }) => timeMs <= foundMs && value !== 0)).toEqual([]);
  const after = rows.filter(({ timeMs }) => timeMs > foundMs);
  expect(after.length).toBe(300);
  for (const { value } of after) expect(value).toBeGreaterThan(0.01);
  const { reader } = replayed(stage);
  for (let agent = 0; agent < 200; agent++) {
    const id = `agent://made/${agent}`;
    expect(scoreOf(reader, id, NOW_MS)).toBe(scoreOf(engine, id, NOW_MS));
  }
  // Nothing that credibility reads.
  const { journal } = resolveDataPaths(dataDir);
  const history = readStandingHistory(journal, ledger.position(), loadDefaultConfig());
  expect(history.edges.count).toBe(800);
});

test("an imported past does not see what was found before it was imported", async () => {
  const stage = await openStage();
  opened.push(stage);
  await failAll(stage, NOW_MS + DAY_MS);
  await stage.ledger.appendBatch(outcomesOf(3, 400));
  const rows = featuresOf(stage);
  expect(rows).toHaveLength(400);
  expect(rows.every(({ value }) => value === 0)).toBe(true);
  const served = scoreOf(stage.engine, "agent://made/1", NOW_MS + 2 * DAY_MS);
  expect(scoreOf(replayed(stage).reader, "agent://made/1", NOW_MS + 2 * DAY_MS)).toBe(served);
});
