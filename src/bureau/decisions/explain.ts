// Use case of `GET /v1/agents/{id}`: the inputs behind a score, and changes that would raise it.
// Off the hot path; never cached, so that it always describes the same state as the next verdict.
import type { AgentExplanation } from "../../contract/schemas/scores.ts";
import { DECISIONS, REASON_CODES, REGIMES, TIERS } from "../../contract/vocabulary.ts";
import type { ReasonCode } from "../../contract/vocabulary.ts";
import type { AgentReading, Reading } from "../../engine/reading.ts";
import { STANDING_BITS } from "../../contract/standings.ts";
import { openTimes } from "../services.ts";
import type { BureauServices } from "../services.ts";
import type { CallContext } from "../bureau.ts";
import { agentKey } from "../../contract/identifiers.ts";
import type { Vouching } from "../../contract/policy.ts";
import type { ActivePolicy } from "../../policy/active-policy.ts";
import { highestLevelAllowed } from "../../policy/highest-level.ts";
import { vouchingFor } from "../../policy/vouching.ts";
import { maxStakes, roundEffective } from "./leg.ts";
import { improvementsFor } from "./reasons.ts";
import { findReserved } from "./test-agents.ts";
import { normalizeScore } from "./verify.ts";

/** One per order of magnitude: enough to see where the decision turns. */
const STAKES_SHOWN = [1, 10, 100, 1000, 10_000] as const;

/** Explains any agent; an unknown one is explained as the newcomer that it is scored as. */
export function explain(
  services: BureauServices,
  agentId: string,
  { principal }: CallContext,
): AgentExplanation {
  const nowMs = openTimes(services);
  const reserved = findReserved(agentId, services.environment.isReservedEnabled);
  const key = agentKey(agentId);
  const measured = services.engine.explain(key, nowMs);
  const reading = reserved?.reading ?? measured;
  const active = services.policies.of(principal.tenant);
  const scoreInternal = Math.round(reading.scoreInternal);
  const explanation: AgentExplanation = {
    agent_id: agentId,
    known: reading.isKnown,
    internal_score: scoreInternal,
    score: normalizeScore(scoreInternal),
    effective_score: roundEffective(reading.scoreEffective),
    tier: TIERS[reading.tierIndex]!,
    tool_level_max: highestLevelAllowed(
      active,
      reading,
      agentId,
      0,
      principal.minimumScores,
      false,
      nowMs,
    ),
    vouched: findBroadestVouching(active, reading, agentId, nowMs),
    failure_probability: {
      expected: reading.failureProbability,
      optimistic: reading.failureOptimistic,
      pessimistic: reading.failurePessimistic,
    },
    evidence: describeEvidence(measured),
    assessments: {
      false_content: measured.failedTexts[0],
      bad_sources: measured.failedTexts[1],
      last_assessed_at: timeOrNull(measured.lastAssessedMs),
    },
    standing: describeReporterStanding(measured),
    features: measured.features.map(({ name, value, points }) => ({ name, value, points })),
    decisions: [],
    improvements: [],
    reason_codes: [],
    config_version: services.engine.configVersion(measured.configNumber),
    evaluated_at: services.times.evaluatedAt,
  };
  if (reading.regimeIndex >= 0) explanation.regime = REGIMES[reading.regimeIndex]!;
  // Last, because an engine may answer every question with one and the same reading object.
  const readAt = (stakes: number) => reserved?.reading ?? services.engine.check(key, stakes, nowMs);
  for (const stakes of STAKES_SHOWN) addDecision(explanation, stakes, readAt(stakes));
  explanation.improvements = improvementsFor(explanation.reason_codes);
  return explanation;
}

/** The decision at some stakes; the reasons of the last added stay. */
function addDecision(explanation: AgentExplanation, stakes: number, reading: Reading): void {
  const decision = DECISIONS[reading.decisionIndex]!;
  explanation.decisions.push({ stakes, decision, max_stakes: maxStakes(reading) });
  // The last are the highest stakes: their reasons show the obstacles to a clear decision anywhere.
  explanation.reason_codes = reasonCodes(reading);
}

/** The entry that reaches the most sensitive level. */
function findBroadestVouching(
  { vouched }: ActivePolicy,
  reading: Reading,
  agentId: string,
  nowMs: number,
): Vouching | null {
  const atL3 = vouchingFor(vouched, reading, agentId, "L3", nowMs);
  return (atL3 ?? vouchingFor(vouched, reading, agentId, "L2", nowMs))?.vouching ?? null;
}

function reasonCodes(reading: Reading): ReasonCode[] {
  const codes: ReasonCode[] = [];
  for (let i = 0; i < reading.reasonCount; i += 1) {
    codes.push(REASON_CODES[reading.reasonIndexes[i]!]!);
  }
  return codes;
}

function describeEvidence(reading: AgentReading): AgentExplanation["evidence"] {
  return {
    outcomes: reading.outcomeCount,
    reported: reading.reportedCount,
    successes_90d: reading.successes90,
    failures_90d: reading.failures90,
    successes_14d: reading.successes14,
    failures_14d: reading.failures14,
    first_seen_at: timeOrNull(reading.firstSeenMs),
    last_outcome_at: timeOrNull(reading.lastOutcomeMs),
    last_failure_at: timeOrNull(reading.lastFailureMs),
    max_proven_stakes: reading.stakesProven,
  };
}

function describeReporterStanding(reading: AgentReading): AgentExplanation["standing"] {
  const { flags, credibility, cluster } = reading;
  const has = (flag: number) => (flags & flag) !== 0;
  return {
    in_force: reading.areStandingsInForce,
    weight: round(reading.reporterWeight),
    credibility: has(STANDING_BITS.believed) ? round(credibility) : null,
    is_seed: has(STANDING_BITS.seed),
    cluster: cluster === 0 ? null : cluster,
    signs: has(STANDING_BITS.signs),
    discounted: has(STANDING_BITS.discounted),
  };
}

/** In thousandths, as standings are kept; the table has them in single precision. */
function round(share: number): number {
  return Math.round(share * 1000) / 1000;
}

function timeOrNull(epochMs: number): string | null {
  return epochMs === 0 ? null : new Date(epochMs).toISOString();
}
