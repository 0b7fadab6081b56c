// Names of the columns that a record of a decision ring becomes, in the record's order.
import { FEATURES } from "../../contract/vocabulary.ts";

/** UTINYINT, DOUBLE and VARCHAR columns, in the order of a record (ring-layout.ts). */
export const INDEXES = [
  "kind_index",
  "leg_index",
  "tool_level_index",
  "verdict_index",
  "decision_index",
  "leg_decision_index",
  "tier_index",
  "regime_index",
  "flag_bits",
];
export const NUMBERS = [
  "evaluated_ms",
  "stakes",
  "failure_probability",
  "failure_optimistic",
  "failure_pessimistic",
  "internal_score",
  "effective_score",
  "stakes_max",
  "minimum_score",
];
/**
 * LEG_INPUTS of assembly/layout.ts; the first is the number of the config in its process. `batch` keeps
 * the name of what once stood there: it is the number of outcomes, and 0 in rows from before that.
 */
export const INPUTS = [
  "",
  "log_odds",
  "log_odds_sd",
  "mean",
  "viewer_mean",
  "evidence_weight",
  "stakes_proven",
  "mean_variance",
  "base_rate",
  "viewer_variance",
  "batch",
  "standing_bits",
  "failure_weight",
  "shock_days",
  ...FEATURES.map((name) => `x_${name}`),
];
export const NAMED_INPUTS = INPUTS.filter((name) => name !== "");
export const TEXTS = [
  "request_id",
  "tenant",
  "key_id",
  "subject",
  "viewer",
  "action",
  "log_reason",
  "hard_failure",
  "config_version",
  "reason_codes",
  "policy_version",
];
