// Journal as evidence: whose outcomes may train, and how much each counted when it settled.
import { afterEach, describe, expect, it } from "vitest";
import { FLAG_CREDIBILITY } from "../../../assembly/layout.ts";
import { VOICE_STRANGER } from "../../../src/contract/voices.ts";
import { loadDefaultConfig } from "../../../src/engine/config.ts";
import { resolveDataPaths } from "../../../src/journal/data-directory.ts";
import type { OutcomeRecord } from "../../../src/journal/records.ts";
import { encodeStandings, RULES_BEFORE_STANDINGS } from "../../../src/journal/standings.ts";
import { COLUMN_COUNT, SCORECARD_SIDES } from "../../../src/kaizen/model/scorecard.ts";
import { replayJournal } from "../../../src/kaizen/replay/evidence.ts";
import type { SampleBounds } from "../../../src/kaizen/replay/evidence.ts";
import { openStage, outcomesOf } from "../_service.ts";
import type { Stage } from "../_service.ts";

const CONFIG = loadDefaultConfig();
const opened: Stage[] = [];

afterEach(async () => {
  for (const { kaizen, ledger } of opened.splice(0)) {
    await kaizen.close();
    await ledger.close();
  }
});

async function openOne(): Promise<Stage> {
  const stage = await openStage();
  opened.push(stage);
  return stage;
}

function evidenceOf({ dataDir, ledger }: Stage) {
  const { journal } = resolveDataPaths(dataDir);
  return replayJournal(journal, ledger.position(), CONFIG).evidence.check;
}

describe("outcomes that may train", () => {
  it("are imports, and what a first-party key vouches for, but no stranger's unsigned word", async () => {
    const stage = await openOne();
    const all = outcomesOf(1, 300);
    const unsigned = { signature: "none", source: "" } as const;
    const kinds: ((each: OutcomeRecord) => OutcomeRecord)[] = [
      (each) => each,
      (each) => ({ ...each, ...unsigned, isFirstParty: true }),
      (each) => ({ ...each, ...unsigned, voice: VOICE_STRANGER + 1 }),
    ];
    await stage.ledger.appendBatch(all.map((each, i) => kinds[i % 3]!(each)));
    const { rows, timesMs, weights } = evidenceOf(stage);
    expect(rows.count).toBe(200);
    const expected = all.filter((_, i) => i % 3 !== 2).map(({ settledAtMs }) => settledAtMs);
    expect([...timesMs.subarray(0, 200)]).toEqual(expected);
    const counterparty = CONFIG.grade_weights[3]! * CONFIG.signature_weights[1]!;
    expect(weights.subarray(0, 200).every((weight) => weight === counterparty)).toBe(true);
  });

  it("teach as much as the cap of their incident left of them", async () => {
    const stage = await openOne();
    const [first] = outcomesOf(1, 1);
    const failed = Array.from({ length: 10 }, (_, i) => ({
      ...outcomesOf(1, i + 1)[i]!,
      subject: "agent://shop/outage",
      reporter: `agent://shop/customer-${i}`,
      outcome: 0 as const,
      stakes: 250,
      settledAtMs: first!.settledAtMs,
    }));
    await stage.ledger.appendBatch(failed);
    const { weights } = evidenceOf(stage);
    const counterparty = CONFIG.grade_weights[3]! * CONFIG.signature_weights[1]!;
    const full = Array.from({ length: 5 }, () => counterparty);
    expect([...weights.subarray(0, 10)]).toEqual([...full, 0, 0, 0, 0, 0]);
  });
});

describe("rows of a sample", () => {
  it("see every outcome before them, though few of those are rows", async () => {
    const stage = await openOne();
    await stage.ledger.appendBatch(outcomesOf(3, 3000));
    const { journal } = resolveDataPaths(stage.dataDir);
    const replay = (sample?: SampleBounds) =>
      replayJournal(journal, stage.ledger.position(), CONFIG, { sample });
    const whole = replay();
    expect(whole.rowsOf).toBe(3000);
    const part = replay({ rowsMax: 300, bordersMs: [], seed: 5 });
    expect(part.rowsOf).toBe(3000);
    expect(part.lagMs).toBe(whole.lagMs);
    expect(part.attackAgents).toEqual(whole.attackAgents);
    for (const side of SCORECARD_SIDES) {
      const [rows, all] = [part.evidence[side], whole.evidence[side]];
      const { count } = rows.rows;
      expect(Math.abs(count - 300)).toBeLessThan(90);
      const at = new Map([...all.timesMs].map((timeMs, i) => [timeMs, i]));
      expect(at.size).toBe(3000);
      for (let row = 0; row < count; row++) {
        const same = at.get(rows.timesMs[row]!)!;
        const { values, outcomes } = rows.rows;
        expect(values.subarray(row * COLUMN_COUNT, (row + 1) * COLUMN_COUNT)).toEqual(
          all.rows.values.subarray(same * COLUMN_COUNT, (same + 1) * COLUMN_COUNT),
        );
        expect(outcomes[row]).toBe(all.rows.outcomes[same]);
        expect(rows.failures[row]).toBe(all.failures[same]);
      }
    }
  });
});

describe("credibility of a row", () => {
  it("is that of its reporter when it settled: 1 before standings, then by the last batch", async () => {
    const stage = await openOne();
    const all = outcomesOf(1, 300);
    const write = async (rho: number) => {
      const agents = [
        { agent: "agent://voice/1", flags: FLAG_CREDIBILITY, credibility: rho, cluster: 0 },
      ];
      const batch = { isInForce: true, stakesHigh: 0, agents, computedFrom: 0 };
      for (const payload of encodeStandings(batch, RULES_BEFORE_STANDINGS)) {
        await stage.ledger.appendStandings(payload);
      }
    };
    const told = (each: OutcomeRecord, i: number) => ({
      ...each,
      reporter: `agent://voice/${i % 2}`,
    });
    const records = all.map(told);
    await stage.ledger.appendBatch(records.slice(0, 100));
    await write(0.8);
    await stage.ledger.appendBatch(records.slice(100, 200));
    await write(0.5);
    await stage.ledger.appendBatch(records.slice(200));
    const { credibility } = evidenceOf(stage);
    const least = CONFIG.credibility_min;
    // A batch is written between two outcomes: the next one has settled before it was in force.
    for (const [row, rho] of [
      [20, 1],
      [21, 1],
      [120, least],
      [121, 0.8],
      [220, least],
      [221, 0.5],
    ] as const) {
      expect(credibility![row], `row ${row}`).toBe(rho);
    }
  });
});
