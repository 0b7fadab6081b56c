// State of the verdict in progress, one object for each thread. Filled after the last await of a request, so
// that a request that waited never sees the state of another one.
import type { AgentConditions } from "../../contract/conditions/book.ts";
import type { DecisionEntry } from "../../contract/decisions.ts";
import { VERDICT_TTL_MS } from "../../contract/limits.ts";
import type { Principal } from "../../contract/principal.ts";
import type { AgentScore } from "../../engine/reading.ts";
import type { HeldStakes } from "../../contract/activity/source.ts";
import type { ActionDecision } from "../../policy/actions.ts";
import type { ActivePolicy } from "../../policy/active-policy.ts";
import { defaultPolicySource } from "../../policy/active-policy.ts";
import { createConditionFacts } from "../../policy/conditions.ts";
import { createConnection } from "../../policy/connection.ts";
import { createLimitedCall } from "../../policy/limits.ts";
import type { PolicyQuery } from "../../policy/policy-query.ts";
import { createRuleInputs } from "../../policy/rule-inputs.ts";
import type { Ruling } from "../../policy/rulings.ts";
import type { CallContext } from "../bureau.ts";
import type { BureauServices } from "../services.ts";
import { createDecisionEntry } from "./log-entry.ts";
import type { OverrideCode } from "../../contract/vocabulary.ts";
import type { ProvenanceFinding } from "./provenance.ts";
import type { ReservedAgent } from "./test-agents.ts";

const MS_PER_SECOND = 1000;

/** ".000Z" to ".999Z". */
const MS_SUFFIX: readonly string[] = Array.from(
  { length: MS_PER_SECOND },
  (_, ms) => `.${String(ms).padStart(3, "0")}Z`,
);

function formatSecondPrefix(second: number): string {
  return new Date(second * MS_PER_SECOND).toISOString().slice(0, 19);
}

/**
 * RFC 3339 times of a verdict. Formatting a Date for each reply costs more than the policy; within one second
 * only the milliseconds change, so the rest is cached.
 */
export class VerdictTimes {
  #nowMs = Number.NaN;
  #second = Number.NaN;
  #evaluatedPrefix = "";
  #expiresPrefix = "";
  evaluatedAt = "";
  /** SPEC §8.3: five minutes later. */
  expiresAt = "";

  /** Sets both fields for an evaluation at `nowMs` (epoch ms, not negative). */
  set(nowMs: number): void {
    if (nowMs === this.#nowMs) return;
    this.#nowMs = nowMs;
    const second = Math.floor(nowMs / MS_PER_SECOND);
    if (second !== this.#second) {
      this.#second = second;
      this.#evaluatedPrefix = formatSecondPrefix(second);
      this.#expiresPrefix = formatSecondPrefix(second + VERDICT_TTL_MS / MS_PER_SECOND);
    }
    const suffix = MS_SUFFIX[Math.floor(nowMs - second * MS_PER_SECOND)]!;
    this.evaluatedAt = this.#evaluatedPrefix + suffix;
    this.expiresAt = this.#expiresPrefix + suffix;
  }
}

/** INVARIANT (one verdict at a time): nothing reads it across an await. */
export class VerdictContext implements PolicyQuery {
  readonly services: BureauServices;
  readonly times = new VerdictTimes();
  /** The entry that is filled for the decision log, which copies it. */
  readonly entry: DecisionEntry = createDecisionEntry();
  readonly rules = createRuleInputs();
  /** Epoch ms. */
  nowMs = 0;
  call!: CallContext;
  /** Policy of the calling tenant. */
  active!: ActivePolicy;
  minimumScores!: Principal["minimumScores"];
  /** The agent that is judged, the stakes in the tenant's unit, and its score at these stakes. */
  agentId = "";
  stakes = 0;
  reading!: AgentScore;
  /** Of check and handshake alone: the decision on the reading, before a review. */
  readonly connection = createConnection(defaultPolicySource.findActivePolicy(""));
  /** What operators have said of the agent, and what of it bears on the level; undefined: nothing. */
  conditions: AgentConditions | undefined = undefined;
  readonly conditionFacts = createConditionFacts();
  isWatched = false;
  /** Of a leg: what replaced or marked its measured decision. */
  overrideCode: OverrideCode = "";
  /** Epoch ms at which a condition that decided ends; Infinity: none does. */
  untilMs = Number.POSITIVE_INFINITY;
  /** Of verify alone. */
  finding!: ProvenanceFinding;
  reserved: ReservedAgent | undefined = undefined;
  ruling!: Ruling;
  /** What the policy's `actions` made of the request; undefined where it lists none. */
  actionDecision: ActionDecision | undefined = undefined;
  /** What the call is compared with the level's limits by. */
  readonly limited = createLimitedCall();
  /** Stakes of this call that count against the agent's later ones; undefined: none do. */
  held: HeldStakes | undefined = undefined;
  /** Earlier ones that no outcome has settled, in the tenant's unit; they count with the stakes of the call. */
  unsettled = 0;
  /** Of verify: what the sum of both gives, where there are earlier ones. */
  sumRuling: Ruling | undefined = undefined;
  /** Whether at the sum the request waits for a person. */
  isReviewAtSum = false;

  constructor(services: BureauServices) {
    this.services = services;
  }

  /** Starts a verdict on one call: reads the clock and the tenant's policy. */
  begin(call: CallContext, agentId: string, stakes: number): void {
    const { clock, policies } = this.services;
    this.nowMs = clock();
    this.times.set(this.nowMs);
    this.call = call;
    this.active = policies.findActivePolicy(call.principal.tenant);
    this.minimumScores = call.principal.minimumScores;
    this.agentId = agentId;
    this.stakes = stakes;
    this.conditions = undefined;
    this.isWatched = false;
    this.untilMs = Number.POSITIVE_INFINITY;
    this.actionDecision = undefined;
    this.resetActivity();
  }

  /** Nothing is counted or held for the agent that is judged. */
  resetActivity(): void {
    const { limited } = this;
    limited.isCounted = false;
    limited.calls = 0;
    limited.newActions = 0;
    limited.exposure = 0;
    limited.sessionSeconds = -1;
    this.held = undefined;
    this.unsettled = 0;
    this.sumRuling = undefined;
    this.isReviewAtSum = false;
  }

  /** Stakes in the bureau's unit of account, as the engine takes them. */
  convertToAccountUnit(stakes: number): number {
    return stakes * this.active.terms.connect.unit;
  }
}
