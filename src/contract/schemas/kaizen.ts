// Messages of kaizen and of reporters' credibility. The answers are kaizen's own shapes, shown here
// as far as callers may rely on them.
import * as t from "./schema.ts";

const HOLDOUT_DAYS_MAX = 365;
const REASON_LENGTH_MAX = 500;

const DAYS = `must be a number of days from 1 to ${HOLDOUT_DAYS_MAX}`;

const summary = {
  run_id: t.text,
  kind: t.optional(t.defineChoice(["full", "calibration"])),
  state: t.defineChoice(["running", "kept", "promoted", "dry_run", "failed"]),
  started_at: t.optional(t.time),
  started_by: t.optional(t.text),
  finished_at: t.optional(t.time),
  champion_version: t.optional(t.text),
  challenger_version: t.optional(t.text),
  rolled_back: t.optional(t.object({ at: t.time, reason: t.text })),
  /** A dry run that a person promoted: when, by which key, why. */
  promotion: t.optional(t.object({ at: t.time, by: t.text, reason: t.text })),
  reason: t.optional(t.text),
  as_of: t.optional(t.time),
  ...t.all(t.optional(t.integer), "rows", "rows_of", "position", "duration_ms"),
};

/** The newest look at a promotion, by scorecard that it changed. */
const watch = t.object({
  at: t.time,
  sides: t.list(
    t.object({
      side: t.defineChoice(["check", "handshake"]),
      rollback_due: t.flag,
      numbers: t.anObject,
      sentence: t.text,
    }),
  ),
});

/** A number of a gate beside its bound. */
const measure = t.object({
  name: t.text,
  value: t.number,
  comparison: t.defineChoice(["at_least", "above", "at_most", "within"]),
  bound: t.number,
  bound_high: t.optional(t.number),
  is_within: t.flag,
});
const gateNumbers = t.object({
  ...t.all(t.text, "id", "name", "question"),
  ...t.all(t.flag, "passed", "is_warning"),
  sentence: t.text,
  measures: t.list(measure),
  /** Estimates with their 90 % interval and the border that decides. */
  intervals: t.list(
    t.object({ label: t.text, ...t.all(t.number, "low", "value", "high", "border") }),
  ),
});
const sliceNumbers = t.object({
  name: t.text,
  rows: t.integer,
  ...t.all(
    t.optional(t.number),
    "z",
    "loss_change",
    "foretold",
    "seen",
    "champion_foretold",
    "chance",
  ),
});
const bins = t.list(
  t.object({ ...t.all(t.share, "expected", "observed", "low", "high"), rows: t.integer }),
);
/** What a run rests on, for programs that draw it; by scorecard. */
const numbers = t.object({
  sides: t.list(
    t.object({
      side: t.defineChoice(["check", "handshake"]),
      passed: t.flag,
      gates: t.list(gateNumbers),
      slices: t.list(sliceNumbers),
      reliability: t.optional(t.object({ champion: bins, challenger: bins })),
      weights: t.optional(
        t.list(
          t.object({
            name: t.text,
            ...t.all(t.number, "champion", "challenger", "champion_points", "challenger_points"),
          }),
        ),
      ),
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
  numbers: t.optional(numbers),
  watch: t.optional(watch),
  /** Opens the report in a browser, without a key, until then. */
  report: t.optional(t.object({ url: t.text, expires_at: t.time })),
});
export const KaizenRuns = t.message("KaizenRuns", {
  config_version: t.text,
  cool_down_runs: t.integer,
  runs: t.list(
    t.object({
      ...summary,
      /** Verdicts alone; the run itself has the numbers. */
      gates: t.optional(
        t.list(
          t.object({
            side: t.defineChoice(["check", "handshake"]),
            id: t.text,
            ...t.all(t.flag, "passed", "is_warning"),
          }),
        ),
      ),
    }),
  ),
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
  kind: t.orNull(t.defineChoice(["full", "calibration"])),
  parent: t.textOrNull,
  promoted_at: t.timeOrNull,
  rolled_back: t.defineSchema<{ at: string; reason: string } | null>({
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
export const KaizenPromoteRequest = t.strict("KaizenPromoteRequest", {
  reason: t.textOfLength(
    { minLength: 1, maxLength: REASON_LENGTH_MAX },
    ({ length }) => length >= 1 && length <= REASON_LENGTH_MAX,
    `must be 1 to ${REASON_LENGTH_MAX} characters`,
  ),
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

/** Reporters and who vouched for whom. `from` and `to` number the nodes of the same answer. */
export const CredibilityGraph = t.message("CredibilityGraph", {
  at: t.optional(t.time),
  position: t.optional(t.integer),
  reporters: t.integer,
  nodes: t.list(
    t.object({
      id: t.text,
      kind: t.defineChoice(["seed", "believed", "stranger"]),
      credibility: t.share,
      mass: t.share,
      cluster: t.integer,
      reports: t.integer,
    }),
  ),
  edges: t.list(
    t.object({ ...t.all(t.integer, "from", "to"), ...t.all(t.number, "mass", "weight") }),
  ),
});
