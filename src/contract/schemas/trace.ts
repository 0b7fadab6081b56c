// Message of a decision's trace: from the row that was read to the rule that decided, and what of it
// was never recorded.
import { DECISION_KINDS, DECISION_LEGS, EFFECTS } from "../decisions.ts";
import { DECISIONS, REGIMES, TIERS, TOOL_LEVELS, VERDICTS } from "../vocabulary.ts";
import * as t from "./schema.ts";

const row = t.object({
  known: t.said(t.flag, "False: the agent had no history and was scored as a newcomer."),
  outcomes: t.said(t.integerOrNull, "Outcomes ever counted; null in entries of older versions."),
  ...t.all(t.number, "evidence_weight", "mean", "mean_variance", "stakes_proven"),
  ...t.all(t.number, "failure_weight", "base_rate"),
  shock_days: t.said(t.numberOrNull, "Days since a sudden change; null without one."),
  ...t.all(t.numberOrNull, "viewer_mean", "viewer_variance"),
  standing: t.said(t.texts, "Marks of the subject: `seed`, `fraud`, `key_revoked` and so on."),
});

const feature = t.object({
  name: t.text,
  value: t.number,
  weight: t.number,
  log_odds: t.said(
    t.numberOrNull,
    "Added to the log-odds of failure; null where it is none of it.",
  ),
  points: t.said(t.numberOrNull, "Against the reference, below zero lowers the score."),
});

const rule = t.object({
  rule: t.text,
  gives: t.said(t.text, "Verdict of a verify, decision of a connection, where it holds."),
  pointer: t.said(t.textOrNull, "Member of the policy that sets the bound."),
  bound: t.optional(t.anything),
  value: t.optional(t.anything),
  holds: t.said(t.orNull(t.flag), "Null: not asked, a rule before it had settled the matter."),
  decides: t.flag,
});

const borders = t.object({
  connect: t.said(t.number, "Largest pessimistic probability that connects at these stakes."),
  connect_with_verification: t.number,
  deny: t.said(t.number, "Probability from which a record denies; above 1: none does."),
});

const leg = t.object({
  leg: t.defineChoice(DECISION_LEGS),
  subject: t.text,
  viewer: t.textOrNull,
  is_test: t.flag,
  row,
  features: t.said(
    t.defineSchema<t.MessageOf<typeof feature>[] | null>({
      ...t.list(feature),
      type: ["array", "null"],
    }),
    "By weight of the config; null where its weights are not on file.",
  ),
  score: t.object({
    ...t.all(t.number, "log_odds", "log_odds_sd", "internal_score", "effective_score"),
    tier: t.defineChoice(TIERS),
    regime: t.orNull(t.defineChoice(REGIMES)),
  }),
  risk: t.object({
    ...t.all(t.number, "expected", "optimistic", "pessimistic"),
    ...t.all(t.orNull(t.flag), "thin", "denied", "refused"),
  }),
  provenance: t.object({
    finding: t.said(t.textOrNull, "Broken provenance that the policy took into account."),
    decided: t.flag,
  }),
  stakes: t.object({
    stakes: t.number,
    max_stakes: t.numberOrNull,
    leg_decision: t.defineChoice(DECISIONS),
    borders: t.defineSchema<t.MessageOf<typeof borders> | null>({
      ...borders,
      type: ["object", "null"],
    }),
  }),
  rules: t.said(
    t.defineSchema<t.MessageOf<typeof rule>[] | null>({ ...t.list(rule), type: ["array", "null"] }),
    "In the order in which they are asked; null where they cannot be asked again.",
  ),
  decided_by: t.said(t.text, "The rule as it was recorded."),
  reason_codes: t.texts,
  not_recorded: t.said(t.texts, "What this trace cannot say, and why."),
});

export const DecisionTrace = t.message("DecisionTrace", {
  request_id: t.text,
  kind: t.defineChoice(DECISION_KINDS),
  ...t.all(t.text, "tenant", "key_id"),
  action: t.textOrNull,
  tool_level: t.orNull(t.defineChoice(TOOL_LEVELS)),
  evaluated_at: t.time,
  node: t.said(t.textOrNull, "The node that decided; null without a cluster."),
  config_version: t.text,
  config_in_force: t.flag,
  policy_version: t.textOrNull,
  policy_in_force: t.flag,
  verdict: t.orNull(t.defineChoice(VERDICTS)),
  decision: t.defineChoice(DECISIONS),
  effective: t.defineChoice(EFFECTS),
  ...t.all(t.flag, "enforced", "flagged"),
  legs: t.list(leg),
});
export type DecisionTrace = t.MessageOf<typeof DecisionTrace>;
