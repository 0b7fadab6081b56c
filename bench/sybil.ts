// The attack scripts of gate G9 on a whole stream, for eval:trust: the agent table after the last
// outcome, with or without credibility, then the attack, then the lift under given weights.
import type { ScoringConfig, ScoringModel } from "../src/engine/config.ts";
import { createEngineMemory } from "../src/engine/memory.ts";
import { openEngineReader } from "../src/engine/reader.ts";
import { openEngineWriter } from "../src/engine/writer.ts";
import type { FoldOutcome } from "../src/engine/reading.ts";
import { measureScoreLiftPoints } from "../src/kaizen/gates/attacks/gate.ts";
import { openAttackJudge, playAttacksOnTable } from "../src/kaizen/replay/private-engines.ts";
import { CredibilityBatch } from "./credibility-batch.ts";
import type { RatedOutcome } from "./ratings.ts";
import { foldRating, SEED } from "./replay.ts";
import type { Walk } from "./replay.ts";

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
  { isRobust = false, voices }: Pick<Walk, "isRobust" | "voices">,
) {
  const memory = createEngineMemory();
  const writer = openEngineWriter(memory, config, SEED);
  const reader = openEngineReader(memory, 1);
  const history: RatedOutcome[] = [...outcomes];
  const batch = isRobust ? new CredibilityBatch(outcomes, config) : undefined;
  outcomes.forEach((outcome, i) => {
    batch?.advance(writer, i, outcome.timeMs);
    foldRating(writer, outcome, voices);
  });
  const ranked = byRecord(outcomes);
  const attackAgents = {
    frauds: ranked.slice(0, VICTIMS).map(({ id }) => id),
    honest: ranked.slice(-VICTIMS).map(({ id }) => id),
    nowMs: outcomes.at(-1)!.timeMs,
  };
  const standings = {
    believed: 0,
    add: ({ subject, reporter, stakes, outcome, settledAtMs }: FoldOutcome) => {
      const failure = outcome === 1 ? 0 : 1;
      history.push({ subject, reporter, stakes, failure, timeMs: settledAtMs });
    },
    batch: () => {
      // It writes into the table by itself.
      batch?.withHistory(history).run(writer, history.length);
      return undefined;
    },
  };
  const { tapes } = playAttacksOnTable({ writer, reader, attackAgents }, standings);
  const judge = openAttackJudge(config);
  const own = { ...config, check: model };
  return measureScoreLiftPoints(tapes!, "check", (leg) => judge(own, leg));
}
