// Messages of kaizen and of reporters' credibility. The answers are kaizen's own shapes, shown here
// as far as callers may rely on them.
import * as t from "./schema.ts";

const HOLDOUT_DAYS_MAX = 365;
const REASON_LENGTH_MAX = 500;

const DAYS = `must be a number of days from 1 to ${HOLDOUT_DAYS_MAX}`;

const summary = {
  run_id: t.text,
  kind: t.optional(t.oneOf(["full", "calibration"])),
  state: t.oneOf(["running", "kept", "promoted", "dry_run", "failed"]),
  started_at: t.optional(t.time),
  started_by: t.optional(t.text),
  finished_at: t.optional(t.time),
  champion_version: t.optional(t.text),
  challenger_version: t.optional(t.text),
  rolled_back: t.optional(t.object({ at: t.time, reason: t.text })),
  reason: t.optional(t.text),
  as_of: t.optional(t.time),
  ...t.all(t.optional(t.integer), "rows", "position", "duration_ms"),
};

/** The newest look at a promotion, by scorecard that it changed. */
const watch = t.object({
  at: t.time,
  sides: t.list(
    t.object({
      side: t.oneOf(["check", "handshake"]),
      rollback_due: t.flag,
      numbers: t.anObject,
      sentence: t.text,
    }),
  ),
});

export const KaizenRunRequest = t.strict("KaizenRunRequest", {
  dry_run: t.defaulted(t.flag, false),
  holdout_days: t.optional(t.between(1, HOLDOUT_DAYS_MAX, DAYS)),
  sign_off: t.defaulted(t.flag, false),
  /** Runs on what had come in by then, and promotes nothing. */
  as_of: t.optional(t.timeOrMs),
  wait: t.defaulted(t.flag, true),
});
export const KaizenRun = t.message("KaizenRun", {
  ...summary,
  findings: t.optional(t.anObject),
  watch: t.optional(watch),
  /** Opens the report in a browser, without a key, until then. */
  report: t.optional(t.object({ url: t.text, expires_at: t.time })),
});
export const KaizenRuns = t.message("KaizenRuns", {
  config_version: t.text,
  cool_down_runs: t.integer,
  runs: t.list(t.object(summary)),
  promoted_by: t.optional(t.text),
  promoted_at: t.optional(t.time),
  watch: t.optional(watch),
  running: t.optional(t.object({ run_id: t.text, stage: t.text, share: t.number })),
  next_run_at: t.optional(t.time),
});
const config = {
  version: t.text,
  name: t.textOrNull,
  digest: t.said(t.textOrNull, "Of its canonical JSON; null where its file is missing."),
  in_force: t.flag,
  shipped: t.said(t.flag, "The one of this release."),
  on_file: t.flag,
  replayable: t.said(t.flag, "Decisions can be judged again under it."),
  from_run: t.said(t.textOrNull, "Run that made it live; null for one that no run did."),
  kind: t.orNull(t.oneOf(["full", "calibration"])),
  parent: t.textOrNull,
  promoted_at: t.timeOrNull,
  rolled_back: t.schemaOf<{ at: string; reason: string } | null>({
    ...t.object({ at: t.time, reason: t.text }),
    type: ["object", "null"],
  }),
};
export const ConfigList = t.message("ConfigList", { configs: t.list(t.object(config)) });
export const ConfigDocument = t.message("ConfigDocument", {
  ...config,
  config: t.said(t.anObject, "All its members: weights and references of both scorecards too."),
  against: t.textOrNull,
  differences: t.list(t.object({ pointer: t.text, from: t.anything, to: t.anything })),
});
export const KaizenRollbackRequest = t.strict("KaizenRollbackRequest", {
  reason: t.defaulted(
    t.textOfLength(
      { maxLength: REASON_LENGTH_MAX },
      ({ length }) => length <= REASON_LENGTH_MAX,
      `is longer than ${REASON_LENGTH_MAX}`,
    ),
    "by command",
  ),
});
export const KaizenRollback = t.message("KaizenRollback", {
  config_version: t.text,
  run_id: t.text,
});

const figures = t.object({
  ...t.all(t.integer, "reporters", "seeds", "believed"),
  believed_share: t.share,
  clusters: t.integer,
  discounted: t.integer,
  stakes_high: t.number,
  changed: t.integer,
});
export const CredibilityBatch = t.message("CredibilityBatch", {
  at: t.time,
  position: t.integer,
  records: t.integer,
  reason: t.text,
  duration_ms: t.number,
  figures: t.optional(figures),
});
export const CredibilityStatus = t.message("CredibilityStatus", {
  ...t.all(t.flag, "is_wanted", "has_seeds", "in_force", "is_running"),
  last: t.optional(CredibilityBatch),
});
