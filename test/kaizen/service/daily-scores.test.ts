// Daily scores rebuilt from a journal whose outcomes came in any order: every day equals what a fresh engine says
// that was fed up to the end of that day and knows nothing later.
import { rmSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { loadDefaultConfig } from "../../../src/engine/config.ts";
import { createEngineMemory } from "../../../src/engine/memory.ts";
import { openEngineWriter } from "../../../src/engine/writer.ts";
import { GRADES, SIGNATURES } from "../../../src/contract/vocabulary.ts";
import { VOICE_REPORTER } from "../../../src/contract/voices.ts";
import { resolveDataPaths } from "../../../src/journal/data-directory.ts";
import type { OutcomeRecord } from "../../../src/journal/records.ts";
import { createSeededRandom } from "../../../src/kaizen/model/bootstrap.ts";
import { DailyScoresService } from "../../../src/kaizen/service/daily-scores.ts";
import { startStore, type OpenStore } from "../../../src/store/client.ts";
import type { ScoreRow } from "../../../src/store/rows/scores.ts";
import { openScoreSource } from "../../../src/threads/score-source.ts";
import { NOW_MS, openStage, outcomesOf, type Stage } from "../_service.ts";

const DAY_MS = 86_400_000;
const DAYS = 40;
const KEPT_DAYS = 30;
const SHIPPED = loadDefaultConfig();
/** Live from the middle of a day on. */
const SECOND = { ...SHIPPED, name: "second", check: { ...SHIPPED.check, intercept: -1.5 } };
const SECOND_FROM_MS = NOW_MS - 9.5 * DAY_MS;
const CONFIGS = [
  { fromMs: Number.NEGATIVE_INFINITY, config: SHIPPED },
  { fromMs: SECOND_FROM_MS, config: SECOND },
];

/** The last forty days, in an order that has nothing to do with time, a third recorded as they settled. */
const outcomes = (() => {
  const random = createSeededRandom(7);
  const all = outcomesOf(5, 900).map((outcome, i) => {
    const settledAtMs = NOW_MS - DAYS * DAY_MS + Math.floor((i / 900) * DAYS * DAY_MS);
    const isLive = i % 3 === 0;
    const recordedAtMs = isLive ? settledAtMs + 90_000 : NOW_MS - 60_000;
    const signature = isLive ? ("reporter" as const) : ("bureau" as const);
    return { outcome: { ...outcome, settledAtMs, recordedAtMs, signature }, at: random.uniform() };
  });
  return all.toSorted((left, right) => left.at - right.at).map(({ outcome }) => outcome);
})();

let stage: Stage;
let store: OpenStore;
const openStore = async () => {
  store = await startStore({ dataDir: stage.dataDir, isStandalone: true });
};
/** A store without a ledger reads the end of the journal as it opens. */
const reopenStore = async () => {
  await store.close();
  await openStore();
};
let service: DailyScoresService;
const clock = { nowMs: NOW_MS + 5000 };
const events: string[] = [];

beforeAll(async () => {
  stage = await openStage();
  const { dataDir, ledger } = stage;
  await ledger.appendBatch(outcomes);
  await openStore();
  const note = (event: string) => void events.push(event);
  service = new DailyScoresService({
    journal: resolveDataPaths(dataDir).journal,
    ledger,
    store: {
      status: () => store.status(),
      findNewestImportMs: (...given) => store.findNewestImportMs(...given),
      receiveDailyScores: (port) => store.receiveDailyScores(port),
    },
    configs: () => CONFIGS,
    fold: SHIPPED,
    keptDays: KEPT_DAYS,
    clock: () => clock.nowMs,
    log: { info: note, warn: note, error: note },
  });
});
afterAll(async () => {
  await service.close();
  await store.close();
  await stage.kaizen.close();
  await stage.ledger.close();
});

/** When the service knew of it: an import as soon as it settled. */
const knownMs = ({ signature, settledAtMs, recordedAtMs }: OutcomeRecord) =>
  signature === "bureau" ? settledAtMs : recordedAtMs;

/** The slow way: a new engine for the day, fed from the beginning. */
function scoresAtEndOf(dayMs: number): ScoreRow[] {
  const memory = createEngineMemory();
  const endMs = dayMs + DAY_MS;
  const { config } = CONFIGS.findLast(({ fromMs }) => fromMs < endMs)!;
  const writer = openEngineWriter(memory, config, 99n);
  writer.installConfig(config, SHIPPED);
  const known = outcomes.filter((outcome) => knownMs(outcome) < endMs);
  for (const each of known.toSorted((left, right) => knownMs(left) - knownMs(right))) {
    writer.fold({
      ...each,
      gradeIndex: GRADES.indexOf("counterparty"),
      signatureIndex: SIGNATURES.indexOf(each.signature),
      voice: VOICE_REPORTER,
    });
  }
  return openScoreSource(memory).read(0, 100_000, endMs - 1);
}

async function readDay(dayMs: number): Promise<unknown[][]> {
  const day = new Date(dayMs).toISOString().slice(0, 10);
  return store.queryTrusted(
    `SELECT agent, internal_score, effective_score, outcomes, reported, failures_14d, stakes_proven,
       config_version, as_of_ms, as_of_position, sampled_share
     FROM score_day_rows WHERE day = DATE '${day}' ORDER BY agent`,
  );
}

test("every kept day is as a fresh engine fed up to its end says", async () => {
  const found = await service.rebuild();
  expect(found).toMatchObject({ days: KEPT_DAYS, position: stage.ledger.position() });
  const today = Math.floor(clock.nowMs / DAY_MS) * DAY_MS;
  expect(found.first_day).toBe(new Date(today - KEPT_DAYS * DAY_MS).toISOString().slice(0, 10));
  let compared = 0;
  for (const daysAgo of [30, 29, 17, 10, 9, 2, 1]) {
    const dayMs = today - daysAgo * DAY_MS;
    const expected = scoresAtEndOf(dayMs).toSorted((a, b) => (a.agent < b.agent ? -1 : 1));
    const rows = await readDay(dayMs);
    expect(rows.map(([agent]) => agent)).toEqual(expected.map(({ agent }) => agent));
    for (const [i, row] of rows.entries()) {
      const { agent, internal_score, effective_score, outcomes: count, reported } = expected[i]!;
      const { failures_14d, stakes_proven, config_version } = expected[i]!;
      const readAtMs = dayMs + DAY_MS - 1;
      const scores = [agent, internal_score, effective_score, count, reported, failures_14d];
      const rest = [stakes_proven, config_version, readAtMs, found.position, 1];
      expect(row.map((value) => (typeof value === "bigint" ? Number(value) : value))).toEqual([
        ...scores,
        ...rest,
      ]);
      compared += 1;
    }
  }
  expect(compared).toBeGreaterThan(1000);
  const versions = await store.queryTrusted(
    "SELECT count(DISTINCT config_version) FROM score_day_rows",
  );
  expect(Number(versions[0]![0])).toBe(2);
});

const countRows = async (where: string) =>
  Number((await store.queryTrusted(`SELECT count(*) FROM score_day_rows WHERE ${where}`))[0]![0]);

test("an import of older outcomes is replayed once it has ended, and no import twice", async () => {
  events.length = 0;
  // What is on record was replayed up to the end of the journal.
  await service.rebuildIfImported();
  expect(events).toEqual([]);
  const late = { ...outcomes[0]!, subject: "agent://made/late", signature: "bureau" as const };
  const settledAtMs = NOW_MS - 3.25 * DAY_MS;
  await stage.ledger.appendBatch([{ ...late, settledAtMs, recordedAtMs: clock.nowMs }]);
  await reopenStore();
  await service.rebuildIfImported();
  expect(events, "the import may go on").toEqual([]);
  clock.nowMs += 60_000;
  await service.rebuildIfImported();
  expect(events).toEqual(["daily_scores_started", "daily_scores_rebuilt"]);
  // Of the day on which it settled, and of every day after.
  expect(await countRows("agent = 'agent://made/late'")).toBe(4);
  expect(await countRows("true"), "no day twice").toBe(
    Number(
      (await store.queryTrusted("SELECT count(DISTINCT (day, agent)) FROM score_day_rows"))[0]![0],
    ),
  );
  await service.rebuildIfImported();
  expect(events).toHaveLength(2);
  expect(service.status()).toMatchObject({ is_running: false, last: { days: KEPT_DAYS } });
});

test("a database that is made anew has the same daily scores", async () => {
  const rows = await countRows("true");
  await store.close();
  rmSync(join(stage.dataDir, "store"), { recursive: true });
  await openStore();
  await expect.poll(() => countRows("true")).toBe(rows);
});
