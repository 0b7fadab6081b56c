// Conditions and stops as they bear on one tool level, or on a connection, which names none: what restricts an agent
// if it holds at any level, what clears it only if it covers the sensitive ones. Reuses its result: hot path.
import type { AgentConditions, CoveringCondition } from "../contract/conditions/book.ts";
import { type Condition, type FleetStop, FRAUD_REASON } from "../contract/conditions/events.ts";
import type { StakesTerms } from "../contract/stakes-policy.ts";
import { TOOL_LEVELS } from "../contract/vocabulary.ts";
import type { ReviewLevel } from "../contract/vocabulary.ts";
import { isWithinStakesCap, selectStakesCap } from "./stakes-decision.ts";

/** What operators have said of an agent at a level; of several alike the closest to the agent. */
export interface ConditionFacts {
  bureauSuspended: Condition | undefined;
  tenantSuspended: Condition | undefined;
  bureauStop: FleetStop | undefined;
  tenantStop: FleetStop | undefined;
  /** Cleared at the stakes of the request. */
  tenantCleared: Condition | undefined;
  bureauCleared: Condition | undefined;
  isWatched: boolean;
  /** Largest stakes, in the tenant's unit, that the clearance that counts covers; 0 without one. */
  clearedStakesMax: number;
}

export function createConditionFacts(): ConditionFacts {
  return {
    bureauSuspended: undefined,
    tenantSuspended: undefined,
    bureauStop: undefined,
    tenantStop: undefined,
    tenantCleared: undefined,
    bureauCleared: undefined,
    isWatched: false,
    clearedStakesMax: 0,
  };
}

/** A request as conditions see it: a tool level, or `connect`; the level's terms; stakes in the tenant's unit. */
export interface ConditionQuery {
  readonly level: ReviewLevel;
  readonly terms: StakesTerms;
  readonly stakes: number;
}

/** Fills `facts` with what holds for the request. Returns it. */
export function fillConditionFacts(
  facts: ConditionFacts,
  { covering, bureauStop, tenantStop }: AgentConditions,
  query: ConditionQuery,
): ConditionFacts {
  facts.bureauSuspended = undefined;
  facts.tenantSuspended = undefined;
  facts.tenantCleared = undefined;
  facts.bureauCleared = undefined;
  facts.isWatched = false;
  facts.clearedStakesMax = 0;
  facts.bureauStop = isStopped(bureauStop, query.level) ? bureauStop : undefined;
  facts.tenantStop = isStopped(tenantStop, query.level) ? tenantStop : undefined;
  for (const each of covering) addCondition(facts, each, query);
  const counting = facts.tenantCleared ?? facts.bureauCleared;
  if (counting !== undefined) {
    const cap = computeStakesCap(counting, facts.tenantCleared === undefined, query.terms);
    facts.clearedStakesMax = selectStakesCap(query.terms, cap);
  }
  return facts;
}

function addCondition(
  facts: ConditionFacts,
  { condition, isOfBureau }: CoveringCondition,
  query: ConditionQuery,
): void {
  const { state } = condition;
  if (state === "suspended" && isRestricting(condition, query.level)) {
    if (isOfBureau) facts.bureauSuspended ??= condition;
    else facts.tenantSuspended ??= condition;
  } else if (state === "watch") {
    facts.isWatched ||= isRestricting(condition, query.level);
  } else if (state === "cleared" && isClearing(condition, query.level)) {
    const { terms, stakes } = query;
    if (!isWithinStakesCap(terms, stakes, computeStakesCap(condition, isOfBureau, terms))) return;
    if (isOfBureau) facts.bureauCleared ??= condition;
    else facts.tenantCleared ??= condition;
  }
}

/** A connection is for any level: a restriction of one level restricts it. */
function isRestricting({ levels }: Condition, level: ReviewLevel): boolean {
  return levels === null || level === "connect" || levels.includes(level);
}

/** A connection is for any level: it is cleared where both sensitive levels are. */
function isClearing({ levels }: Condition, level: ReviewLevel): boolean {
  if (levels === null) return true;
  return level === "connect"
    ? levels.includes("L2") && levels.includes("L3")
    : levels.includes(level);
}

/** In the tenant's unit, 0 for the stakes that the level assumes. The bureau's are in the unit of account. */
function computeStakesCap(
  { max_stakes: stakesMax }: Condition,
  isOfBureau: boolean,
  { unit }: StakesTerms,
): number {
  return isOfBureau ? (stakesMax ?? 0) / unit : (stakesMax ?? 0);
}

/** Whether a stop holds at the level; a connection, which may be for any level, is held by any stop. */
function isStopped(stop: FleetStop | undefined, level: ReviewLevel): boolean {
  if (stop === undefined) return false;
  if (stop.above === null || level === "connect") return true;
  return TOOL_LEVELS.indexOf(level) > TOOL_LEVELS.indexOf(stop.above);
}

/** Whether the bureau has suspended the agent for fraud. */
export function isSuspendedForFraud({ bureauSuspended }: ConditionFacts): boolean {
  return bureauSuspended?.reason.code === FRAUD_REASON;
}
