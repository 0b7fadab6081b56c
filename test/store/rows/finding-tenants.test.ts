// Findings in the store itself, as a tenant sees them: those of reporters whose outcomes it may see, of
// rings the newest mark.
import { expect, test } from "vitest";
import { RING_BIT } from "../../../src/contract/standings.ts";
import { FRAME_KINDS } from "../../../src/journal/format.ts";
import { encodeStandings, RULES_BEFORE_STANDINGS } from "../../../src/journal/standings.ts";
import { FrameBatch } from "../../../src/ledger/frame-batch.ts";
import { NOW_MS, recordOf, runOf, temporaryDirectory } from "../../ledger/_fixtures.ts";
import { LIMITS, openJournal, openStore } from "../_fixtures.ts";

const HOUR_MS = 3_600_000;

function markRing(agents: readonly string[], cluster: number) {
  const batch = new FrameBatch();
  const rows = agents.map((agent) => ({ agent, flags: 0, credibility: 0, cluster }));
  const standings = { isInForce: false, stakesHigh: 0, agents: rows, computedFrom: 1 };
  for (const part of encodeStandings(standings, RULES_BEFORE_STANDINGS))
    batch.addEvent(FRAME_KINDS.standings, part);
  return batch.drain();
}

test("a tenant sees findings about reporters of its own outcomes only", async () => {
  const dataDir = temporaryDirectory();
  const journal = openJournal(dataDir);
  const tell = (tenant: string, from: number) =>
    Array.from({ length: 24 }, (_, i) =>
      recordOf(from + i, {
        tenant,
        reporter: `agent://${tenant}/robot`,
        subject: `agent://${tenant}/shop`,
        stakes: 5,
        settledAtMs: NOW_MS - i * HOUR_MS,
        isAgentFault: true,
      }),
    );
  journal.commit([runOf([...tell("acme", 0), ...tell("zebra", 100)])], NOW_MS);
  const robots = ["agent://acme/robot", "agent://zebra/robot"];
  journal.commit([markRing(robots, RING_BIT | 9)], NOW_MS);
  journal.commit([markRing(["agent://zebra/robot"], 0)], NOW_MS);
  journal.close();
  const { store } = await openStore(dataDir);
  const ask = async (sql: string, tenant?: string) => (await store.query(sql, LIMITS, tenant)).rows;
  const all = "SELECT kind, agent, about, ring FROM findings ORDER BY agent, kind";
  const repetition = (tenant: string) => [
    "repetition",
    `agent://${tenant}/robot`,
    `agent://${tenant}/shop`,
    null,
  ];
  const acme = [repetition("acme"), ["ring", "agent://acme/robot", null, 9]];
  expect(await ask(all)).toEqual([...acme, repetition("zebra")]);
  expect(await ask(all, "acme")).toEqual(acme);
  expect(await ask(all, "zebra")).toEqual([repetition("zebra")]);
  expect(await ask("SELECT agent, members FROM rings", "zebra")).toEqual([]);
  expect(await ask("SELECT reporter, outcomes FROM repeated_reports", "zebra")).toEqual([
    ["agent://zebra/robot", 24],
  ]);
  expect(await ask("SELECT in_ring FROM reporters ORDER BY reporter")).toEqual([[true], [false]]);
  await store.close();
});
