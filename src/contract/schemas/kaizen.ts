// Messages of kaizen and of reporters' credibility. The answers are kaizen's own shapes, shown here
// as far as callers may rely on them.
import * as kind from "./kinds.ts";
import { checked, defaulted, list, message, object, oneOf, optional, STRICT } from "./schema.ts";

const { anObject, flag, integer, number, text, time } = kind;
const HOLDOUT_DAYS_MAX = 365;
const REASON_LENGTH_MAX = 500;

const days = checked<number>(
  { "~shown": { type: "number", minimum: 1, maximum: HOLDOUT_DAYS_MAX } },
  (value: unknown) => typeof value === "number" && value >= 1 && value <= HOLDOUT_DAYS_MAX,
  () => `range must be a number of days from 1 to ${HOLDOUT_DAYS_MAX}`,
);

const summary = {
  run_id: text,
  state: oneOf(["running", "kept", "promoted", "dry_run", "failed"]),
  started_at: optional(time),
  started_by: optional(text),
  finished_at: optional(time),
  champion_version: optional(text),
  challenger_version: optional(text),
  rolled_back: optional(object({ at: time, reason: text })),
  reason: optional(text),
  rows: optional(integer),
  position: optional(integer),
  duration_ms: optional(integer),
};

/** The newest look at a promotion, by scorecard that it changed. */
const watch = object({
  at: time,
  sides: list(
    object({
      side: oneOf(["check", "handshake"]),
      rollback_due: flag,
      numbers: anObject,
      sentence: text,
    }),
  ),
});

export const KaizenRunRequest = message(
  "KaizenRunRequest",
  {
    dry_run: defaulted(flag, false),
    holdout_days: optional(days),
    sign_off: defaulted(flag, false),
    wait: defaulted(flag, true),
  },
  STRICT,
);
export const KaizenRun = message("KaizenRun", {
  ...summary,
  findings: optional(anObject),
  watch: optional(watch),
});
export const KaizenRuns = message("KaizenRuns", {
  config_version: text,
  cool_down_runs: integer,
  runs: list(object(summary)),
  promoted_by: optional(text),
  promoted_at: optional(time),
  watch: optional(watch),
  running: optional(object({ run_id: text, stage: text, share: number })),
  next_run_at: optional(time),
});
export const KaizenRollbackRequest = message(
  "KaizenRollbackRequest",
  {
    reason: defaulted(
      kind.textOfLength(
        { maxLength: REASON_LENGTH_MAX },
        ({ length }) => length <= REASON_LENGTH_MAX,
        `is longer than ${REASON_LENGTH_MAX}`,
      ),
      "by command",
    ),
  },
  STRICT,
);
export const KaizenRollback = message("KaizenRollback", { config_version: text, run_id: text });

const figures = object({
  reporters: integer,
  seeds: integer,
  believed: integer,
  believed_share: kind.share,
  clusters: integer,
  discounted: integer,
  stakes_high: number,
  changed: integer,
});
export const CredibilityBatch = message("CredibilityBatch", {
  at: time,
  position: integer,
  records: integer,
  reason: text,
  duration_ms: number,
  figures: optional(figures),
});
export const CredibilityStatus = message("CredibilityStatus", {
  is_wanted: flag,
  has_seeds: flag,
  in_force: flag,
  is_running: flag,
  last: optional(CredibilityBatch),
});
