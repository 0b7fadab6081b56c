// Gate G9 with credibility: what the seeds buy against invented agents, that belief which an attack
// earns would show, and that a run of the service asks the seeds of its setting.
import { afterEach, describe, expect, it } from "vitest";
import { SIGNATURES } from "../../../../src/contract/vocabulary.ts";
import { VOICE_FIRST_PARTY } from "../../../../src/contract/voices.ts";
import { readStandingHistory } from "../../../../src/kaizen/replay/credibility-history.ts";
import { loadDefaultConfig } from "../../../../src/engine/config.ts";
import { AttackStandings } from "../../../../src/kaizen/gates/attacks/credibility.ts";
import { measureScoreLiftPoints } from "../../../../src/kaizen/gates/attacks/gate.ts";
import { ATTACK_NAMES, ATTACK_STAKES } from "../../../../src/kaizen/gates/attacks/scripts.ts";
import {
  openAttackJudge,
  playAttacksOnTable,
} from "../../../../src/kaizen/replay/private-engines.ts";
import type { OutcomeHistory } from "../../../../src/kaizen/replay/history.ts";
import { replayTableUpTo } from "../../../../src/kaizen/replay/evidence.ts";
import type { RunRecord } from "../../../../src/kaizen/kaizen.ts";
import { parseSeedRules } from "../../../../src/kaizen/credibility/seeds.ts";
import {
  computeStandingBatch,
  createStandingPolicy,
} from "../../../../src/kaizen/credibility/standings.ts";
import type { StandingHistory } from "../../../../src/kaizen/credibility/standings.ts";
import { resolveDataPaths } from "../../../../src/journal/data-directory.ts";
import { endAll, runCommand } from "../../../cli/_process.ts";
import { startServer } from "../../../crash/server.ts";
import { NOW_MS, openStage, outcomesOf } from "../../_service.ts";
import type { Stage } from "../../_service.ts";

const CONFIG = loadDefaultConfig();
let stage: Stage | undefined;

afterEach(async () => {
  await stage?.kaizen.close();
  await stage?.ledger.close();
  stage = undefined;
  await endAll();
});

/** Outcomes as the columns of a journal, and as the graph of reports of a batch. */
function historyOf(count: number): { history: OutcomeHistory; graph: StandingHistory } {
  const outcomes = outcomesOf(1, count);
  const agents = [...new Set(outcomes.flatMap(({ subject, reporter }) => [subject, reporter]))];
  const numbers = new Map(agents.map((agent, i) => [agent, i]));
  const history: OutcomeHistory = {
    agents,
    subjects: outcomes.map(({ subject }) => numbers.get(subject)!),
    reporters: outcomes.map(({ reporter }) => numbers.get(reporter)!),
    failures: outcomes.map(({ outcome }) => 1 - outcome),
    stakes: outcomes.map(({ stakes }) => stakes),
    stakesKnown: outcomes.map(() => 1),
    grades: outcomes.map(({ gradeIndex }) => gradeIndex),
    signatures: outcomes.map(({ signature }) => SIGNATURES.indexOf(signature)),
    voices: outcomes.map(() => VOICE_FIRST_PARTY),
    settledMs: outcomes.map(({ settledAtMs }) => settledAtMs),
    recordedMs: outcomes.map(({ recordedAtMs }) => recordedAtMs),
    standings: [],
    marks: [],
    assessments: [],
  };
  const graph: StandingHistory = {
    ids: agents,
    edges: {
      agents: agents.length,
      reporters: Uint32Array.from(history.reporters),
      subjects: Uint32Array.from(history.subjects),
      failures: Uint8Array.from(history.failures),
      weights: new Float32Array(count).fill(1),
      count,
    },
    stakes: Float32Array.from(history.stakes),
    keyHolders: new Map(),
    written: new Map(),
    stakesHigh: 0,
    isInForce: false,
  };
  return { history, graph };
}

describe("the scripts of gate G9", () => {
  const { history, graph } = historyOf(1500);

  /** Points that the rings lift the median fraud, by scorecard, and who came to be believed. */
  function attacked(seeds: string) {
    const table = replayTableUpTo(history, NOW_MS, CONFIG);
    const { frauds, honest } = table.attackAgents;
    // Few victims: what one of them meets, all do.
    const attackAgents = {
      ...table.attackAgents,
      frauds: frauds.slice(0, 8),
      honest: honest.slice(0, 8),
    };
    const standings =
      seeds === "" ? undefined : new AttackStandings(graph, parseSeedRules(seeds), CONFIG);
    const { tapes, credibility } = playAttacksOnTable({ ...table, attackAgents }, standings);
    const judge = openAttackJudge(CONFIG);
    const sides = (["check", "handshake"] as const).map((side) =>
      measureScoreLiftPoints(tapes!, side, (leg) => judge(CONFIG, leg)),
    );
    return { sides, credibility, tapes: tapes!, judge };
  }

  it("without seeds a ring is believed like anybody", () => {
    const { sides, credibility } = attacked("");
    for (const lifts of sides) expect(lifts.sybil_20x5).toBeGreaterThan(90);
    expect(credibility).toEqual({ isInForce: false, believed: 0 });
  });

  it("with seeds a ring buys next to nothing, from its first wave on", () => {
    const { sides, credibility } = attacked("agent://voice/*");
    for (const lifts of sides) {
      expect(lifts.sybil_20x5).toBeLessThan(30);
      expect(lifts.sybil_200x20).toBeLessThan(35);
    }
    expect(credibility).toEqual({ isInForce: true, believed: 0 });
  });

  it("belief that an attack earns counts in its second wave", () => {
    const { sides, credibility } = attacked("agent://voice/*,agent://attack/*");
    expect(credibility.believed).toBeGreaterThan(100);
    for (const lifts of sides) expect(lifts.sybil_20x5).toBeGreaterThan(60);
  });

  it("ask the same engine, step by step: the price of an answer is on the tape", () => {
    const { tapes, judge } = attacked("");
    for (const script of ATTACK_NAMES) {
      const { spent, asked, before } = tapes[script];
      expect(asked).toHaveLength(spent.length);
      for (const { check, handshake } of [before, ...asked]) {
        expect(check.length % ATTACK_STAKES.length).toBe(0);
        expect([check.length, handshake.length]).toEqual([
          before.check.length,
          before.check.length,
        ]);
      }
    }
    // Eight failures after four hundred successes: the risk rises with each.
    const risks = tapes.streak.asked.map(
      ({ check }) => judge(CONFIG, check[0]!).failureProbability,
    );
    expect(risks).toEqual(risks.toSorted((a, b) => a - b));
    // A thousand trades prove no stakes: what they buy is at most what ten buy and trust in time.
    const { stakes } = tapes.cheap_trades.asked.at(-1)!.check.at(-1)!;
    expect(stakes).toBe(ATTACK_STAKES.at(-1));
  });
});

it("writes what the service would with the attack in its journal, and only once", async () => {
  stage = await openStage();
  const { ledger, dataDir } = stage;
  const rules = parseSeedRules("agent://voice/1,agent://voice/2");
  const outcomes = outcomesOf(2, 2000);
  // Who is praised reports, too, or trust would end with the seeds; new names come with the attack.
  const echoed = outcomes.slice(0, 1500).map((each, i) => {
    const outcomeId = each.outcomeId.replace("-7000-", "-7001-");
    return { ...each, outcomeId, reporter: each.subject, subject: `agent://new/${i % 40}` };
  });
  await ledger.appendBatch(outcomes);
  const historyNow = () =>
    readStandingHistory(resolveDataPaths(dataDir).journal, ledger.position(), CONFIG);
  const before = historyNow();
  const attack = new AttackStandings(before, rules, CONFIG);
  for (const each of echoed) {
    attack.add({ ...each, signatureIndex: SIGNATURES.indexOf(each.signature) });
  }
  await ledger.appendBatch(echoed);
  const { standings } = computeStandingBatch(historyNow(), rules, createStandingPolicy(CONFIG))!;
  expect(standings.agents.length).toBeGreaterThan(50);
  expect(attack.batch()).toEqual(standings);
  expect(attack.batch()!.agents).toEqual([]);
  expect([before.edges.count, before.written.size]).toEqual([2000, 0]);
});

it("writes nothing where the seeds name nobody", async () => {
  stage = await openStage();
  await stage.ledger.appendBatch(outcomesOf(2, 50));
  const { journal } = resolveDataPaths(stage.dataDir);
  const history = readStandingHistory(journal, stage.ledger.position(), CONFIG);
  const attack = new AttackStandings(history, parseSeedRules("agent://nobody/*"), CONFIG);
  expect(attack.batch()).toBeUndefined();
  expect(attack.believed).toBe(0);
});

it("takes the seeds from the setting, in the server and by command", async () => {
  stage = await openStage();
  const { dataDir, ledger } = stage;
  await ledger.appendBatch(outcomesOf(1, 1500, Date.now()));
  await ledger.close();
  stage = undefined;
  // Who vouches for the attackers believes them: the mark that these very seeds were asked.
  const named = { TRUSTRANK_SEEDS: "agent://voice/*,agent://attack/*" };
  const believed = ({ findings }: RunRecord) =>
    findings!.sides.map(
      ({ gates }) => gates.find(({ id }) => id === "G9")!.numbers["invented_believed"]! > 0,
    );
  const byCommand = async (environment: Record<string, string>) => {
    const flags = ["--dry-run", "--holdout-days", "120", "--json", "--data-dir", dataDir];
    const { code, stdout, stderr } = await runCommand(["kaizen", "run", ...flags], environment);
    expect(code, stderr).toBe(0);
    return believed(JSON.parse(stdout) as RunRecord);
  };
  expect(await byCommand(named)).toEqual([true, true]);
  expect(await byCommand({ ...named, TRUSTRANK_CREDIBILITY: "off" })).toEqual([false, false]);
  const environment = { ...named, TRUSTRANK_KAIZEN: "off" };
  const server = await startServer(dataDir, { environment });
  const asked = JSON.stringify({ dry_run: true, holdout_days: 120 });
  const { body } = await server.post("/v1/kaizen/run", asked);
  expect(believed(body as RunRecord)).toEqual([true, true]);
  await server.kill("SIGTERM");
});
