// Use case of `POST /v1/decisions/{request_id}/replay` (SPEC §3, audited on both sides): judges a
// logged decision again from its log entry alone, by the same engine and the same policy. Under its
// own config it gives the same bits; under another, the difference.
import type { DecisionReplay, ReplayableLeg } from "../../contract/schemas/decisions.ts";
import { resolveStakesTerms } from "../../contract/stakes-policy.ts";
import type { StakesTerms } from "../../contract/stakes-policy.ts";
import { FORMER_MINIMUM_SCORES } from "../../contract/policy.ts";
import type { Policy } from "../../contract/policy.ts";
import { SCORE_MIN } from "../../contract/units.ts";
import { ServiceFault } from "../../contract/faults.ts";
import {
  CONDITION_CODES,
  DECISION,
  DECISIONS,
  EXPOSURE_CODE,
  REGIMES,
  TIERS,
  VERDICT,
  VERDICTS,
} from "../../contract/vocabulary.ts";
import type { FindingCode, ReasonCode, ToolLevel } from "../../contract/vocabulary.ts";
import type { AgentScore } from "../../engine/reading.ts";
import type { BureauServices } from "../services.ts";
import { selectStricterDecisionIndex } from "./handshake.ts";
import { deriveLevelRules } from "../../policy/active-policy.ts";
import { createConnection, decideConnection } from "../../policy/connection.ts";
import { isEligibleForAuditSample } from "../../policy/audit-sample.ts";
import { fillRuleInputs } from "../../policy/policy-query.ts";
import type { PolicyQuery } from "../../policy/policy-query.ts";
import { applyPolicyRules, isReviewRequired } from "../../policy/rules.ts";
import { computeLevelStakesMax, findLevelDecisionIndex } from "../../policy/standing.ts";
import { createRuleInputs } from "../../policy/rule-inputs.ts";
import type { RuleInputs } from "../../policy/rule-inputs.ts";
import {
  AUDIT_SAMPLED,
  BELOW_MINIMUM,
  OVERTURNED,
  type Ruling,
  STALE_FLAGGED,
  THIN_FLAGGED,
  THIN_TOLERATED,
  TOLERATED,
  UPHELD,
} from "../../policy/rulings.ts";
import { findLoggedLimit } from "./activity-limits.ts";
import { applyLoggedConditionCode, applyLoggedConditions } from "./condition-override.ts";
import { applyLoggedReviewReason } from "./review-override.ts";
import { appendReasons } from "./reasons.ts";

type ReplayedLeg = Partial<ReplayableLeg>;

/** What judging a logged decision needs. */
export type ReplayServices = Pick<BureauServices, "engine" | "policies">;

/**
 * Judges all legs of one decision again. `configVersion` defaults to the active config.
 * @throws ServiceFault `not_found` when no config of that name is held, or the decision's policy is
 *   not.
 */
export function replayLoggedDecision(
  services: BureauServices,
  legs: readonly ReplayableLeg[],
  configVersion: string | undefined,
): DecisionReplay {
  const [first] = legs;
  if (first === undefined) throw new ServiceFault("not_found", "no decision has this request id");
  const version = configVersion ?? services.engine.activeConfigVersion;
  const judged = legs.map((leg) => replayLeg(services, leg, version));
  const decision = judged.reduce(
    (index, each, i) =>
      selectStricterDecisionIndex(index, computeReviewedDecisionIndex(each, legs[i]!)),
    0,
  );
  const differences = legs.flatMap((leg, i) =>
    listReplayDifferences(leg, { ...judged[i], decision: DECISIONS[decision]! }),
  );
  return {
    request_id: first.request_id,
    recorded_config: first.config_version,
    replayed_config: version,
    recorded_policy: first.policy_version,
    replayed_policy:
      first.policy_version ?? services.policies.findActivePolicy(first.tenant).version,
    identical: differences.length === 0,
    differences,
  };
}

/** A leg's decision, after what a reviewer or an operator's condition made of it then. */
function computeReviewedDecisionIndex(
  { leg_decision: decision }: ReplayedLeg,
  leg: ReplayableLeg,
): number {
  const index = DECISION[decision!];
  // Of a verify it is the verdict that was decided on.
  if (leg.kind === "verify") return index;
  const reviewed = applyLoggedReviewReason(index, leg.log_reason);
  const ruled = applyLoggedConditionCode(reviewed, leg.log_reason);
  // What else was held then is not in the log.
  return leg.log_reason === EXPOSURE_CODE ? Math.max(ruled, DECISION[leg.decision]) : ruled;
}

/** The engine's reading of a leg's recorded inputs; undefined when it does not hold the config. */
export function rescoreLoggedLeg(services: ReplayServices, leg: ReplayableLeg, version: string) {
  const isHandshake = leg.kind === "handshake";
  const stakes = leg.stakes * findDecisionTerms(services, leg).unit;
  const logged = { inputs: leg.inputs, isKnown: leg.known, isHandshake, stakes };
  return services.engine.rejudge(logged, version);
}

function replayLeg(services: BureauServices, leg: ReplayableLeg, version: string): ReplayedLeg {
  // A reserved test agent answers the same under every config.
  if (leg.is_test) return { leg_decision: leg.leg_decision };
  const reading = rescoreLoggedLeg(services, leg, version);
  if (reading === undefined) {
    throw new ServiceFault("not_found", `no config \`${version}\` is held`);
  }
  const judged: ReplayedLeg = {
    internal_score: reading.scoreInternal,
    effective_score: reading.scoreEffective,
    failure_probability: reading.failureProbability,
    failure_optimistic: reading.failureOptimistic,
    failure_pessimistic: reading.failurePessimistic,
    tier: TIERS[reading.tierIndex]!,
    regime: REGIMES[reading.regimeIndex] ?? null,
  };
  if (leg.kind === "verify") return { ...judged, ...replayRuling(services, leg, reading) };
  const query = { active: buildDecisionPolicy(services, leg), reading, stakes: leg.stakes };
  const connection = decideConnection(query, createConnection(query.active));
  judged.max_stakes = encodeReplayedBound(connection.stakesMax);
  judged.leg_decision = DECISIONS[connection.decisionIndex]!;
  const isByPerson =
    computeReviewedDecisionIndex(judged, leg) !== connection.decisionIndex ||
    leg.log_reason === EXPOSURE_CODE ||
    (CONDITION_CODES as readonly (string | null)[]).includes(leg.log_reason);
  const codes: ReasonCode[] = [];
  if (connection.decisionIndex > 0) appendReasons(query, connection, [], codes);
  return { ...judged, reason_codes: isByPerson ? leg.reason_codes : codes };
}

function encodeReplayedBound(stakes: number): number | null {
  return Number.isFinite(stakes) ? stakes : null;
}

/**
 * Minimum that the decision was held to; 300 where the logged one was a default, which `threshold_met` reports
 * and no rule enforces.
 */
function selectEnforcedMinimum(
  { minimum_score: logged, log_reason: reason }: ReplayableLeg,
  toolLevel: ToolLevel,
  defaults: Readonly<Record<ToolLevel, number>>,
): number {
  if (reason === BELOW_MINIMUM.logReason) return logged;
  const isDefault = logged === defaults[toolLevel] || logged === FORMER_MINIMUM_SCORES[toolLevel];
  return isDefault ? SCORE_MIN : logged;
}

/** Inputs of the rules as verify filled them: the key's minimum and the failure code are as logged. */
export function buildRuleInputs(
  services: ReplayServices,
  leg: ReplayableLeg,
  reading: AgentScore,
): RuleInputs {
  const active = buildDecisionPolicy(services, leg);
  return fillLoggedRules({ leg, reading, active, made: active, toolLevel: leg.tool_level! });
}

/** A logged verify, and the policy and the level that it is judged by. */
interface LoggedVerify {
  readonly leg: ReplayableLeg;
  readonly reading: AgentScore;
  readonly active: PolicyQuery["active"];
  /** The policy that it was made by: it says whether the logged minimum was a default. */
  readonly made: PolicyQuery["active"];
  readonly toolLevel: ToolLevel;
}

function fillLoggedRules({ leg, reading, active, made, toolLevel }: LoggedVerify): RuleInputs {
  const minimum = selectEnforcedMinimum(leg, leg.tool_level!, made.levelMinimums);
  const rules = fillRuleInputs(
    {
      active,
      reading,
      agentId: leg.subject,
      stakes: leg.stakes,
      minimumScores: { L0: minimum, L1: minimum, L2: minimum, L3: minimum },
      // Vouchings as they stood when the decision was made.
      nowMs: Date.parse(leg.evaluated_at),
      rules: createRuleInputs(),
    },
    toolLevel,
  );
  if (active === made) rules.scoreMinimum = leg.minimum_score;
  // As it was logged: codes of older versions still have their rules.
  rules.failureCode = (leg.hard_failure ?? "") as FindingCode | "";
  // Whether sources were verified is not logged; it mattered only where it decided.
  rules.areSourcesVerified = leg.log_reason !== "VERIFIED_SOURCES_REQUIRED";
  return rules;
}

/** The policy's result on a logged verify, with what a sample or a reviewer made of it then. */
export function decideLoggedVerify(logged: LoggedVerify): { rules: RuleInputs; ruling: Ruling } {
  const rules = fillLoggedRules(logged);
  return { rules, ruling: applyLoggedOverride(applyPolicyRules(rules), logged.leg, rules) };
}

/** The verdict of a verify under another config; recorded samples and reviews stay where they still apply. */
function replayRuling(
  services: BureauServices,
  leg: ReplayableLeg,
  reading: AgentScore,
): ReplayedLeg {
  const rules = buildRuleInputs(services, leg, reading);
  const overridden = applyLoggedOverride(applyPolicyRules(rules), leg, rules);
  const ruling = applyLoggedConditions(services, leg, rules, overridden);
  return {
    max_stakes: encodeReplayedBound(computeLevelStakesMax(rules)),
    leg_decision: DECISIONS[findLevelDecisionIndex(rules)]!,
    verdict: VERDICTS[ruling.verdictIndex]!,
    log_reason: ruling.logReason,
  };
}

function applyLoggedOverride(decided: Ruling, leg: ReplayableLeg, rules: RuleInputs): Ruling {
  const { log_reason: reason } = leg;
  if (reason === AUDIT_SAMPLED.logReason && isEligibleForAuditSample(rules, decided)) {
    return AUDIT_SAMPLED;
  }
  const limited = findLoggedLimit(leg);
  if (limited !== undefined && decided.verdictIndex === VERDICT.ALLOW) return limited;
  // Flagged once a day: the log says whether this was the first.
  if (decided === THIN_FLAGGED && reason === THIN_TOLERATED.logReason) return THIN_TOLERATED;
  if (decided === STALE_FLAGGED && reason === TOLERATED.logReason) return TOLERATED;
  if (reason === UPHELD.logReason && isReviewRequired(decided, rules)) return UPHELD;
  const isWithheld =
    decided.verdictIndex > VERDICT.ALLOW && decided.verdictIndex < UPHELD.verdictIndex;
  return reason === OVERTURNED.logReason && isWithheld ? OVERTURNED : decided;
}

/** The rules that the decision was made by, as a verdict reads them. */
export function buildDecisionPolicy(services: ReplayServices, leg: ReplayableLeg) {
  const policy = findDecisionPolicy(services, leg);
  return { policy, ...deriveLevelRules(policy) };
}

/** Terms that the leg was decided by; those of tenants that set none where the policy is not held. */
export function findDecisionTerms(services: ReplayServices, leg: ReplayableLeg): StakesTerms {
  const { policies } = services;
  const version = leg.policy_version;
  const policy =
    version === null
      ? policies.findActivePolicy(leg.tenant).policy
      : policies.findPolicyVersion(version);
  return resolveStakesTerms(policy?.stakes)[leg.tool_level ?? "connect"];
}

/** The policy that the decision was made by; for those that name none, the one in force now. */
function findDecisionPolicy({ policies }: ReplayServices, leg: ReplayableLeg): Policy {
  if (leg.policy_version === null) return policies.findActivePolicy(leg.tenant).policy;
  const policy = policies.findPolicyVersion(leg.policy_version);
  if (policy !== undefined) return policy;
  throw new ServiceFault("not_found", `no policy \`${leg.policy_version}\` is held`);
}

function listReplayDifferences(
  leg: ReplayableLeg,
  judged: ReplayedLeg,
): DecisionReplay["differences"] {
  const members = Object.keys(judged) as (keyof ReplayableLeg)[];
  return members
    .filter((member) => String(leg[member]) !== String(judged[member]))
    .map((member) => ({
      leg: leg.leg,
      member,
      recorded: leg[member],
      replayed: judged[member],
    }));
}
