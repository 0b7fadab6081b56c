// Standings: whom the rules name, what a batch writes and what it leaves, and that kaizen's replay
// of the journal weighs reporters as the table did.
import { afterAll, describe, expect, it } from "vitest";
import { STANDING_BITS } from "../../../src/contract/standings.ts";
import { readStandingHistory } from "../../../src/kaizen/replay/credibility-history.ts";
import { CredibilityService } from "../../../src/kaizen/service/credibility-service.ts";
import { loadDefaultConfig } from "../../../src/engine/config.ts";
import type { TableReader } from "../../../src/engine/reader.ts";
import type { AgentStanding } from "../../../src/engine/reading.ts";
import { replayJournal } from "../../../src/kaizen/replay/evidence.ts";
import { parseSeedRules, selectSeeds } from "../../../src/kaizen/credibility/seeds.ts";
import {
  computeStakesQuantile,
  computeStandingBatch,
  createStandingPolicy,
} from "../../../src/kaizen/credibility/standings.ts";
import type { StandingHistory } from "../../../src/kaizen/credibility/standings.ts";
import { resolveDataPaths } from "../../../src/journal/data-directory.ts";
import { NOW_MS, openStage, outcomesOf } from "../_service.ts";

const POLICY = createStandingPolicy(loadDefaultConfig());

interface Report {
  by: string;
  of: string;
  failed?: boolean;
  weight?: number;
  stakes?: number;
}

function historyOf(
  reports: readonly Report[],
  changes: Partial<Pick<StandingHistory, "keyHolders" | "written" | "stakesHigh">> = {},
): StandingHistory {
  const ids: string[] = [];
  const numberOf = (id: string) => {
    const known = ids.indexOf(id);
    return known < 0 ? ids.push(id) - 1 : known;
  };
  const reporters = reports.map(({ by }) => numberOf(`agent://${by}`));
  const subjects = reports.map(({ of }) => numberOf(`agent://${of}`));
  return {
    ids,
    edges: {
      agents: ids.length,
      reporters,
      subjects,
      failures: reports.map(({ failed }) => (failed === true ? 1 : 0)),
      weights: reports.map(({ weight }) => weight ?? 1),
      count: reports.length,
    },
    stakes: reports.map(({ stakes }) => stakes ?? 1),
    keyHolders: new Map(),
    written: new Map(),
    stakesHigh: 0,
    isInForce: false,
    ...changes,
  };
}

/** Auditor vouches for two buyers, who deal with a shop; strangers praise a fraud. */
const MARKET: Report[] = [
  { by: "audit/1", of: "buyer/1" },
  { by: "audit/1", of: "buyer/2" },
  { by: "buyer/1", of: "shop/good" },
  { by: "buyer/2", of: "shop/good" },
  { by: "buyer/1", of: "shop/fraud", failed: true },
  { by: "ring/1", of: "shop/fraud" },
  { by: "ring/2", of: "shop/fraud" },
  { by: "ring/1", of: "ring/2" },
];
const RULES = parseSeedRules("agent://audit/1");

function namedSeeds(text: string, history: StandingHistory): Record<string, number> {
  const seeds = selectSeeds(parseSeedRules(text), history);
  return Object.fromEntries([...seeds].map(([agent, share]) => [history.ids[agent]!, share]));
}

describe("seeds", () => {
  it("are agents by name, reporters of a namespace, and holders of keys by tenant", () => {
    const keyHolders = new Map([
      ["agent://buyer/1", "acme"],
      ["agent://buyer/2", "acme"],
      ["agent://ring/1", "globex"],
      ["agent://shop/fraud", "globex"],
    ]);
    const history = historyOf(MARKET, { keyHolders });
    expect(namedSeeds("agent://audit/1, agent://nobody/1", history)).toEqual({
      "agent://audit/1": 1,
    });
    // Shops never reported: they can vouch for nobody.
    expect(namedSeeds("agent://shop/*", history)).toEqual({});
    // A tenant with two keys has no more to give than one with one.
    expect(namedSeeds("keys", history)).toEqual({
      "agent://buyer/1": 0.25,
      "agent://buyer/2": 0.25,
      "agent://ring/1": 0.5,
    });
    const both = namedSeeds("agent://audit/1,agent://buyer/*", history);
    expect(both).toEqual({
      "agent://audit/1": 0.5,
      "agent://buyer/1": 0.25,
      "agent://buyer/2": 0.25,
    });
  });

  it("of the earliest are the best known of the first tenth", () => {
    const early = ["a/1", "a/2", "a/3"].map((by) => ({ by, of: "known/1" }));
    const late = Array.from({ length: 40 }, (_, i) => ({ by: `ring/${i}`, of: "ring/x" }));
    const named = namedSeeds("earliest", historyOf([...early, ...late]));
    expect(Object.keys(named)[0]).toBe("agent://known/1");
    expect(Object.keys(named)).toHaveLength(2);
  });
});

describe("a batch", () => {
  const batch = (changes: Parameters<typeof historyOf>[1] = {}, reports = MARKET) =>
    computeStandingBatch(historyOf(reports, changes), RULES, POLICY)!;
  const byAgent = (agents: readonly AgentStanding[]) =>
    new Map(agents.map((standing) => [standing.agent, standing]));

  it("believes seeds and whom they praise, and says whose record rests on strangers", () => {
    const { standings, figures } = batch();
    const found = byAgent(standings.agents);
    const { believed, seed, discounted } = STANDING_BITS;
    expect(found.get("agent://audit/1")).toMatchObject({ flags: believed | seed, credibility: 1 });
    expect(found.get("agent://buyer/1")!.flags).toBe(believed);
    expect(found.get("agent://buyer/1")!.credibility).toBeGreaterThan(0.5);
    expect(found.get("agent://shop/fraud")!.flags).toBe(discounted);
    expect(found.get("agent://ring/2")!.flags).toBe(discounted);
    expect(found.has("agent://ring/1")).toBe(false);
    expect(figures).toMatchObject({ reporters: 5, believed: 3, seeds: 1, believed_share: 5 / 8 });
  });

  it("writes nothing twice, and only what has changed", () => {
    const first = batch();
    const written = byAgent(first.standings.agents);
    expect(batch({ written }).standings.agents).toEqual([]);
    const more = [...MARKET, { by: "buyer/1", of: "ring/1" }, { by: "buyer/2", of: "ring/1" }];
    const second = batch({ written }, more).standings.agents;
    expect(byAgent(second).get("agent://ring/1")!.flags).toBe(STANDING_BITS.believed);
    expect(byAgent(second).has("agent://audit/1")).toBe(false);
  });

  it("takes back what no longer holds", () => {
    const stale = { agent: "agent://ring/1", flags: 8, credibility: 0.9, cluster: 4 };
    const { agents } = batch({ written: new Map([[stale.agent, stale]]) }).standings;
    expect(byAgent(agents).get(stale.agent)).toMatchObject({
      flags: 0,
      credibility: 0,
      cluster: 0,
    });
  });

  it("marks who signs", () => {
    const keyHolders = new Map([["agent://ring/1", "globex"]]);
    const found = byAgent(batch({ keyHolders }).standings.agents);
    expect(found.get("agent://ring/1")!.flags).toBe(STANDING_BITS.signs);
  });

  it("says nothing when the rules name nobody", () => {
    const rules = parseSeedRules("agent://nobody/1");
    expect(computeStandingBatch(historyOf(MARKET), rules, POLICY)).toBeUndefined();
  });
});

describe("stakes that count fully", () => {
  const reports = (count: number, by: string, stakes: (i: number) => number) =>
    Array.from({ length: count }, (_, i) => ({ by, of: "b/1", stakes: stakes(i) }));

  it("are the 95th percentile of what believed reporters dealt in", () => {
    const few = { ...POLICY, stakesMin: 101, stakesEach: 101 };
    const history = historyOf(reports(101, "a/1", (i) => 100 - i));
    const rho = Float64Array.of(1, 1);
    expect(computeStakesQuantile(history, rho, few)).toBe(95);
    expect(computeStakesQuantile(history, rho, { ...few, stakesMin: 102 })).toBe(0);
  });

  it("are not moved by strangers, nor by one voice however loud", () => {
    const crowd = Array.from({ length: 30 }, (_, i) => reports(20, `a/${i}`, () => 5)).flat();
    const loud = reports(5000, "a/x", () => 1e6);
    const history = historyOf([...crowd, ...reports(5000, "ring/1", () => 1e6), ...loud]);
    const believed = Float64Array.from(history.ids, (id) => (id === "agent://ring/1" ? 0 : 1));
    expect(computeStakesQuantile(history, believed, POLICY)).toBe(5);
    expect(computeStakesQuantile(history, believed.fill(1), { ...POLICY, stakesEach: 5000 })).toBe(
      1e6,
    );
  });
});

describe("kaizen's replay", () => {
  const open: { close(): Promise<void> }[] = [];
  afterAll(() => Promise.all(open.map((each) => each.close())));

  it("ends with the scores that are served", async () => {
    const { dataDir, ledger, engine } = await openStage();
    open.push(ledger);
    const { journal } = resolveDataPaths(dataDir);
    const config = loadDefaultConfig();
    const service = new CredibilityService({
      journal,
      ledger,
      engine,
      isWanted: true,
      rules: parseSeedRules("agent://voice/0,agent://voice/1"),
      config,
      clock: () => NOW_MS,
      log: { info: () => undefined, warn: () => undefined, error: () => undefined },
    });
    const outcomes = outcomesOf(7, 1200);
    // Those who are praised report too, or trust would end with the seeds.
    const mutual = outcomes.map((each, i) => ({
      ...each,
      outcomeId: each.outcomeId.replace("-7000-", "-7001-"),
      subject: each.reporter,
      reporter: i % 2 === 0 ? "agent://voice/0" : each.subject,
    }));
    await ledger.appendBatch(outcomes.slice(0, 600));
    await ledger.appendBatch(mutual.slice(0, 600).filter((each) => each.subject !== each.reporter));
    const { records, figures } = await service.refresh();
    expect(records).toBe(1);
    expect(figures!.believed).toBeGreaterThan(10);
    await ledger.appendBatch(outcomes.slice(600));
    const history = readStandingHistory(journal, ledger.position(), config);
    expect(history.isInForce).toBe(true);
    expect(history.written.size).toBe(figures!.changed);
    const replayed = replayJournal(journal, ledger.position(), config);
    const scores = (reader: TableReader) =>
      Array.from({ length: 200 }, (_, i) => {
        return reader.check(`agent://made/${i}`, 5, NOW_MS).scoreEffective;
      });
    expect(scores(replayed.reader)).toEqual(scores(engine));
  });
});
