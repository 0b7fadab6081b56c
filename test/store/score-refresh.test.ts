// Scores in the store: read when they are asked for and not more often than is good, replaced as a
// whole, and put on record once a day.
import { afterEach, beforeEach, expect, test } from "vitest";
import type { JournalFollower } from "../../src/store/journal-follower.ts";
import type { ScoreRow } from "../../src/store/rows/scores.ts";
import { ScoreRefresher, type ScoreSource } from "../../src/store/score-refresh.ts";
import { createEngineMemory } from "../../src/engine/memory.ts";
import { NOW_MS, temporaryDirectory } from "../ledger/_fixtures.ts";
import { askCore, catchUp, fillJournal, openStoreCore } from "./_fixtures.ts";
import { DAY_MS, rowOf } from "./_score-rows.ts";

const SAMPLED = 1200;

/** A table of made-up agents, which counts how often it is read. */
class MadeTable implements ScoreSource {
  agentCount = 5000;
  readings = 0;
  fault: Error | undefined;

  read(first: number, countMax: number): ScoreRow[] {
    if (first === 0) this.readings += 1;
    if (this.fault !== undefined && first > 0) throw this.fault;
    const count = Math.max(0, Math.min(countMax, this.agentCount - first));
    return Array.from({ length: count }, (_, n) => rowOf(first + n));
  }
}

let core: JournalFollower;

let table: MadeTable;
let keeper: ScoreRefresher;
const clock = { nowMs: NOW_MS };
const state = { position: 300 };
const log: string[] = [];

function openKeeper(): ScoreRefresher {
  const opened = new ScoreRefresher({
    core,
    openSource: () => table,
    position: () => state.position,
    clock: () => clock.nowMs,
    keptDays: 3,
    sampledAgentsMax: SAMPLED,
    log: (event) => log.push(event),
  });
  opened.setAgentTable(createEngineMemory());
  return opened;
}

beforeEach(async () => {
  Object.assign(clock, { nowMs: NOW_MS });
  state.position = 300;
  log.length = 0;
  table = new MadeTable();
  const dataDir = temporaryDirectory();
  fillJournal(dataDir, 1, 300);
  ({ core } = openStoreCore(dataDir));
  await catchUp(core, 300);
  keeper = openKeeper();
});
afterEach(async () => {
  await keeper.close();
  await core.close();
});

const rowsOf = async (sql: string) => (await askCore(core, sql)).rows;

test("everything of a score is shown, as of its position and time", async () => {
  expect(keeper.tiers).toBeUndefined();
  await keeper.refresh();
  expect(keeper.tiers).toEqual({ counts: { B: 5000 }, readMs: NOW_MS });
  expect(await rowsOf("SELECT count(*), min(as_of_position), max(as_of) FROM agents")).toEqual([
    [5000, 300, new Date(NOW_MS).toISOString()],
  ]);
  const { columns, rows } = await askCore(core, "FROM agents WHERE outcomes = 4321");
  const shown = Object.fromEntries(columns.map(({ name }, index) => [name, rows[0]![index]]));
  expect(shown).toMatchObject({
    agent: "agent://made/4321",
    namespace: "made",
    tier: "B",
    regime: null,
    score: 50,
    internal_score: 575,
    failure_probability: 0.125,
    last_outcome_at: new Date(NOW_MS).toISOString(),
    last_outcome_local: new Date(NOW_MS).toISOString().replace("Z", "+00:00"),
    last_failure_at: null,
    credibility: null,
    cluster: null,
  });
});

test("they are read again after a change, and then not at once", async () => {
  await keeper.refresh();
  await keeper.refresh();
  expect(table.readings).toBe(1);
  // Nothing came in: they only fade.
  clock.nowMs += 5 * 60_000;
  await keeper.refresh();
  expect(table.readings).toBe(1);
  state.position = 301;
  table.agentCount = 10;
  await keeper.refresh();
  expect(table.readings).toBe(2);
  expect(await rowsOf("SELECT count(*), max(as_of_position) FROM agents")).toEqual([[10, 301]]);
  state.position = 302;
  clock.nowMs += 1;
  await keeper.refresh();
  expect(table.readings).toBe(2);
});

test("a reading that fails leaves the last one", async () => {
  await keeper.refresh();
  const { tiers } = keeper;
  table.fault = new Error("no such row");
  state.position = 301;
  clock.nowMs += 5 * 60_000;
  await keeper.refresh();
  expect(log).toEqual(["scores_not_read"]);
  expect(await rowsOf("SELECT count(*), max(as_of_position) FROM agents")).toEqual([[5000, 300]]);
  expect(keeper.tiers).toBe(tiers);
});

test("each day has one sample, of at most so many agents, the same ones", async () => {
  // Few: a reading that takes longer than a query waits for would go on behind this test.
  table.agentCount = 1500;
  for (let day = 0; day < 5; day++) {
    expect(keeper.isSampleDue(clock.nowMs)).toBe(day > 0);
    for (let reading = 0; reading < 2; reading++) {
      await keeper.refresh();
      clock.nowMs += 10 * 60_000;
      state.position += 1;
    }
    expect(keeper.isSampleDue(clock.nowMs)).toBe(false);
    clock.nowMs += DAY_MS - 20 * 60_000;
  }
  const days = await rowsOf(
    "SELECT day, count(*), min(sampled_share) FROM scores_daily GROUP BY day ORDER BY day",
  );
  // The oldest has expired.
  expect(days).toHaveLength(4);
  const [[, count, share]] = days as [[string, number, number]];
  expect(share).toBeCloseTo(0.8, 6);
  expect(count / SAMPLED).toBeCloseTo(1, 1);
  expect(new Set(days.map(([, each]) => each)).size).toBe(1);
  const [[agents]] = (await rowsOf("SELECT count(DISTINCT agent) FROM scores_daily")) as [[number]];
  expect(agents).toBe(count);
}, 30_000);

test("a start takes no second sample of a day; without a table nothing is due", async () => {
  table.agentCount = 1000;
  await keeper.refresh();
  await keeper.close();
  keeper = openKeeper();
  state.position = 301;
  await keeper.refresh();
  expect(await rowsOf("SELECT count(*) FROM scores_daily")).toEqual([[1000]]);
  await keeper.close();
  expect(keeper.isSampleDue(NOW_MS + 10 * DAY_MS)).toBe(false);
  await keeper.refresh();
  expect(table.readings).toBe(2);
});
