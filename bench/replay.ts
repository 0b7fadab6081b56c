// Replay of the stream through the real engine, once: both legs scored before each outcome, history
// strictly earlier than the event, outcomes folded `lagDays` after they settled. Weights play no
// part in the state, so one replay serves every scorecard.
import { hashTenantToVoice, VOICE_FIRST_PARTY, VOICE_REPORTER } from "../src/contract/voices.ts";
import { FEATURES } from "../src/contract/vocabulary.ts";
import type { ScoringConfig } from "../src/engine/config.ts";
import { createEngineMemory } from "../src/engine/memory.ts";
import { openEngineReader } from "../src/engine/reader.ts";
import type { TableReader } from "../src/engine/reader.ts";
import { openEngineWriter } from "../src/engine/writer.ts";
import type { TableWriter } from "../src/engine/writer.ts";
import {
  appendLegRow,
  createScorecardRows,
  flagUsableColumns,
} from "../src/kaizen/model/scorecard.ts";
import { CredibilityBatch } from "./credibility-batch.ts";
import { BUREAU, COUNTERPARTY, REPORTER, UNSIGNED } from "./ratings.ts";
import type { RatedOutcome } from "./ratings.ts";

const DAY_MS = 86_400_000;
/** Seed of the identifier hash, so that a replay gives the same bytes twice. */
export const SEED = 0x7472757374n;

/**
 * Who answers for the ratings. `import`: the operator, unsigned. `vouched`: each rater, which signs in a
 * namespace that was granted as vouched. `tenants`: a tenant per rater, which signs and is not vouched for.
 */
export const VOICES = ["import", "vouched", "tenants"] as const;
export type Voices = (typeof VOICES)[number];

/** Folds one rating as the service folds such an outcome: see `decodeFoldedOutcome`. */
export function foldRating(
  writer: TableWriter,
  rating: RatedOutcome,
  voices: Voices = "import",
): void {
  writer.fold({
    subject: rating.subject,
    reporter: rating.reporter,
    outcome: rating.failure === 1 ? 0 : 1,
    stakes: rating.stakes,
    gradeIndex: COUNTERPARTY,
    settledAtMs: rating.timeMs,
    ...selectVoice(rating, voices),
  });
}

function selectVoice({ reporter }: RatedOutcome, voices: Voices) {
  if (voices === "vouched") return { signatureIndex: REPORTER, voice: VOICE_REPORTER };
  if (voices === "import") return { signatureIndex: BUREAU, voice: VOICE_FIRST_PARTY };
  // A tenant's word weighs as unsigned, whatever signature is on it.
  return { signatureIndex: UNSIGNED, voice: hashTenantToVoice(reporter) };
}

/** When outcomes become known. */
export interface Delay {
  readonly days: number;
  /** Which ones are late; the others are known at once. */
  readonly of: "all" | "failures";
}

export const ALL_AT_ONCE: Delay = { days: 0, of: "all" };

/** How a stream is walked. */
export interface Walk {
  readonly config: ScoringConfig;
  readonly delay: Delay;
  readonly isRobust?: boolean;
  /** Left out: `import`. */
  readonly voices?: Voices;
  /** First row that is visited; all are folded. */
  readonly from?: number;
}

/**
 * Walks the stream once and calls `visit` at each outcome, before it is folded: the reader knows what
 * became known strictly earlier.
 */
export function walkStream(
  outcomes: readonly RatedOutcome[],
  { config, delay, isRobust = false, voices = "import", from = 0 }: Walk,
  visit: (reader: TableReader, row: number) => void,
): void {
  const memory = createEngineMemory();
  const writer = openEngineWriter(memory, config, SEED);
  const reader = openEngineReader(memory, 1);
  const batch = isRobust ? new CredibilityBatch(outcomes, config) : undefined;
  const arrivals = orderByArrival(outcomes, delay);
  let folded = 0;
  outcomes.forEach(({ timeMs }, row) => {
    for (; folded < arrivals.length; folded++) {
      const { past, knownMs } = arrivals[folded]!;
      if (knownMs >= timeMs) break;
      foldRating(writer, past, voices);
    }
    batch?.advance(writer, folded, timeMs);
    if (row >= from) visit(reader, row);
  });
}

/** The outcomes in the order in which they become known, with the time, epoch ms. */
export function orderByArrival(outcomes: readonly RatedOutcome[], { days, of }: Delay) {
  const arrivals = outcomes.map((past) => {
    const isLate = of === "all" || past.failure === 1;
    return { past, knownMs: past.timeMs + (isLate ? days * DAY_MS : 0) };
  });
  return arrivals.toSorted((a, b) => a.knownMs - b.knownMs);
}

/** Rows of both models for a fit, each as it read before its outcome; all are known `lagDays` later. */
export function replay(
  outcomes: readonly RatedOutcome[],
  config: ScoringConfig,
  lagDays: number,
  { isRobust = false, voices = "import" }: Pick<Walk, "isRobust" | "voices"> = {},
) {
  const check = createScorecardRows(outcomes.length);
  const handshake = createScorecardRows(outcomes.length);
  const failures = Uint8Array.from(outcomes, (o) => o.failure);
  const startedAt = performance.now();
  const walk = { config, delay: { days: lagDays, of: "all" as const }, isRobust, voices };
  walkStream(outcomes, walk, (reader, row) => {
    const { reporter, subject, timeMs } = outcomes[row]!;
    reader.handshake(reporter, subject, 0, timeMs);
    appendLegRow(handshake, reader.legWords, reader.baseRate);
    reader.check(subject, 0, timeMs);
    appendLegRow(check, reader.legWords, reader.baseRate);
  });
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
