// Movers in SQL: each pair of daily scores 1, 7 or 30 days apart, with the inputs that differ, against a slow
// comparison of the rows; and which of them a tenant sees.
import fc from "fast-check";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { JournalFollower } from "../../../src/store/journal-follower.ts";
import { replaceDailyScores, type ScoreRow } from "../../../src/store/rows/scores.ts";
import { inTransaction } from "../../../src/store/rows/outcomes.ts";
import { NOW_MS, temporaryDirectory } from "../../ledger/_fixtures.ts";
import { askCore, catchUp, fillJournal, LIMITS, openStoreCore } from "../_fixtures.ts";
import { DAY_MS, rowOf } from "../_score-rows.ts";

const TODAY = Math.floor(NOW_MS / DAY_MS);
let core: JournalFollower;

beforeEach(async () => {
  const dataDir = temporaryDirectory();
  fillJournal(dataDir, 1, 10);
  ({ core } = openStoreCore(dataDir));
  await catchUp(core, 10);
});
afterEach(() => core.close());

type Days = ReadonlyMap<number, readonly ScoreRow[]>;

async function putOnRecord(days: Days): Promise<void> {
  await core.write(async (writer) => {
    await inTransaction(writer, async () => {
      await writer.run("DELETE FROM score_day_rows");
      for (const [day, rows] of days) {
        const reading = { position: 10, nowMs: day * DAY_MS, day, share: 1 };
        await replaceDailyScores(writer, reading, rows);
      }
    });
  });
}

/** The rule of `moved`, slow and obvious. */
function listMovements(earlier: ScoreRow, later: ScoreRow): string[] {
  const moved: string[] = [];
  if (later.config_version !== earlier.config_version) moved.push("config");
  for (const name of ["failures", "successes"] as const) {
    const change = later[`${name}_14d`] - earlier[`${name}_14d`];
    if (change > 0.01) moved.push(`${name}_rose`);
    if (change < -0.01) moved.push(`${name}_faded`);
  }
  if (later.regime !== earlier.regime) moved.push("regime");
  if (later.stakes_proven > earlier.stakes_proven) moved.push("stakes");
  if (later.credibility !== earlier.credibility) moved.push("credibility");
  return moved;
}

const scoreRows = fc.record({
  agent: fc.integer({ min: 0, max: 3 }),
  score: fc.integer({ min: 0, max: 100 }),
  failures_14d: fc.constantFrom(0, 0.005, 0.5, 2.25),
  successes_14d: fc.constantFrom(0, 1.5, 8),
  stakes_proven: fc.constantFrom(0, 10),
  regime: fc.constantFrom("", "stable", "shock"),
  config_version: fc.constantFrom("c-1", "c-2"),
  credibility: fc.constantFrom(-1, 0.5),
});
const histories = fc
  .uniqueArray(
    fc.record({
      daysAgo: fc.constantFrom(0, 1, 2, 6, 7, 8, 30, 31, 37),
      rows: fc.uniqueArray(scoreRows, { selector: ({ agent }) => agent, maxLength: 4 }),
    }),
    { selector: ({ daysAgo }) => daysAgo, maxLength: 6 },
  )
  .map(
    (days): Days =>
      new Map(
        days.map(({ daysAgo, rows }) => [
          TODAY - daysAgo,
          rows.map(({ agent, ...row }) => ({ ...rowOf(agent), ...row })),
        ]),
      ),
  );

function compareSlowly(days: Days): unknown[][] {
  const found: unknown[][] = [];
  for (const [day, rows] of days) {
    for (const span of [1, 7, 30]) {
      for (const later of rows) {
        const earlier = days.get(day - span)?.find(({ agent }) => agent === later.agent);
        if (earlier === undefined) continue;
        const date = new Date(day * DAY_MS).toISOString().slice(0, 10);
        const change = later.score - earlier.score;
        const failures = later.failures_14d - earlier.failures_14d;
        const moved = listMovements(earlier, later).join(" ");
        found.push([date, span, later.agent, earlier.score, later.score, change, failures, moved]);
      }
    }
  }
  return found
    .map((row) => JSON.stringify(row))
    .toSorted()
    .map((row) => JSON.parse(row) as unknown[]);
}

test("each pair of days of an agent 1, 7 or 30 days apart is a row, and no other", async () => {
  await fc.assert(
    fc.asyncProperty(histories, async (days) => {
      await putOnRecord(days);
      const { rows } = await askCore(
        core,
        `SELECT CAST(day AS VARCHAR), span_days, agent, score_before, score, change,
           failures_14d_change, array_to_string(moved, ' ') FROM movers`,
      );
      const found = rows.map((row) => JSON.stringify(row)).toSorted();
      expect(found).toEqual(compareSlowly(days).map((row) => JSON.stringify(row)));
    }),
    { numRuns: 20 },
  );
});

test("a tenant sees the movers of agents that its rows name, and its key needs score:read", async () => {
  const reported = "SELECT tenant, subject FROM outcomes ORDER BY position LIMIT 1";
  const [[tenant, agent] = []] = (await askCore(core, reported)).rows as [string, string][];
  const known = { ...rowOf(1), agent: agent!, namespace: "" };
  const unknown = { ...rowOf(2), agent: "agent://zebra/unknown", namespace: "zebra" };
  await putOnRecord(
    new Map([
      [TODAY - 1, [known, unknown]],
      [TODAY, [known, unknown].map((row) => ({ ...row, score: 20 }))],
    ]),
  );
  const sql = "SELECT agent, change FROM movers ORDER BY agent = 'agent://zebra/unknown'";
  const both = [agent, unknown.agent].map((name) => [name, -30]);
  expect((await askCore(core, sql)).rows).toEqual(both);
  const asTenant = (name: string, withheld: readonly "movers"[] = []) =>
    core.readQueue.query({ sql }, LIMITS, { tenant: name, withheld });
  expect((await asTenant(tenant!)).rows).toEqual(both.slice(0, 1));
  expect((await asTenant("nobody")).rows).toEqual([]);
  await expect(asTenant(tenant!, ["movers"])).rejects.toMatchObject({ code: "insufficient_scope" });
});
