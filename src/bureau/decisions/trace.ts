// Use case of `GET /v1/decisions/{request_id}/trace`: why a logged decision came out as it did. Every
// number is the recorded one; rules are asked again of the same inputs, under the config and the policy
// that the record names. What was never recorded, or is not held any more, is said, never guessed.
import { DECISION_INPUTS } from "../../contract/decisions.ts";
import type { ReplayableLeg } from "../../contract/schemas/decisions.ts";
import type { DecisionTrace } from "../../contract/schemas/trace.ts";
import { ServiceFault } from "../../contract/faults.ts";
import type { Decision } from "../../contract/vocabulary.ts";
import type { ScoringConfig } from "../../engine/config.ts";
import type { AgentScore } from "../../engine/reading.ts";
import { createConnection, decideConnection } from "../../policy/connection.ts";
import { traceRules } from "../../policy/rules.ts";
import { describeDecision } from "./sentence.ts";
import { computeStakesRisk, NEARLY_CERTAIN, STAKES_CAUSE } from "../../policy/stakes-decision.ts";
import type { StakesCause } from "../../policy/stakes-decision.ts";
import type { BureauServices } from "../services.ts";
import {
  buildDecisionPolicy,
  buildRuleInputs,
  findDecisionTerms,
  rescoreLoggedLeg,
} from "./replay.ts";
import {
  computeDecisionThresholds,
  type DecisionThresholds,
  traceFeatures,
} from "./trace-config.ts";

type TracedLeg = DecisionTrace["legs"][number];
type TracedRule = NonNullable<TracedLeg["rules"]>[number];

/** Marks of a subject by their bits (FLAG_* of assembly/layout.ts). */
export const STANDING_NAME_BY_BIT: Readonly<Record<number, string>> = {
  1: "seed",
  2: "fraud",
  4: "key_revoked",
  8: "believed",
  16: "signs",
  32: "discounted",
};

/**
 * Traces all legs of one decision. `config` is the one that the legs name; undefined when its weights
 * are not on file.
 * @throws ServiceFault `not_found` without legs.
 */
export function traceLoggedDecision(
  services: BureauServices,
  legs: readonly ReplayableLeg[],
  config: ScoringConfig | undefined,
): DecisionTrace {
  const [first] = legs;
  if (first === undefined) throw new ServiceFault("not_found", "no decision has this request id");
  const { request_id, kind, tenant, key_id, action, tool_level, evaluated_at } = first;
  const { config_version, policy_version, verdict, decision, effective, enforced } = first;
  const trace = {
    request_id,
    kind,
    tenant,
    key_id,
    action,
    tool_level,
    evaluated_at,
    node: first.node,
    config_version,
    config_in_force: config_version === services.engine.activeConfigVersion,
    policy_version,
    action_entry: describeMatchedEntry(services, first),
    policy_in_force: policy_version === services.policies.findActivePolicy(tenant).version,
    verdict,
    decision,
    effective,
    disposition: first.disposition,
    enforced,
    flagged: first.flagged,
    legs: legs.map((leg) => traceLeg(services, leg, config)),
  };
  return { ...trace, why: describeDecision(trace) };
}

function traceLeg(
  services: BureauServices,
  leg: ReplayableLeg,
  config: ScoringConfig | undefined,
): TracedLeg {
  const input = new Map(DECISION_INPUTS.map((name, index) => [name, leg.inputs[index] ?? 0]));
  const missing: string[] = [];
  const reading = leg.is_test ? undefined : rebuildReading(services, leg, missing);
  const borders =
    config === undefined || leg.is_test
      ? null
      : computeDecisionThresholds(config, leg, findDecisionTerms(services, leg));
  const rules =
    reading === undefined ? null : traceLegRules(services, { leg, reading, borders }, missing);
  addUnrecordedNotes(leg, config, missing);
  return {
    leg: leg.leg,
    subject: leg.subject,
    viewer: leg.viewer,
    is_test: leg.is_test,
    row: describeAgentRow(leg, input),
    features: config === undefined || leg.is_test ? null : traceFeatures(config, leg, input),
    score: {
      log_odds: input.get("log_odds")!,
      log_odds_sd: input.get("log_odds_sd")!,
      internal_score: leg.internal_score,
      effective_score: leg.effective_score,
      tier: leg.tier,
      regime: leg.regime,
    },
    risk: {
      expected: leg.failure_probability,
      optimistic: leg.failure_optimistic,
      pessimistic: leg.failure_pessimistic,
      at_stakes: reading === undefined ? null : computeLegRisk(services, leg, reading),
      thin: reading?.isThin ?? null,
      denied: reading?.isDenied ?? null,
      refused: reading?.isRefused ?? null,
    },
    provenance: {
      finding: leg.hard_failure,
      decided: leg.hard_failure !== null && leg.hard_failure === leg.log_reason,
    },
    stakes: {
      stakes: leg.stakes,
      max_stakes: leg.max_stakes,
      leg_decision: leg.leg_decision,
      borders,
    },
    rules,
    decided_by: leg.log_reason ?? leg.leg_decision,
    reason_codes: leg.reason_codes,
    not_recorded: missing,
  };
}

function describeMatchedEntry(
  { policies }: BureauServices,
  { action_entry: entry, policy_version: version }: ReplayableLeg,
): DecisionTrace["action_entry"] {
  if (entry === null) return null;
  const policy = version === null ? undefined : policies.findPolicyVersion(version);
  return { pointer: `/actions/${entry}`, entry: policy?.actions?.[entry] ?? null };
}

type DecisionPolicy = ReturnType<typeof buildDecisionPolicy>;

function computeLegRisk(services: BureauServices, leg: ReplayableLeg, reading: AgentScore): number {
  return computeStakesRisk(reading, leg.stakes * findDecisionTerms(services, leg).unit);
}

function rebuildReading(
  services: BureauServices,
  leg: ReplayableLeg,
  missing: string[],
): AgentScore | undefined {
  const reading = rescoreLoggedLeg(services, leg, leg.config_version);
  if (reading === undefined) {
    missing.push(
      `the rules cannot be asked again: this process does not hold the config \`${leg.config_version}\``,
    );
  }
  return reading;
}

function describeAgentRow(
  leg: ReplayableLeg,
  input: ReadonlyMap<string, number>,
): TracedLeg["row"] {
  const number = (name: string) => input.get(name)!;
  const outcomes = Math.abs(number("batch"));
  const bits = number("standing_bits");
  const shockDays = number("shock_days");
  const isHandshake = leg.kind === "handshake";
  return {
    known: leg.known,
    outcomes: leg.known && outcomes === 0 ? null : outcomes,
    evidence_weight: number("evidence_weight"),
    mean: number("mean"),
    mean_variance: number("mean_variance"),
    stakes_proven: number("stakes_proven"),
    failure_weight: number("failure_weight"),
    base_rate: number("base_rate"),
    shock_days: shockDays < 0 ? null : shockDays,
    viewer_mean: isHandshake ? number("viewer_mean") : null,
    viewer_variance: isHandshake ? number("viewer_variance") : null,
    standing: Object.entries(STANDING_NAME_BY_BIT)
      .filter(([bit]) => (bits & Number(bit)) !== 0)
      .map(([, name]) => name),
  };
}

/** A logged leg with its reading and thresholds, computed again. */
interface RecomputedLeg {
  readonly leg: ReplayableLeg;
  readonly reading: AgentScore;
  readonly borders: DecisionThresholds | null;
}

/** The rules on a verify's policy, or on a connection's costs. */
function traceLegRules(
  services: BureauServices,
  recomputed: RecomputedLeg,
  missing: string[],
): TracedRule[] | null {
  const { leg, reading } = recomputed;
  try {
    if (leg.kind !== "verify") {
      return traceConnectionRules(leg, recomputed, buildDecisionPolicy(services, leg));
    }
    return appendOverride(tracePolicyRules(services, leg, reading), leg, leg.verdict ?? "");
  } catch (error) {
    if (!(error instanceof ServiceFault)) throw error;
    missing.push(`the rules cannot be asked again: ${error.detail}`);
    return null;
  }
}

function tracePolicyRules(
  services: BureauServices,
  leg: ReplayableLeg,
  reading: AgentScore,
): TracedRule[] {
  return traceRules(buildRuleInputs(services, leg, reading)).map(
    ({ verdict, member, ...step }) => ({
      ...step,
      gives: verdict,
      pointer: member === null ? null : `/levels/${leg.tool_level}/${member}`,
    }),
  );
}

/** What lots, people and the first of a day make of a ruling stands behind the rules. */
function appendOverride(rules: TracedRule[], leg: ReplayableLeg, gives: string): TracedRule[] {
  const recorded = leg.log_reason;
  if (recorded === null || rules.some((each) => each.decides && each.rule === recorded)) {
    return rules;
  }
  const last = { rule: recorded, gives, pointer: null, holds: true, decides: true };
  return [...rules.map((each) => ({ ...each, decides: false })), last];
}

/** Rules of a connection in the order in which they are asked; several causes may share one. */
const CONNECTION_RULES: readonly {
  readonly rule: string;
  readonly gives: Decision;
  readonly causes: readonly StakesCause[];
}[] = [
  { rule: "refuse", gives: "refuse", causes: [STAKES_CAUSE.refused] },
  { rule: "denied", gives: "escalate", causes: [STAKES_CAUSE.denied] },
  { rule: "nearly_certain", gives: "escalate", causes: [STAKES_CAUSE.nearCertain] },
  { rule: "connect", gives: "connect", causes: [STAKES_CAUSE.connect] },
  {
    rule: "connect_with_verification",
    gives: "connect_with_verification",
    causes: [STAKES_CAUSE.thin, STAKES_CAUSE.stale, STAKES_CAUSE.verification],
  },
  { rule: "escalate", gives: "escalate", causes: [STAKES_CAUSE.approval] },
];

function traceConnectionRules(
  leg: ReplayableLeg,
  { reading, borders }: RecomputedLeg,
  active: DecisionPolicy,
): TracedRule[] {
  const query = { active, reading, stakes: leg.stakes };
  const { cause } = decideConnection(query, createConnection(active));
  const risk = computeStakesRisk(reading, leg.stakes * active.terms.connect.unit);
  const decided = CONNECTION_RULES.findIndex(({ causes }) => causes.includes(cause));
  const rules = CONNECTION_RULES.map(({ rule, gives }, at): TracedRule => ({
    rule,
    gives,
    pointer: null,
    ...describeDecisionBound(rule, { leg, reading, borders }, risk),
    holds: at > decided ? null : at === decided,
    decides: at === decided,
  }));
  return appendOverride(rules, leg, leg.decision);
}

function describeDecisionBound(
  rule: string,
  { reading, borders }: RecomputedLeg,
  risk: number,
): { bound?: unknown; value?: unknown } {
  if (rule === "escalate") return {};
  if (rule === "refuse") return { bound: borders?.deny ?? null, value: reading.failureOptimistic };
  if (rule === "denied") return { bound: borders?.deny ?? null, value: reading.failureProbability };
  if (rule === "nearly_certain") return { bound: NEARLY_CERTAIN, value: risk };
  const border = rule === "connect" ? borders?.connect : borders?.connect_with_verification;
  return { bound: border ?? null, value: risk };
}

function addUnrecordedNotes(
  leg: ReplayableLeg,
  config: ScoringConfig | undefined,
  missing: string[],
): void {
  if (leg.is_test) {
    missing.push("a reserved test agent answers by its name: row, features and rules say nothing");
    return;
  }
  if (config === undefined) {
    missing.push(`weights and points: the config \`${leg.config_version}\` is not on file`);
  }
  if (leg.kind === "verify") {
    missing.push(
      "the text and the sources that were cited: the log has only a finding that counted",
    );
    missing.push("whether cited sources were verified, unless it decided");
    missing.push("reports of single outcomes: the row holds their sum");
  }
  if (leg.policy_version === null) {
    missing.push("the policy of its time: entries of older versions name none, today's was asked");
  }
}
