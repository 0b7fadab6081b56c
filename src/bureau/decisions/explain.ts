// Use case of `GET /v1/agents/{id}`: the inputs behind a score, and changes that would raise it.
// Off the hot path; never cached, so that it always describes the same state as the next verdict.
import type { AgentExplanation } from "../../contract/schemas/scores.ts";
import { DECISION, DECISIONS, REASON_CODES, REGIMES, TIERS } from "../../contract/vocabulary.ts";
import type { ReasonCode } from "../../contract/vocabulary.ts";
import { DAY_MS } from "../../contract/units.ts";
import type { AgentScoreDetails } from "../../engine/reading.ts";
import { STANDING_BITS } from "../../contract/standings.ts";
import type { CallContext } from "../bureau.ts";
import { encodeAgentKey } from "../../contract/identifiers.ts";
import type { Vouching } from "../../contract/policy.ts";
import { isSilent } from "../../policy/stakes-decision.ts";
import { findVouching } from "../../policy/vouching.ts";
import {
  decideUnreviewedLeg,
  findConditions,
  findHighestLevel,
  listAgentConditions,
} from "./condition-override.ts";
import { roundEffectiveScore, selectLegMaxStakes } from "./leg.ts";
import { appendReasons, listImprovements } from "./reasons.ts";
import { findReservedAgent } from "./test-agents.ts";
import type { VerdictContext } from "./verdict-context.ts";
import { scaleScoreTo100 } from "./verify.ts";

/** One per order of magnitude: enough to see where the decision turns. */
const EXPLAINED_STAKES = [1, 10, 100, 1000, 10_000] as const;

/** Explains any agent; an unknown one is explained as the newcomer that it is scored as. */
export function explainAgentScore(
  context: VerdictContext,
  agentId: string,
  call: CallContext,
): AgentExplanation {
  const { engine, environment } = context.services;
  context.begin(call, agentId, 0);
  const { nowMs } = context;
  const reserved = findReservedAgent(agentId, environment.isReservedEnabled);
  const key = encodeAgentKey(agentId);
  const measured = engine.explain(key, nowMs);
  const reading = reserved?.reading ?? measured;
  context.reading = reading;
  context.conditions = findConditions(context);
  const scoreInternal = Math.round(reading.scoreInternal);
  const explanation: AgentExplanation = {
    agent_id: agentId,
    known: reading.isKnown,
    internal_score: scoreInternal,
    score: scaleScoreTo100(scoreInternal),
    effective_score: roundEffectiveScore(reading.scoreEffective),
    tier: TIERS[reading.tierIndex]!,
    tool_level_max: findHighestLevel(context, false),
    vouched: findBroadestVouching(context),
    conditions: listAgentConditions(context),
    failure_probability: {
      expected: reading.failureProbability,
      optimistic: reading.failureOptimistic,
      pessimistic: reading.failurePessimistic,
    },
    evidence: describeEvidence(context, measured),
    unsettled_stakes: readUnsettledStakes(context),
    assumed_stakes: describeAssumedStakes(context),
    assessments: {
      false_content: measured.failedTexts[0],
      bad_sources: measured.failedTexts[1],
      last_assessed_at: formatEpochMsOrNull(measured.lastAssessedMs),
    },
    standing: describeReporterStanding(measured),
    features: measured.features.map(({ name, value, points }) => ({ name, value, points })),
    decisions: [],
    improvements: [],
    reason_codes: [],
    config_version: engine.findConfigVersion(measured.configNumber),
    evaluated_at: context.times.evaluatedAt,
  };
  if (reading.regimeIndex >= 0) explanation.regime = REGIMES[reading.regimeIndex]!;
  // Last, because an engine may answer every question with one and the same reading object.
  for (const stakes of EXPLAINED_STAKES) {
    const atStakes = context.convertToAccountUnit(stakes);
    context.stakes = stakes;
    context.reading = reserved?.reading ?? engine.check(key, atStakes, nowMs);
    addDecisionAtStakes(explanation, context);
  }
  explanation.improvements = listImprovements(explanation.reason_codes);
  return explanation;
}

/** The decision at the context's stakes; the reasons of the last added stay. */
function addDecisionAtStakes(explanation: AgentExplanation, context: VerdictContext): void {
  const { stakes, connection } = context;
  const decision = DECISIONS[decideUnreviewedLeg(context)]!;
  const maxStakes = selectLegMaxStakes(context);
  explanation.decisions.push({ stakes, decision, max_stakes: maxStakes });
  // The last are the highest stakes: their reasons show the obstacles to a clear decision anywhere.
  const codes: ReasonCode[] = [];
  if (connection.decisionIndex === DECISION.connect) codes.push(...listScoreReasonCodes(context));
  else appendReasons(context, connection, [], codes);
  explanation.reason_codes = codes;
}

function readUnsettledStakes({ services, call, agentId, nowMs, active }: VerdictContext): number {
  const held = services.activity.readUnsettled(call.principal.tenant, agentId, nowMs);
  return held / active.terms.connect.unit;
}

function describeAssumedStakes({ active }: VerdictContext): AgentExplanation["assumed_stakes"] {
  const { L2, L3 } = active.terms;
  return { L2: L2.assumed / L2.unit, L3: L3.assumed / L3.unit };
}

/** The entry that reaches the most sensitive level. */
function findBroadestVouching(context: VerdictContext): Vouching | null {
  return (findVouching(context, "L3") ?? findVouching(context, "L2"))?.vouching ?? null;
}

function listScoreReasonCodes({ reading }: VerdictContext): ReasonCode[] {
  const codes: ReasonCode[] = [];
  for (let i = 0; i < reading.reasonCount; i += 1) {
    codes.push(REASON_CODES[reading.reasonIndexes[i]!]!);
  }
  return codes;
}

function describeEvidence(
  { active, nowMs }: VerdictContext,
  reading: AgentScoreDetails,
): AgentExplanation["evidence"] {
  const { staleAfterDays } = active.terms.connect;
  const staleAtMs = nowMs - (reading.silentDays - staleAfterDays) * DAY_MS;
  return {
    outcomes: reading.outcomeCount,
    reported: reading.reportedCount,
    successes_90d: reading.successes90,
    failures_90d: reading.failures90,
    successes_14d: reading.successes14,
    failures_14d: reading.failures14,
    first_seen_at: formatEpochMsOrNull(reading.firstSeenMs),
    last_outcome_at: formatEpochMsOrNull(reading.lastOutcomeMs),
    last_failure_at: formatEpochMsOrNull(reading.lastFailureMs),
    last_heard_at: formatEpochMsOrNull(reading.heardAtMs),
    incidents_capped: reading.cappedFailures,
    max_proven_stakes: reading.stakesProven / active.terms.connect.unit,
    silent_days: reading.silentDays < 0 ? null : Math.floor(reading.silentDays),
    stale_since: isSilent(reading, active.terms.connect) ? formatEpochMsOrNull(staleAtMs) : null,
  };
}

function describeReporterStanding(reading: AgentScoreDetails): AgentExplanation["standing"] {
  const { flags, credibility, cluster } = reading;
  const has = (flag: number) => (flags & flag) !== 0;
  return {
    in_force: reading.areStandingsInForce,
    weight: roundToThousandths(reading.reporterWeight),
    credibility: has(STANDING_BITS.believed) ? roundToThousandths(credibility) : null,
    is_seed: has(STANDING_BITS.seed),
    cluster: cluster === 0 ? null : cluster,
    signs: has(STANDING_BITS.signs),
    discounted: has(STANDING_BITS.discounted),
    in_ring: reading.isInRing,
  };
}

/** In thousandths, as standings are kept; the table has them in single precision. */
function roundToThousandths(share: number): number {
  return Math.round(share * 1000) / 1000;
}

function formatEpochMsOrNull(epochMs: number): string | null {
  return epochMs === 0 ? null : new Date(epochMs).toISOString();
}
