// Names of the columns that a record of a decision ring becomes, in the record's order.
import { DECISION_INPUTS } from "../../contract/decisions.ts";

/** UTINYINT, DOUBLE and VARCHAR columns, in the order of a record (ring-layout.ts). */
export const INDEX_COLUMNS = [
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
export const NUMERIC_COLUMNS = [
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
export const INPUT_COLUMNS = DECISION_INPUTS;
export const NAMED_INPUT_COLUMNS = INPUT_COLUMNS.filter((name) => name !== "");
export const TEXT_COLUMNS = [
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
