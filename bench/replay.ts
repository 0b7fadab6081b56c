// The stream through the real engine, once: both legs scored before each outcome, history strictly
// earlier than the event, outcomes folded `lagDays` after they settled. Weights play no part in the
// state, so one replay serves every scorecard.
import { FLAG_CREDIBILITY, FLAG_SEED } from "../assembly/layout.ts";
import { FEATURES } from "../src/contract/vocabulary.ts";
import type { ScoringConfig } from "../src/engine/config.ts";
import { createEngineMemory } from "../src/engine/memory.ts";
import type { AgentStanding } from "../src/engine/reading.ts";
import { openEngineReader } from "../src/engine/reader.ts";
import { openEngineWriter } from "../src/engine/writer.ts";
import type { TableWriter } from "../src/engine/writer.ts";
import { credibilityOf } from "../src/kaizen/credibility.ts";
import { appendRow, createRows } from "../src/kaizen/scorecard.ts";
import type { RatedOutcome } from "./ratings.ts";

const COUNTERPARTY = 3;
const BUREAU = 1;
const DAY_MS = 86_400_000;
/** Seed of the identifier hash, so that a replay gives the same bytes twice. */
export const SEED = 0x7472757374n;
/** Agents an operator would verify first: the best known of the first tenth of the stream. */
const SEED_COUNT = 20;
const SEED_SHARE = 0.1;
/** Event time between two batches of credibility, as in the service. */
const BATCH_MS = DAY_MS;

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
  });
}

/** Batch credibility beside a replay: from the seeds on, once per `BATCH_MS` of event time. */
export class CredibilityBatch {
  readonly #outcomes: readonly RatedOutcome[];
  readonly #config: ScoringConfig;
  readonly #ids: string[] = [];
  readonly #reporters: Uint32Array;
  readonly #subjects: Uint32Array;
  readonly #failures: Uint8Array;
  readonly #written = new Map<number, string>();
  #seeds: number[] = [];
  #dueMs = 0;

  constructor(outcomes: readonly RatedOutcome[], config: ScoringConfig) {
    this.#outcomes = outcomes;
    this.#config = config;
    const numbers = new Map<string, number>();
    const numberOf = (id: string) => {
      const known = numbers.get(id);
      if (known !== undefined) return known;
      numbers.set(id, this.#ids.length);
      return this.#ids.push(id) - 1;
    };
    this.#reporters = Uint32Array.from(outcomes, (o) => numberOf(o.reporter));
    this.#subjects = Uint32Array.from(outcomes, (o) => numberOf(o.subject));
    this.#failures = Uint8Array.from(outcomes, (o) => o.failure);
  }

  /** The same seeds and standings over a longer history. */
  withHistory(outcomes: readonly RatedOutcome[]): CredibilityBatch {
    const longer = new CredibilityBatch(outcomes, this.#config);
    longer.#seeds = this.#seeds;
    return longer;
  }

  /** Brings standings up to what the first `folded` outcomes say, when it is time. */
  advance(writer: TableWriter, folded: number, nowMs: number): void {
    if (folded < this.#outcomes.length * SEED_SHARE || nowMs < this.#dueMs) return;
    this.#dueMs = nowMs + BATCH_MS;
    const isFirst = this.#seeds.length === 0;
    if (isFirst) this.#seeds = this.#bestKnown(folded);
    this.run(writer, folded);
  }

  run(writer: TableWriter, folded: number): void {
    const found = credibilityOf(
      {
        agents: this.#ids.length,
        reporters: this.#reporters,
        subjects: this.#subjects,
        failures: this.#failures,
        count: folded,
      },
      this.#seeds,
    )!;
    const isSeed = new Set(this.#seeds);
    const agents: AgentStanding[] = [];
    for (let i = 0; i < folded; i++) {
      const agent = this.#reporters[i]!;
      const [rho, cluster] = [found.rho[agent]!, found.clusters[agent]!];
      const mark = `${rho.toFixed(3)} ${cluster}`;
      if (this.#written.get(agent) === mark) continue;
      this.#written.set(agent, mark);
      const flags = FLAG_CREDIBILITY | (isSeed.has(agent) ? FLAG_SEED : 0);
      agents.push({ agent: this.#ids[agent]!, flags, credibility: rho, cluster });
    }
    writer.applyStandings({ isInForce: true, stakesHigh: 0, agents });
  }

  #bestKnown(folded: number): number[] {
    const known = new Map<number, Set<number>>();
    for (let i = 0; i < folded; i++) {
      if (this.#failures[i] === 1) continue;
      const by = known.get(this.#subjects[i]!) ?? new Set();
      known.set(this.#subjects[i]!, by.add(this.#reporters[i]!));
    }
    return [...known]
      .toSorted(([, a], [, b]) => b.size - a.size)
      .slice(0, SEED_COUNT)
      .map(([agent]) => agent);
  }
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
  const check = createRows(outcomes.length);
  const handshake = createRows(outcomes.length);
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
    appendRow(handshake, reader.legWords, reader.baseRate);
    reader.check(subject, 0, timeMs);
    appendRow(check, reader.legWords, reader.baseRate);
  }
  const rowsPerSecond = (outcomes.length / (performance.now() - startedAt)) * 1000;
  return { check, handshake, failures, rowsPerSecond };
}

/**
 * Columns a fit may use. Never the stakes of the event itself: in the public rating files they are
 * the magnitude of the very rating to be predicted.
 */
export function usableColumns(isHandshake: boolean): boolean[] {
  const handshakeOnly = new Set(["viewer_short", "reciprocal_failure", "reciprocal_success"]);
  const features = FEATURES.map(
    (name) => name !== "stakes_novelty" && (isHandshake || !handshakeOnly.has(name)),
  );
  return [true, true, true, isHandshake, ...features];
}
