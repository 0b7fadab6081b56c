// Message of a decision's trace: from the row that was read to the rule that decided, and what of it
// was never recorded.
import { DECISION_KINDS, DECISION_LEGS, DECISION_EFFECTS, DISPOSITIONS } from "../decisions.ts";
import { DECISIONS, REGIMES, TIERS, TOOL_LEVELS, VERDICTS } from "../vocabulary.ts";
import * as t from "./schema.ts";

const row = t.defineObject({
  known: t.withDescription(t.flag, "False: the agent had no history and was scored as a newcomer."),
  outcomes: t.withDescription(
    t.integerOrNull,
    "Outcomes ever counted; null in entries of older versions.",
  ),
  ...t.repeatSchema(t.number, "evidence_weight", "mean", "mean_variance", "stakes_proven"),
  ...t.repeatSchema(t.number, "failure_weight", "base_rate"),
  shock_days: t.withDescription(t.numberOrNull, "Days since a sudden change; null without one."),
  ...t.repeatSchema(t.numberOrNull, "viewer_mean", "viewer_variance"),
  standing: t.withDescription(
    t.texts,
    "Marks of the subject: `seed`, `fraud`, `key_revoked` and so on.",
  ),
});

const feature = t.defineObject({
  name: t.text,
  value: t.number,
  weight: t.number,
  log_odds: t.withDescription(
    t.numberOrNull,
    "Added to the log-odds of failure; null where it is none of it.",
  ),
  points: t.withDescription(t.numberOrNull, "Against the reference, below zero lowers the score."),
});

const rule = t.defineObject({
  rule: t.text,
  gives: t.withDescription(
    t.text,
    "Verdict of a verify, decision of a connection, where it holds.",
  ),
  pointer: t.withDescription(t.textOrNull, "Member of the policy that sets the bound."),
  bound: t.makeOptional(t.anything),
  value: t.makeOptional(t.anything),
  holds: t.withDescription(
    t.defineNullableAnswer(t.flag),
    "Null: not asked, a rule before it had settled the matter.",
  ),
  decides: t.flag,
});

const borders = t.defineObject({
  connect: t.withDescription(
    t.number,
    "Largest cautious probability that connects at these stakes.",
  ),
  connect_with_verification: t.number,
  deny: t.withDescription(t.number, "Probability from which a record denies; above 1: none does."),
});

const leg = t.defineObject({
  leg: t.defineChoice(DECISION_LEGS),
  subject: t.text,
  viewer: t.textOrNull,
  is_test: t.flag,
  row,
  features: t.withDescription(
    t.defineSchema<t.MessageOf<typeof feature>[] | null>({
      ...t.defineList(feature),
      type: ["array", "null"],
    }),
    "By weight of the config; null where its weights are not on file.",
  ),
  score: t.defineObject({
    ...t.repeatSchema(t.number, "log_odds", "log_odds_sd", "internal_score", "effective_score"),
    tier: t.defineChoice(TIERS),
    regime: t.defineNullableAnswer(t.defineChoice(REGIMES)),
  }),
  risk: t.defineObject({
    ...t.repeatSchema(t.number, "expected", "optimistic", "pessimistic"),
    at_stakes: t.withDescription(
      t.numberOrNull,
      "Cautious probability at the stakes, which the borders are compared with.",
    ),
    ...t.repeatSchema(t.defineNullableAnswer(t.flag), "thin", "denied", "refused"),
  }),
  provenance: t.defineObject({
    finding: t.withDescription(
      t.textOrNull,
      "Broken provenance that the policy took into account.",
    ),
    decided: t.flag,
  }),
  stakes: t.defineObject({
    stakes: t.number,
    max_stakes: t.numberOrNull,
    leg_decision: t.defineChoice(DECISIONS),
    borders: t.defineSchema<t.MessageOf<typeof borders> | null>({
      ...borders,
      type: ["object", "null"],
    }),
  }),
  rules: t.withDescription(
    t.defineSchema<t.MessageOf<typeof rule>[] | null>({
      ...t.defineList(rule),
      type: ["array", "null"],
    }),
    "In the order in which they are asked; null where they cannot be asked again.",
  ),
  decided_by: t.withDescription(t.text, "The rule as it was recorded."),
  reason_codes: t.texts,
  not_recorded: t.withDescription(t.texts, "What this trace cannot say, and why."),
});

const matchedEntry = t.defineObject({
  pointer: t.text,
  entry: t.withDescription(t.anything, "As the policy has it; null where it is not held."),
});

export const DecisionTrace = t.defineMessage("DecisionTrace", {
  request_id: t.text,
  kind: t.defineChoice(DECISION_KINDS),
  ...t.repeatSchema(t.text, "tenant", "key_id"),
  action: t.textOrNull,
  tool_level: t.defineNullableAnswer(t.defineChoice(TOOL_LEVELS)),
  evaluated_at: t.time,
  node: t.withDescription(t.textOrNull, "The node that decided; null without a cluster."),
  config_version: t.text,
  config_in_force: t.flag,
  policy_version: t.textOrNull,
  policy_in_force: t.flag,
  action_entry: t.withDescription(
    t.defineSchema<t.MessageOf<typeof matchedEntry> | null>({
      ...matchedEntry,
      type: ["object", "null"],
    }),
    "Entry of the policy's `actions` that decided the tool level; null where none did.",
  ),
  verdict: t.defineNullableAnswer(t.defineChoice(VERDICTS)),
  decision: t.defineChoice(DECISIONS),
  effective: t.defineChoice(DECISION_EFFECTS),
  disposition: t.withDescription(
    t.defineChoice(DISPOSITIONS),
    "What the answer asks of the caller, enforced or not.",
  ),
  why: t.withDescription(t.text, "One sentence with the rule that decided and its numbers."),
  ...t.repeatSchema(t.flag, "enforced", "flagged"),
  legs: t.defineList(leg),
});
export type DecisionTrace = t.MessageOf<typeof DecisionTrace>;
