// Replay of a history day by day: the agent table as it would have stood at the end of each UTC day if every
// outcome had been reported when it became known. For daily scores of days before an import.
import { DAY_MS } from "../../contract/units.ts";
import type { ScoringConfig } from "../../engine/config.ts";
import { createEngineMemory } from "../../engine/memory.ts";
import { openEngineWriter } from "../../engine/writer.ts";
import type { TableWriter } from "../../engine/writer.ts";
import type { OutcomeHistory } from "./history.ts";
import { foldHistoryOutcome, REPLAY_SEED } from "./replay.ts";

/** A scoring config and the time from which it was live, epoch ms. */
export interface ConfigPeriod {
  readonly fromMs: number;
  readonly config: ScoringConfig;
}

export interface DailyReplayOptions {
  /** Oldest first, at least one; the first also counts for all time before it. */
  readonly configs: readonly ConfigPeriod[];
  /** Constants of the fold, whichever config scores: those that the service's table is built with. */
  readonly fold: ScoringConfig;
  /** Days since 1970: the first that is wanted, and the one after the last. */
  readonly fromDay: number;
  readonly endDay: number;
}

/** The table at the end of a day. The next day changes the same memory. */
export interface ReplayedDay {
  /** Since 1970. */
  readonly day: number;
  /** Last millisecond of the day, epoch ms. */
  readonly readAtMs: number;
  readonly memory: WebAssembly.Memory;
}

interface TimedChange {
  readonly atMs: number;
  readonly apply: (writer: TableWriter) => void;
}

/** Everything but outcomes that changes a table or its scores, in order of time. */
function listChanges(history: OutcomeHistory, { configs, fold }: DailyReplayOptions) {
  const changes: TimedChange[] = [
    ...configs.slice(1).map(({ fromMs, config }) => ({
      atMs: fromMs,
      apply: (writer: TableWriter) => void writer.installConfig(config, fold),
    })),
    ...history.standings.map(({ atMs, standings }) => ({
      atMs,
      apply: (writer: TableWriter) => writer.applyStandings(standings),
    })),
    ...history.marks.map(({ atMs, mark }) => ({
      atMs,
      apply: (writer: TableWriter) => writer.markKeyRevoked(mark.agent, mark.isRevoked),
    })),
    ...history.assessments.map(({ assessment }) => ({
      atMs: assessment.assessedAtMs,
      apply: (writer: TableWriter) => writer.foldAssessment(assessment),
    })),
  ];
  return changes.toSorted((left, right) => left.atMs - right.atMs);
}

/** Indices of the outcomes by the time at which each was known, then by position. */
function sortByTimeKnown({ recordedMs }: OutcomeHistory): Uint32Array {
  const order = Uint32Array.from({ length: recordedMs.length }, (_, i) => i);
  return order.toSorted((left, right) => recordedMs[left]! - recordedMs[right]! || left - right);
}

/**
 * Folds a history and stops at the end of every day from the first outcome on. An outcome counts from
 * the time at which it was known (`recordedMs`: of an import its settling time), wherever it stands in the
 * journal; so the last day may differ from the live table by the order of folding alone.
 */
export function* replayDays(
  history: OutcomeHistory,
  options: DailyReplayOptions,
): Generator<ReplayedDay> {
  const order = sortByTimeKnown(history);
  if (order.length === 0) return;
  const { recordedMs } = history;
  const memory = createEngineMemory();
  const first = options.configs[0]!.config;
  const writer = openEngineWriter(memory, first, REPLAY_SEED);
  writer.installConfig(first, options.fold);
  const changes = listChanges(history, options);
  let next = 0;
  let change = 0;
  const foldUntil = (endMs: number) => {
    for (;;) {
      const outcomeMs = next < order.length ? recordedMs[order[next]!]! : Infinity;
      const changeMs = changes[change]?.atMs ?? Infinity;
      if (Math.min(outcomeMs, changeMs) >= endMs) return;
      if (changeMs <= outcomeMs) changes[change++]!.apply(writer);
      else foldHistoryOutcome(writer, history, order[next++]!);
    }
  };
  const firstDay = Math.floor(recordedMs[order[0]!]! / DAY_MS);
  for (let day = Math.max(firstDay, options.fromDay); day < options.endDay; day++) {
    const endMs = (day + 1) * DAY_MS;
    foldUntil(endMs);
    yield { day, readAtMs: endMs - 1, memory };
  }
}
