// Replay of the stream through the real engine, once: both legs scored before each outcome, history
// strictly earlier than the event, outcomes folded `lagDays` after they settled. Weights play no
// part in the state, so one replay serves every scorecard.
import { VOICE_FIRST_PARTY } from "../src/contract/voices.ts";
import { FEATURES } from "../src/contract/vocabulary.ts";
import type { ScoringConfig } from "../src/engine/config.ts";
import { createEngineMemory } from "../src/engine/memory.ts";
import { openEngineReader } from "../src/engine/reader.ts";
import { openEngineWriter } from "../src/engine/writer.ts";
import type { TableWriter } from "../src/engine/writer.ts";
import {
  appendLegRow,
  createScorecardRows,
  flagUsableColumns,
} from "../src/kaizen/model/scorecard.ts";
import { CredibilityBatch } from "./credibility-batch.ts";
import { BUREAU, COUNTERPARTY } from "./ratings.ts";
import type { RatedOutcome } from "./ratings.ts";

const DAY_MS = 86_400_000;
/** Seed of the identifier hash, so that a replay gives the same bytes twice. */
export const SEED = 0x7472757374n;

/** Folds one rating as the service folds an import. */
export function foldRating(writer: TableWriter, rating: RatedOutcome): void {
  writer.fold({
    subject: rating.subject,
    reporter: rating.reporter,
    outcome: rating.failure === 1 ? 0 : 1,
    stakes: rating.stakes,
    gradeIndex: COUNTERPARTY,
    signatureIndex: BUREAU,
    settledAtMs: rating.timeMs,
    voice: VOICE_FIRST_PARTY,
  });
}

/** Walks the stream once: scores both models before each outcome, folds it `lagDays` later. */
export function replay(
  outcomes: RatedOutcome[],
  config: ScoringConfig,
  lagDays: number,
  isRobust = false,
) {
  const memory = createEngineMemory();
  const writer = openEngineWriter(memory, config, SEED);
  const reader = openEngineReader(memory, 1);
  const check = createScorecardRows(outcomes.length);
  const handshake = createScorecardRows(outcomes.length);
  const failures = Uint8Array.from(outcomes, (o) => o.failure);
  const batch = isRobust ? new CredibilityBatch(outcomes, config) : undefined;
  let folded = 0;
  const startedAt = performance.now();
  for (const { reporter, subject, timeMs } of outcomes) {
    for (; folded < outcomes.length; folded++) {
      const past = outcomes[folded]!;
      if (past.timeMs + lagDays * DAY_MS >= timeMs) break;
      foldRating(writer, past);
    }
    batch?.advance(writer, folded, timeMs);
    reader.handshake(reporter, subject, 0, timeMs);
    appendLegRow(handshake, reader.legWords, reader.baseRate);
    reader.check(subject, 0, timeMs);
    appendLegRow(check, reader.legWords, reader.baseRate);
  }
  const rowsPerSecond = (outcomes.length / (performance.now() - startedAt)) * 1000;
  return { check, handshake, failures, rowsPerSecond };
}

/**
 * Columns a fit may use. Never the stakes of the event itself: in the public rating files they are
 * the magnitude of the very rating to be predicted.
 */
export function usableColumns(isHandshake: boolean): boolean[] {
  const stakes = new Set(["stakes_novelty", "stakes_untested"]);
  const columns = flagUsableColumns(isHandshake ? "handshake" : "check");
  return columns.map((isUsed, j) => isUsed && !stakes.has(FEATURES[j - 4] ?? ""));
}
