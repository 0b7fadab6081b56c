// Gate G9 with credibility: what the seeds buy against invented agents in a run of the service, and
// that belief which an attack earns would show.
import { afterEach, describe, expect, it } from "vitest";
import { SIGNATURES } from "../../../src/contract/vocabulary.ts";
import { readStandingHistory } from "../../../src/kaizen/replay/credibility-history.ts";
import { defaultConfig } from "../../../src/engine/config.ts";
import { AttackStandings } from "../../../src/kaizen/gates/attack-credibility.ts";
import { GATE_POLICY } from "../../../src/kaizen/gates/gate.ts";
import type { RunRecord } from "../../../src/kaizen/kaizen.ts";
import { parseSeedRules } from "../../../src/kaizen/credibility/seeds.ts";
import { standingBatch, standingPolicy } from "../../../src/kaizen/credibility/standings.ts";
import { dataPaths } from "../../../src/journal/data-directory.ts";
import { endAll, runCommand } from "../../cli/_process.ts";
import { startServer } from "../../crash/server.ts";
import { ASKED, openStage, outcomesOf } from "../_service.ts";
import type { Stage } from "../_service.ts";

const CONFIG = defaultConfig();
let stage: Stage | undefined;

afterEach(async () => {
  await stage?.kaizen.close();
  await stage?.ledger.close();
  stage = undefined;
  await endAll();
});

describe("gate G9 in a run", () => {
  /** Both scorecards' numbers and words, when the operator names these seeds. */
  async function attacked(seeds: string) {
    stage = await openStage(undefined, seeds === "" ? {} : { seeds: parseSeedRules(seeds) });
    await stage.ledger.appendBatch(outcomesOf(1, 3000));
    const request = { ...ASKED, isDryRun: true, holdoutDays: 120 };
    const { findings } = await stage.kaizen.start(request)!.done;
    await stage.kaizen.close();
    await stage.ledger.close();
    const gates = findings!.sides.map((side) => side.gates.find(({ id }) => id === "G9")!);
    stage = undefined;
    return gates;
  }

  it("without seeds a ring is believed like anybody, and the gate says so", async () => {
    for (const { numbers, sentence } of await attacked("")) {
      expect(numbers["champion_sybil_20x5"]).toBeGreaterThan(3 * GATE_POLICY.lift_20x5_max);
      expect(numbers).toMatchObject({ credibility_in_force: 0, invented_believed: 0 });
      expect(sentence).toContain("no seeds are named");
    }
  });

  it("with seeds a ring buys next to nothing, from its first wave on", async () => {
    for (const { numbers, sentence, passed } of await attacked("agent://voice/*")) {
      expect(numbers["sybil_20x5"]).toBeLessThan(GATE_POLICY.lift_20x5_max);
      expect(numbers["sybil_200x20"]).toBeLessThan(GATE_POLICY.lift_200x20_max);
      expect(numbers).toMatchObject({ credibility_in_force: 1, invented_believed: 0 });
      expect(numbers["refused_by_slander"]).toBe(0);
      expect(passed).toBe(true);
      expect(sentence).toContain("0 invented agents came to be believed");
    }
  });

  it("belief that an attack earns counts in its second wave", async () => {
    const [check, handshake] = await attacked("agent://voice/*,agent://attack/*");
    for (const gate of [check!, handshake!]) {
      expect(gate.numbers["invented_believed"]).toBeGreaterThan(100);
      expect(gate.numbers["champion_sybil_20x5"]).toBeGreaterThan(2 * GATE_POLICY.lift_20x5_max);
    }
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
    readStandingHistory(dataPaths(dataDir).journal, ledger.position(), CONFIG).history;
  const before = historyNow();
  const attack = new AttackStandings(before, rules, CONFIG);
  for (const each of echoed) {
    attack.add({ ...each, signatureIndex: SIGNATURES.indexOf(each.signature) });
  }
  await ledger.appendBatch(echoed);
  const { standings } = standingBatch(historyNow(), rules, standingPolicy(CONFIG))!;
  expect(standings.agents.length).toBeGreaterThan(50);
  expect(attack.batch()).toEqual(standings);
  expect(attack.batch()!.agents).toEqual([]);
  expect([before.edges.count, before.written.size]).toEqual([2000, 0]);
});

it("writes nothing where the seeds name nobody", async () => {
  stage = await openStage();
  await stage.ledger.appendBatch(outcomesOf(2, 50));
  const { journal } = dataPaths(stage.dataDir);
  const { history } = readStandingHistory(journal, stage.ledger.position(), CONFIG);
  const attack = new AttackStandings(history, parseSeedRules("agent://nobody/*"), CONFIG);
  expect(attack.batch()).toBeUndefined();
  expect(attack.believed).toBe(0);
});

it("takes the seeds from the setting, in the server and by command", async () => {
  stage = await openStage();
  const { dataDir, ledger } = stage;
  await ledger.appendBatch(outcomesOf(1, 2000, Date.now()));
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
