// Operators' conditions and stops applied to rulings and connections, by the order of policy/precedence.ts. Hot path:
// without a condition on the agent and without a stop, a verdict only finds `context.conditions` undefined.
import type { Condition, FleetStop } from "../../contract/conditions/events.ts";
import type { AgentConditions } from "../../contract/conditions/book.ts";
import { isReservedAgent } from "../../contract/identifiers.ts";
import { VERDICT_TTL_MS } from "../../contract/limits.ts";
import { REASONS } from "../../contract/reasons.ts";
import type { AgentExplanation } from "../../contract/schemas/scores.ts";
import type { ReplayableLeg } from "../../contract/schemas/decisions.ts";
import { DECISION, REASON_CODES, TOOL_LEVELS, VERDICT } from "../../contract/vocabulary.ts";
import type { LegCode, OverrideCode, ToolLevel } from "../../contract/vocabulary.ts";
import {
  type ConditionFacts,
  createConditionFacts,
  fillConditionFacts,
  isSuspendedForFraud,
} from "../../policy/conditions.ts";
import { decideConnection } from "../../policy/connection.ts";
import { findHighestAllowedLevel, isLevelAllowed } from "../../policy/policy-query.ts";
import { type PrecedenceOutcome, selectPrecedenceOutcome } from "../../policy/precedence.ts";
import { areSourcesMissing } from "../../policy/rules.ts";
import type { RuleInputs } from "../../policy/rule-inputs.ts";
import {
  CLEARED,
  REFUSED,
  type Ruling,
  STOPPED,
  SUFFICIENT,
  SUSPENDED,
  THIN_TOLERATED,
  TOLERATED,
  WATCHED,
} from "../../policy/rulings.ts";
import { STANDING } from "../../policy/stakes-decision.ts";
import { decideLegAtSum } from "./activity-limits.ts";
import { findReviewDecision, applyReviewToDecision, selectReviewCode } from "./review-override.ts";
import type { BureauServices } from "../services.ts";
import type { VerdictContext } from "./verdict-context.ts";

const KEY_REVOKED = REASON_CODES.indexOf("KEY_REVOKED");

/** Looks up what holds for the context's agent. Reserved test agents have no conditions. */
export function findConditions({
  services,
  call,
  agentId,
  nowMs,
}: VerdictContext): AgentConditions | undefined {
  const found = services.conditions.findInForce(call.principal.tenant, agentId, nowMs);
  return found === undefined || isReservedAgent(agentId) ? undefined : found;
}

/**
 * The ruling of the level in `context.rules` after conditions: `reviewed` is that of the rules, `decided`, after a
 * review. Only for a context that has conditions.
 */
export function applyConditionsToRuling(
  context: VerdictContext,
  decided: Ruling,
  reviewed: Ruling,
): Ruling {
  const { rules } = context;
  const outcome = selectOutcome(context, {
    level: rules.toolLevel,
    isRefused: decided === REFUSED,
    isProvenanceBroken: rules.failureCode !== "",
    isBoundMissed: areBoundsMissed(rules),
    isReviewed: reviewed !== decided || isUpheld(context, rules.toolLevel),
  });
  if (outcome === "SUSPENDED") return SUSPENDED;
  if (outcome === "STOPPED") return STOPPED;
  if (outcome === "review") return reviewed;
  // A clearance replaces the record where that denies.
  return outcome === "CLEARED" && decided.verdictIndex > VERDICT.ALLOW ? CLEARED : decided;
}

/** A plain ALLOW of a watched agent is marked; what is flagged already, or has a name of its own, stays. */
export function markIfWatched({ isWatched }: VerdictContext, ruling: Ruling): Ruling {
  const isPlain = ruling === SUFFICIENT || ruling === TOLERATED || ruling === THIN_TOLERATED;
  return isWatched && isPlain ? WATCHED : ruling;
}

function areBoundsMissed(rules: RuleInputs): boolean {
  return rules.level.enforce && (areSourcesMissing(rules) || !rules.isMinimumMet);
}

function isUpheld(context: VerdictContext, level: ToolLevel | "connect"): boolean {
  return findReviewDecision(context, level)?.decision === "upheld";
}

interface DecidedLevel {
  readonly level: ToolLevel | "connect";
  readonly isRefused: boolean;
  readonly isProvenanceBroken: boolean;
  readonly isBoundMissed: boolean;
  readonly isReviewed: boolean;
}

/** Fills the context's facts and decides by precedence. */
function selectOutcome(context: VerdictContext, decided: DecidedLevel): PrecedenceOutcome {
  const { conditionFacts: facts, active, stakes, reading } = context;
  const { level, isRefused } = decided;
  fillConditionFacts(facts, context.conditions!, { level, terms: active.terms[level], stakes });
  context.isWatched = facts.isWatched;
  let isKeyRevoked = false;
  for (let i = 0; isRefused && i < reading.reasonCount; i += 1)
    isKeyRevoked ||= reading.reasonIndexes[i] === KEY_REVOKED;
  const outcome = selectPrecedenceOutcome({ ...decided, facts, isKeyRevoked });
  noteExpiry(context, selectDecidingWord(facts, outcome));
  return outcome;
}

/** The condition or stop that decided; undefined where another row did. */
function selectDecidingWord(
  facts: ConditionFacts,
  outcome: PrecedenceOutcome,
): Condition | FleetStop | undefined {
  if (outcome === "SUSPENDED") return facts.bureauSuspended ?? facts.tenantSuspended;
  if (outcome === "STOPPED") return facts.bureauStop ?? facts.tenantStop;
  return outcome === "CLEARED" ? (facts.tenantCleared ?? facts.bureauCleared) : undefined;
}

/** An answer holds no longer than the condition that decided it. */
function noteExpiry(context: VerdictContext, word: Condition | FleetStop | undefined): void {
  const untilMs = word?.until_ms ?? null;
  if (untilMs !== null && untilMs < context.untilMs) context.untilMs = untilMs;
}

/** `expires_at` of an answer that is for more than one call. */
export function selectExpiresAt({ untilMs, nowMs, times }: VerdictContext): string {
  return untilMs < nowMs + VERDICT_TTL_MS ? new Date(untilMs).toISOString() : times.expiresAt;
}

/**
 * Decides the connection of the context's agent: measured (`context.connection`), then reviewed, then by conditions,
 * and where earlier stakes are not settled, by their sum. Leaves `context.overrideCode`. Returns the index of the
 * decision.
 */
export function decideLeg(context: VerdictContext): number {
  return decideLegAtSum(context, decideLegAtStakes);
}

function decideLegAtStakes(context: VerdictContext): number {
  decideConnection(context, context.connection);
  return applyConditionsToDecision(context, applyReviewToDecision(context));
}

/** The same without reviews, which hold for one call. */
export function decideUnreviewedLeg(context: VerdictContext): number {
  decideConnection(context, context.connection);
  return applyConditionsToDecision(context, context.connection.decisionIndex);
}

function applyConditionsToDecision(context: VerdictContext, reviewedIndex: number): number {
  const { connection } = context;
  const measuredIndex = connection.decisionIndex;
  context.overrideCode = selectReviewCode(measuredIndex, reviewedIndex);
  context.isWatched = false;
  context.conditions = findConditions(context);
  if (context.conditions === undefined) return reviewedIndex;
  const outcome = selectOutcome(context, {
    level: "connect",
    isRefused: connection.standing === STANDING.refused,
    isProvenanceBroken: false,
    isBoundMissed: false,
    isReviewed: reviewedIndex !== measuredIndex || isUpheld(context, "connect"),
  });
  if (outcome === "SUSPENDED" || outcome === "STOPPED") {
    context.overrideCode = outcome;
    return DECISION.refuse;
  }
  if (outcome === "CLEARED" && measuredIndex > DECISION.connect) {
    context.overrideCode = "CLEARED";
    return DECISION.connect;
  }
  if (context.isWatched && context.overrideCode === "") context.overrideCode = "WATCHED";
  return reviewedIndex;
}

/** SPEC §2.5: a leg that connects has no reason against the agent. */
export function isNamedInLeg(code: OverrideCode, decisionIndex: number): boolean {
  if (code === "") return false;
  return code === "WATCHED" || code === "CLEARED" ? decisionIndex !== DECISION.connect : true;
}

/** Sentence of a suspension or a stop, and the flag for fraud. The operator's text is not for other tenants. */
export function appendConditionReasons(
  context: VerdictContext,
  reasons: string[],
  codes: LegCode[],
): void {
  const { conditionFacts: facts, overrideCode: code } = context;
  if (code !== "SUSPENDED" && code !== "STOPPED") return;
  const word = selectDecidingWord(facts, code)!;
  const act = code === "SUSPENDED" ? "has suspended the agent" : "has stopped all agents";
  reasons.push(`An operator ${act} (${word.reason.code}).`);
  if (code === "STOPPED" || !isSuspendedForFraud(facts)) return;
  reasons.push(REASONS.FRAUD_FLAG.sentence(context.reading, NO_STAKES));
  codes.push("FRAUD_FLAG");
}

const NO_STAKES = { stakes: 0, counted: 0, passing: null, isPassingVerified: false };

/** The most sensitive level that the agent may use now; the lowest where conditions allow none. */
export function findHighestLevel(context: VerdictContext, isHandshake: boolean): ToolLevel {
  if (context.conditions === undefined) return findHighestAllowedLevel(context, isHandshake);
  const { active, stakes } = context;
  const facts = createConditionFacts();
  for (const level of TOOL_LEVELS.toReversed()) {
    fillConditionFacts(facts, context.conditions, { level, terms: active.terms[level], stakes });
    const isHeld =
      facts.bureauSuspended ?? facts.tenantSuspended ?? facts.bureauStop ?? facts.tenantStop;
    if (isHeld !== undefined) continue;
    const isCleared = (facts.tenantCleared ?? facts.bureauCleared) !== undefined;
    if (isLevelAllowed(context, level, { isHandshake, isCleared })) return level;
  }
  return "L0";
}

/** What holds for the context's agent, for people who ask why. */
export function listAgentConditions({
  conditions,
}: VerdictContext): AgentExplanation["conditions"] {
  if (conditions === undefined) return [];
  const formatEnd = (untilMs: number | null) =>
    untilMs === null ? null : new Date(untilMs).toISOString();
  const listed: AgentExplanation["conditions"] = conditions.covering.map(
    ({ condition: { state, reason, until_ms: untilMs }, isOfBureau }) => {
      const scope = isOfBureau ? "bureau" : "tenant";
      return { state, scope, reason: reason.code, until: formatEnd(untilMs) };
    },
  );
  const { bureauStop, tenantStop } = conditions;
  for (const [scope, stop] of [
    ["bureau", bureauStop],
    ["tenant", tenantStop],
  ] as const) {
    if (stop === undefined) continue;
    const until = formatEnd(stop.until_ms);
    listed.push({ state: "stopped", scope, reason: stop.reason.code, until });
  }
  return listed;
}

/** A ruling of the rules as conditions decided it when the leg was logged. */
export function applyLoggedConditions(
  services: BureauServices,
  leg: ReplayableLeg,
  rules: RuleInputs,
  decided: Ruling,
): Ruling {
  if (leg.log_reason === SUSPENDED.logReason) return SUSPENDED;
  if (leg.log_reason === STOPPED.logReason) return STOPPED;
  // The log shows what did not decide then.
  if (leg.log_reason === decided.logReason) return decided;
  const facts = findPastFacts(services, leg, rules);
  const isCleared =
    facts !== undefined && (facts.tenantCleared ?? facts.bureauCleared) !== undefined;
  const isClearable = decided !== REFUSED && rules.failureCode === "" && !areBoundsMissed(rules);
  const isDenied = decided.verdictIndex > VERDICT.ALLOW;
  if (isDenied && isClearable && (isCleared || leg.log_reason === CLEARED.logReason))
    return CLEARED;
  const isWatched = facts?.isWatched === true || leg.log_reason === WATCHED.logReason;
  const isPlain = decided === SUFFICIENT || decided === TOLERATED || decided === THIN_TOLERATED;
  return isWatched && isPlain ? WATCHED : decided;
}

/** Conditions as they held for a logged verify; undefined where there were none. */
function findPastFacts(
  { conditions }: BureauServices,
  { tenant, subject, evaluated_at: at }: ReplayableLeg,
  { toolLevel: level, terms, stakes }: RuleInputs,
): ConditionFacts | undefined {
  const past = conditions.findPast(tenant, subject, Date.parse(at));
  if (past === undefined) return undefined;
  return fillConditionFacts(createConditionFacts(), past, { level, terms, stakes });
}

/** Index of a logged leg's decision after the conditions in its record. */
export function applyLoggedConditionCode(decisionIndex: number, logReason: string | null): number {
  if (logReason === SUSPENDED.logReason || logReason === STOPPED.logReason) return DECISION.refuse;
  return logReason === CLEARED.logReason && decisionIndex < DECISION.refuse
    ? DECISION.connect
    : decisionIndex;
}
