// Batches of credibility beside a replay of a rated stream, by the code of the service: seeds named
// once, standings brought up to date once per day of event time.
import type { ScoringConfig } from "../src/engine/config.ts";
import type { AgentStanding } from "../src/engine/reading.ts";
import type { TableWriter } from "../src/engine/writer.ts";
import { selectSeeds } from "../src/kaizen/credibility/seeds.ts";
import type { SeedRules } from "../src/kaizen/credibility/seeds.ts";
import { computeStandingBatch, createStandingPolicy } from "../src/kaizen/credibility/standings.ts";
import type { StandingHistory, StandingPolicy } from "../src/kaizen/credibility/standings.ts";
import { BUREAU, COUNTERPARTY } from "./ratings.ts";
import type { RatedOutcome } from "./ratings.ts";

/** Agents an operator would vouch for: the best known of the first tenth of the stream. */
const EARLIEST: SeedRules = { agents: [], namespaces: [], hasKeys: false, hasEarliest: true };
const SEED_SHARE = 0.1;
const BATCH_MS = 86_400_000;

export class CredibilityBatch {
  readonly #config: ScoringConfig;
  readonly #policy: StandingPolicy;
  readonly #history: StandingHistory;
  readonly #written = new Map<string, AgentStanding>();
  #stakesHigh = 0;
  #rules: SeedRules | undefined;
  #dueMs = 0;

  constructor(outcomes: readonly RatedOutcome[], config: ScoringConfig) {
    this.#config = config;
    this.#policy = createStandingPolicy(config);
    const ids: string[] = [];
    const numbers = new Map<string, number>();
    const numberOf = (id: string) => {
      const known = numbers.get(id);
      if (known !== undefined) return known;
      numbers.set(id, ids.length);
      return ids.push(id) - 1;
    };
    const reporters = Uint32Array.from(outcomes, (o) => numberOf(o.reporter));
    const subjects = Uint32Array.from(outcomes, (o) => numberOf(o.subject));
    const failures = Uint8Array.from(outcomes, (o) => o.failure);
    const weight = config.grade_weights[COUNTERPARTY]! * config.signature_weights[BUREAU]!;
    const weights = new Float32Array(outcomes.length).fill(weight);
    const edges = { agents: ids.length, reporters, subjects, failures, weights };
    this.#history = {
      ids,
      edges: { ...edges, count: outcomes.length },
      stakes: Float32Array.from(outcomes, (o) => o.stakes),
      keyHolders: new Map(),
      written: this.#written,
      stakesHigh: 0,
      isInForce: false,
    };
  }

  /** The same seeds and standings over a longer history. */
  withHistory(outcomes: readonly RatedOutcome[]): CredibilityBatch {
    const longer = new CredibilityBatch(outcomes, this.#config);
    longer.#rules = this.#rules;
    longer.#stakesHigh = this.#stakesHigh;
    for (const [agent, standing] of this.#written) longer.#written.set(agent, standing);
    return longer;
  }

  /** Brings standings up to the first `folded` outcomes, when it is time. */
  advance(writer: TableWriter, folded: number, nowMs: number): void {
    if (folded < this.#history.edges.count * SEED_SHARE || nowMs < this.#dueMs) return;
    this.#dueMs = nowMs + BATCH_MS;
    this.run(writer, folded);
  }

  run(writer: TableWriter, folded: number): void {
    const edges = { ...this.#history.edges, count: folded };
    const history = { ...this.#history, edges, stakesHigh: this.#stakesHigh };
    this.#rules ??= this.#vouchedFor();
    const { standings } = computeStandingBatch(history, this.#rules, this.#policy)!;
    writer.applyStandings(standings);
    for (const standing of standings.agents) this.#written.set(standing.agent, standing);
    this.#stakesHigh = standings.stakesHigh;
  }

  #vouchedFor(): SeedRules {
    const seeds = [...selectSeeds(EARLIEST, this.#history).keys()];
    const agents = seeds.map((seed) => this.#history.ids[seed]!);
    return { agents, namespaces: [], hasKeys: false, hasEarliest: false };
  }
}
