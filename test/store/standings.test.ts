// Reporters' standings in SQL: the newest of each, beside what it reported, and to a tenant only
// those of reporters whose outcomes it may see.
import { expect, test } from "vitest";
import { STANDING_BITS } from "../../src/contract/standings.ts";
import type { AgentStanding } from "../../src/engine/reading.ts";
import { FRAME_KINDS } from "../../src/journal/format.ts";
import { encodeStandings, RULES_BEFORE_STANDINGS } from "../../src/journal/standings.ts";
import { FrameBatch } from "../../src/ledger/frame-batch.ts";
import { NOW_MS, recordOf, runOf, temporaryDirectory } from "../ledger/_fixtures.ts";
import { LIMITS, openJournal, openStore } from "./_fixtures.ts";

const { believed, seed, discounted } = STANDING_BITS;

function partsOf(agents: AgentStanding[]) {
  const batch = new FrameBatch();
  const standings = { isInForce: true, stakesHigh: 0, agents, computedFrom: 1 };
  for (const part of encodeStandings(standings, RULES_BEFORE_STANDINGS))
    batch.addEvent(FRAME_KINDS.standings, part);
  return batch.drain();
}

test("the newest standing stands beside what a reporter said", async () => {
  const dataDir = temporaryDirectory();
  const journal = openJournal(dataDir);
  const reporters = ["agent://a/1", "agent://b/1", "agent://c/1"];
  const records = reporters.map((reporter, i) =>
    recordOf(i, { reporter, subject: "agent://s/1", tenant: reporter.charAt(8) }),
  );
  journal.commit([runOf(records)], NOW_MS);
  const of = (agent: string, flags: number, credibility = 0, cluster = 0) => {
    return { agent, flags, credibility, cluster };
  };
  journal.commit([partsOf([of("agent://a/1", believed, 0.4), of("agent://b/1", discounted)])], 1);
  journal.commit([partsOf([of("agent://a/1", believed | seed, 1), of("agent://c/1", 0, 0, 7)])], 2);
  journal.close();
  const { store } = await openStore(dataDir);
  const ask = async (tenant?: string) => {
    const sql = "SELECT reporter, credibility, is_seed, cluster FROM reporters ORDER BY reporter";
    return (await store.query(sql, LIMITS, tenant)).rows;
  };
  expect(await ask()).toEqual([
    ["agent://a/1", 1, true, null],
    ["agent://b/1", null, false, null],
    ["agent://c/1", null, false, 7],
  ]);
  expect(await ask("c")).toEqual([["agent://c/1", null, false, 7]]);
  await expect(store.query("FROM standing_rows", LIMITS, "c")).rejects.toThrow("standing_rows");
  await store.close();
});
