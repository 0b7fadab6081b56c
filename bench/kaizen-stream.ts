// Rating stream as kaizen sees it: the history of a journal, as an import leaves it, and the rows of
// one scorecard alone for benches that need no more.
import { VOICE_FIRST_PARTY } from "../src/contract/voices.ts";
import type { ScoringConfig } from "../src/engine/config.ts";
import type { AgentStanding } from "../src/engine/reading.ts";
import { AttackStandings } from "../src/kaizen/gates/attacks/credibility.ts";
import { selectSeeds } from "../src/kaizen/credibility/seeds.ts";
import type { SeedRules } from "../src/kaizen/credibility/seeds.ts";
import { computeStandingBatch, createStandingPolicy } from "../src/kaizen/credibility/standings.ts";
import type { StandingHistory } from "../src/kaizen/credibility/standings.ts";
import type { FitRows } from "../src/kaizen/model/holdout.ts";
import type { OutcomeHistory } from "../src/kaizen/replay/history.ts";
import { BUREAU, COUNTERPARTY } from "./ratings.ts";
import type { RatedOutcome } from "./ratings.ts";
import { replay } from "./replay.ts";

const DAY_MS = 86_400_000;
/** Share of the stream before which nobody can be vouched for. */
const SEED_SHARE = 0.1;

/** Numbers of the agents that `pick` names; `numbers` grows. */
function numberAgents(
  outcomes: readonly RatedOutcome[],
  numbers: Map<string, number>,
  pick: (o: RatedOutcome) => string,
) {
  return Uint32Array.from(outcomes, (outcome) => {
    const id = pick(outcome);
    const known = numbers.get(id) ?? numbers.size;
    numbers.set(id, known);
    return known;
  });
}

/** The whole stream for the handshake model. */
export function evidenceOf(outcomes: RatedOutcome[], config: ScoringConfig): FitRows {
  const numbers = new Map<string, number>();
  const { handshake, failures } = replay(outcomes, config, 0);
  return {
    rows: handshake,
    failures,
    subjects: numberAgents(outcomes, numbers, (o) => o.subject),
    reporters: numberAgents(outcomes, numbers, (o) => o.reporter),
    timesMs: Float64Array.from(outcomes, (o) => o.timeMs),
    weights: new Float64Array(outcomes.length).fill(1),
  };
}

/** The stream as a journal holds it after an import, or recorded `lagDays` after it settled. */
export function historyOf(outcomes: readonly RatedOutcome[], lagDays: number): OutcomeHistory {
  const agents: string[] = [];
  const numbers = new Map<string, number>();
  const numberOf = (id: string) => {
    const known = numbers.get(id);
    if (known !== undefined) return known;
    numbers.set(id, agents.length);
    return agents.push(id) - 1;
  };
  return {
    agents,
    subjects: outcomes.map((o) => numberOf(o.subject)),
    reporters: outcomes.map((o) => numberOf(o.reporter)),
    failures: outcomes.map((o) => o.failure),
    stakes: outcomes.map((o) => o.stakes),
    stakesKnown: outcomes.map(() => 0),
    grades: outcomes.map(() => COUNTERPARTY),
    signatures: outcomes.map(() => BUREAU),
    voices: outcomes.map(() => VOICE_FIRST_PARTY),
    settledMs: outcomes.map((o) => o.timeMs),
    recordedMs: outcomes.map((o) => o.timeMs + lagDays * DAY_MS),
    standings: [],
    marks: [],
    assessments: [],
  };
}

/** Standings of a stream with seeds: a batch a day, as the service journals them. */
export class StreamStandings {
  readonly #rules: SeedRules;
  readonly #config: ScoringConfig;
  readonly #history: OutcomeHistory;
  readonly #whole: StandingHistory;

  /** Writes the batches into `history`; its rows must be complete. */
  constructor(history: OutcomeHistory, rules: SeedRules, config: ScoringConfig) {
    this.#config = config;
    this.#history = history;
    const count = history.subjects.length;
    const weight = config.grade_weights[COUNTERPARTY]! * config.signature_weights[BUREAU]!;
    this.#whole = {
      ids: history.agents,
      edges: {
        agents: history.agents.length,
        reporters: Uint32Array.from(history.reporters),
        subjects: Uint32Array.from(history.subjects),
        failures: Uint8Array.from(history.failures),
        weights: new Float32Array(count).fill(weight),
        count,
      },
      stakes: Float32Array.from(history.stakes),
      keyHolders: new Map(),
      written: new Map(),
      stakesHigh: 0,
      isInForce: false,
    };
    // Who is the best known of the first tenth does not change with the length of what follows.
    const agents = [...selectSeeds(rules, this.#whole).keys()].map((seed) => history.agents[seed]!);
    this.#rules = { agents, namespaces: [], hasKeys: false, hasEarliest: false };
    let dueMs = 0;
    for (let i = Math.ceil(count * SEED_SHARE); i < count; i++) {
      const nowMs = history.recordedMs[i]!;
      if (nowMs < dueMs) continue;
      dueMs = nowMs + DAY_MS;
      const found = computeStandingBatch(this.#at(i), this.#rules, createStandingPolicy(config));
      if (found === undefined) continue;
      history.standings.push({ before: i, atMs: nowMs, standings: found.standings });
    }
  }

  /** The history of the first `count` outcomes with the standings last written. */
  #at(count: number): StandingHistory {
    const written = new Map<string, AgentStanding>();
    let { stakesHigh } = this.#whole;
    for (const { before, standings } of this.#history.standings) {
      if (before > count) break;
      for (const standing of standings.agents) written.set(standing.agent, standing);
      stakesHigh = standings.stakesHigh;
    }
    return { ...this.#whole, edges: { ...this.#whole.edges, count }, written, stakesHigh };
  }

  /** For the attack scripts after everything recorded by `nowMs`. */
  attackedAt(nowMs: number): AttackStandings {
    const later = Array.from(this.#history.recordedMs).findIndex((at) => at > nowMs);
    const count = later < 0 ? this.#history.recordedMs.length : later;
    return new AttackStandings(this.#at(count), this.#rules, this.#config);
  }
}
