// Credibility during gate G9's scripts: batches over the real history with the attack at its end,
// by the code and the seeds of the service. Attackers may try to earn belief, too.
import { FLAG_CREDIBILITY } from "../../../../assembly/layout.ts";
import type { ScoringConfig } from "../../../engine/config.ts";
import type { AgentStanding, FoldOutcome, StandingsPart } from "../../../engine/reading.ts";
import { INVENTED_AGENT_PREFIX } from "./scripts.ts";
import type { SeedRules } from "../../credibility/seeds.ts";
import { computeStandingBatch, createStandingPolicy } from "../../credibility/standings.ts";
import type { StandingHistory } from "../../credibility/standings.ts";

export class AttackStandings {
  readonly #history: StandingHistory;
  readonly #rules: SeedRules;
  readonly #config: ScoringConfig;
  readonly #attack: FoldOutcome[] = [];
  readonly #written: Map<string, AgentStanding>;
  #stakesHigh: number;

  /** @param history the outcomes before the attack; read only. */
  constructor(history: StandingHistory, rules: SeedRules, config: ScoringConfig) {
    this.#history = history;
    this.#rules = rules;
    this.#config = config;
    this.#written = new Map(history.written);
    this.#stakesHigh = history.stakesHigh;
  }

  /** One more outcome of the attack. */
  add(outcome: FoldOutcome): void {
    this.#attack.push({ ...outcome });
  }

  /** Standings a batch would write now; undefined when the seeds match no agent in the history. */
  batch(): StandingsPart | undefined {
    const found = computeStandingBatch(
      this.#longer(),
      this.#rules,
      createStandingPolicy(this.#config),
    );
    if (found === undefined) return undefined;
    const { standings } = found;
    for (const standing of standings.agents) this.#written.set(standing.agent, standing);
    this.#stakesHigh = standings.stakesHigh;
    return standings;
  }

  /** Invented agents with more credibility than a stranger after the last batch. */
  get believed(): number {
    let count = 0;
    for (const { agent, flags } of this.#written.values()) {
      if (agent.startsWith(INVENTED_AGENT_PREFIX) && (flags & FLAG_CREDIBILITY) !== 0) count++;
    }
    return count;
  }

  /** The history followed by the attack. */
  #longer(): StandingHistory {
    const { ids: known, edges, stakes } = this.#history;
    const attack = this.#attack;
    const ids = [...known];
    const numbers = new Map(known.map((id, i) => [id, i]));
    const assignNumber = (id: string): number => {
      const number = numbers.get(id) ?? ids.push(id) - 1;
      numbers.set(id, number);
      return number;
    };
    const { grade_weights: grades, signature_weights: signatures } = this.#config;
    const column = <A extends Uint8Array | Uint32Array | Float32Array>(
      longer: A,
      before: ArrayLike<number>,
      of: (outcome: FoldOutcome) => number,
    ): A => {
      for (let i = 0; i < edges.count; i++) longer[i] = before[i]!;
      attack.forEach((outcome, i) => (longer[edges.count + i] = of(outcome)));
      return longer;
    };
    const count = edges.count + attack.length;
    const reporters = column(new Uint32Array(count), edges.reporters, (o) =>
      assignNumber(o.reporter),
    );
    const subjects = column(new Uint32Array(count), edges.subjects, (o) => assignNumber(o.subject));
    const failures = column(new Uint8Array(count), edges.failures, (o) => 1 - o.outcome);
    const weights = column(
      new Float32Array(count),
      edges.weights,
      (o) => grades[o.gradeIndex]! * signatures[o.signatureIndex]!,
    );
    return {
      ids,
      edges: { agents: ids.length, reporters, subjects, failures, weights, count },
      stakes: column(new Float32Array(count), stakes, (o) => o.stakes),
      keyHolders: this.#history.keyHolders,
      written: this.#written,
      stakesHigh: this.#stakesHigh,
      isInForce: this.#history.isInForce,
    };
  }
}
