// The attack scripts of gate G9 on a whole stream, for eval:trust: the agent table after the last
// outcome, with or without credibility, then the attack, then the lift under given weights.
import type { ScoringConfig, ScoringModel } from "../src/engine/config.ts";
import { createEngineMemory } from "../src/engine/memory.ts";
import { openEngineReader } from "../src/engine/reader.ts";
import { openEngineWriter } from "../src/engine/writer.ts";
import { attackLifts, playAttacks } from "../src/kaizen/gates/attacks.ts";
import type { AttackStage } from "../src/kaizen/gates/attacks.ts";
import { appendRow } from "../src/kaizen/model/scorecard.ts";
import { CredibilityBatch } from "./credibility-batch.ts";
import type { RatedOutcome } from "./ratings.ts";
import { foldRating, SEED } from "./replay.ts";

const VICTIMS = 60;
const RECORD_MIN = 5;

/** Agents by share of failures among at least `RECORD_MIN` outcomes, worst first. */
function byRecord(outcomes: readonly RatedOutcome[]): { id: string; share: number }[] {
  const records = new Map<string, { bad: number; all: number }>();
  for (const { subject, failure } of outcomes) {
    const record = records.get(subject) ?? { bad: 0, all: 0 };
    record.bad += failure;
    record.all++;
    records.set(subject, record);
  }
  return [...records]
    .filter(([, { all }]) => all >= RECORD_MIN)
    .map(([id, { bad, all }]) => ({ id, share: bad / all }))
    .toSorted((a, b) => b.share - a.share);
}

/** Median lift in points of each attack, scored by `model` (check leg). */
export function sybilLifts(
  outcomes: readonly RatedOutcome[],
  config: ScoringConfig,
  model: ScoringModel,
  isRobust: boolean,
) {
  const memory = createEngineMemory();
  const writer = openEngineWriter(memory, config, SEED);
  const reader = openEngineReader(memory, 1);
  const history: RatedOutcome[] = [...outcomes];
  const batch = isRobust ? new CredibilityBatch(outcomes, config) : undefined;
  outcomes.forEach((outcome, i) => {
    batch?.advance(writer, i, outcome.timeMs);
    foldRating(writer, outcome);
  });
  const stage: AttackStage = {
    fold: (outcome) => {
      writer.fold(outcome);
      const { subject, reporter, stakes } = outcome;
      const failure = outcome.outcome === 1 ? 0 : 1;
      history.push({ subject, reporter, stakes, failure, timeMs: outcome.settledAtMs });
    },
    refresh: () => {
      if (batch !== undefined) batch.withHistory(history).run(writer, history.length);
    },
    read: (rows, subject, nowMs) => {
      reader.check(subject, 0, nowMs);
      appendRow(rows, reader.legWords, reader.baseRate);
    },
  };
  const ranked = byRecord(outcomes);
  const rows = playAttacks(stage, {
    frauds: ranked.slice(0, VICTIMS).map(({ id }) => id),
    honest: ranked.slice(-VICTIMS).map(({ id }) => id),
    nowMs: outcomes.at(-1)!.timeMs,
  });
  return attackLifts(rows, model, config);
}
