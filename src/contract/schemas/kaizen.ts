// Messages of kaizen and of reporters' credibility. The answers are kaizen's own shapes, shown here
// as far as callers may rely on them.
import { EVIDENCE_KINDS } from "../vocabulary.ts";
import * as t from "./schema.ts";

const HOLDOUT_DAYS_MAX = 365;
const REASON_LENGTH_MAX = 500;

const DAYS = `must be a number of days from 1 to ${HOLDOUT_DAYS_MAX}`;

const summary = {
  run_id: t.text,
  kind: t.makeOptional(t.defineChoice(["full", "calibration"])),
  state: t.defineChoice(["running", "kept", "promoted", "dry_run", "failed"]),
  started_at: t.makeOptional(t.time),
  started_by: t.makeOptional(t.text),
  finished_at: t.makeOptional(t.time),
  champion_version: t.makeOptional(t.text),
  challenger_version: t.makeOptional(t.text),
  rolled_back: t.makeOptional(t.defineObject({ at: t.time, reason: t.text })),
  /** A dry run that a person promoted: when, by which key, why. */
  promotion: t.makeOptional(t.defineObject({ at: t.time, by: t.text, reason: t.text })),
  reason: t.makeOptional(t.text),
  as_of: t.makeOptional(t.time),
  ...t.repeatSchema(t.makeOptional(t.integer), "rows", "rows_of", "position", "duration_ms"),
  evidence_kinds: t.makeOptional(
    t.withDescription(
      t.defineList(t.defineChoice(EVIDENCE_KINDS)),
      "Which outcomes taught and tested, by who signed them.",
    ),
  ),
  rows_by_kind: t.makeOptional(
    t.withDescription(
      t.defineObject(t.repeatSchema(t.integer, ...EVIDENCE_KINDS)),
      "`rows` by who signed: the reporter's own key, the bureau for a first-party API key, an import.",
    ),
  ),
};

/** The newest look at a promotion, by scorecard that it changed. */
const watch = t.defineObject({
  at: t.time,
  sides: t.defineList(
    t.defineObject({
      side: t.defineChoice(["check", "handshake"]),
      rollback_due: t.flag,
      numbers: t.anObject,
      sentence: t.text,
    }),
  ),
});

/** A number of a gate beside its bound. */
const measure = t.defineObject({
  name: t.text,
  value: t.number,
  comparison: t.defineChoice(["at_least", "above", "at_most", "within"]),
  bound: t.number,
  bound_high: t.makeOptional(t.number),
  is_within: t.flag,
});
const gateNumbers = t.defineObject({
  ...t.repeatSchema(t.text, "id", "name", "question"),
  ...t.repeatSchema(t.flag, "passed", "is_warning"),
  sentence: t.text,
  measures: t.defineList(measure),
  /** Estimates with their 90 % interval and the border that decides. */
  intervals: t.defineList(
    t.defineObject({
      label: t.text,
      ...t.repeatSchema(t.number, "low", "value", "high", "border"),
    }),
  ),
});
const sliceNumbers = t.defineObject({
  name: t.text,
  rows: t.integer,
  ...t.repeatSchema(
    t.makeOptional(t.number),
    "z",
    "loss_change",
    "foretold",
    "seen",
    "champion_foretold",
    "chance",
  ),
});
const bins = t.defineList(
  t.defineObject({
    ...t.repeatSchema(t.share, "expected", "observed", "low", "high"),
    rows: t.integer,
  }),
);
/** What a run rests on, for programs that draw it; by scorecard. */
const numbers = t.defineObject({
  sides: t.defineList(
    t.defineObject({
      side: t.defineChoice(["check", "handshake"]),
      passed: t.flag,
      gates: t.defineList(gateNumbers),
      slices: t.defineList(sliceNumbers),
      reliability: t.makeOptional(t.defineObject({ champion: bins, challenger: bins })),
      weights: t.makeOptional(
        t.defineList(
          t.defineObject({
            name: t.text,
            ...t.repeatSchema(
              t.number,
              "champion",
              "challenger",
              "champion_points",
              "challenger_points",
            ),
          }),
        ),
      ),
    }),
  ),
});

export const KaizenRunRequest = t.defineStrictMessage("KaizenRunRequest", {
  dry_run: t.withDefault(t.flag, false),
  holdout_days: t.makeOptional(t.defineNumberBetween(1, HOLDOUT_DAYS_MAX, DAYS)),
  sign_off: t.withDefault(t.flag, false),
  /** Runs on what had come in by then, and promotes nothing. */
  as_of: t.makeOptional(t.timeOrMs),
  wait: t.withDefault(t.flag, true),
});
export const KaizenRun = t.defineMessage("KaizenRun", {
  ...summary,
  findings: t.makeOptional(t.anObject),
  numbers: t.makeOptional(numbers),
  watch: t.makeOptional(watch),
  /** Opens the report in a browser, without a key, until then. */
  report: t.makeOptional(t.defineObject({ url: t.text, expires_at: t.time })),
});
export const KaizenRuns = t.defineMessage("KaizenRuns", {
  config_version: t.text,
  cool_down_runs: t.integer,
  runs: t.defineList(
    t.defineObject({
      ...summary,
      /** Verdicts alone; the run itself has the numbers. */
      gates: t.makeOptional(
        t.defineList(
          t.defineObject({
            side: t.defineChoice(["check", "handshake"]),
            id: t.text,
            ...t.repeatSchema(t.flag, "passed", "is_warning"),
          }),
        ),
      ),
    }),
  ),
  promoted_by: t.makeOptional(t.text),
  promoted_at: t.makeOptional(t.time),
  watch: t.makeOptional(watch),
  running: t.makeOptional(t.defineObject({ run_id: t.text, stage: t.text, share: t.number })),
  next_run_at: t.makeOptional(t.time),
});
const config = {
  version: t.text,
  name: t.textOrNull,
  digest: t.withDescription(t.textOrNull, "Of its canonical JSON; null where its file is missing."),
  in_force: t.flag,
  shipped: t.withDescription(t.flag, "The one of this release."),
  on_file: t.flag,
  replayable: t.withDescription(t.flag, "Decisions can be judged again under it."),
  from_run: t.withDescription(t.textOrNull, "Run that made it live; null for one that no run did."),
  kind: t.defineNullableAnswer(t.defineChoice(["full", "calibration"])),
  parent: t.textOrNull,
  promoted_at: t.timeOrNull,
  rolled_back: t.defineSchema<{ at: string; reason: string } | null>({
    ...t.defineObject({ at: t.time, reason: t.text }),
    type: ["object", "null"],
  }),
};
export const ConfigList = t.defineMessage("ConfigList", {
  configs: t.defineList(t.defineObject(config)),
});
export const ConfigDocument = t.defineMessage("ConfigDocument", {
  ...config,
  config: t.withDescription(
    t.anObject,
    "All its members: weights and references of both scorecards too.",
  ),
  against: t.textOrNull,
  differences: t.defineList(t.defineObject({ pointer: t.text, from: t.anything, to: t.anything })),
});
export const KaizenPromoteRequest = t.defineStrictMessage("KaizenPromoteRequest", {
  reason: t.defineTextOfLength(
    { minLength: 1, maxLength: REASON_LENGTH_MAX },
    ({ length }) => length >= 1 && length <= REASON_LENGTH_MAX,
    `must be 1 to ${REASON_LENGTH_MAX} characters`,
  ),
});
export const KaizenRollbackRequest = t.defineStrictMessage("KaizenRollbackRequest", {
  reason: t.withDefault(
    t.defineTextOfLength(
      { maxLength: REASON_LENGTH_MAX },
      ({ length }) => length <= REASON_LENGTH_MAX,
      `is longer than ${REASON_LENGTH_MAX}`,
    ),
    "by command",
  ),
});
export const KaizenRollback = t.defineMessage("KaizenRollback", {
  config_version: t.text,
  run_id: t.text,
});

const figures = t.defineObject({
  ...t.repeatSchema(t.integer, "reporters", "seeds", "believed"),
  believed_share: t.share,
  clusters: t.integer,
  closed_share: t.share,
  discounted: t.integer,
  stakes_high: t.number,
  changed: t.integer,
});
export const DailyScoreRebuild = t.defineMessage("DailyScoreRebuild", {
  at: t.time,
  position: t.withDescription(t.integer, "End of the journal that was replayed."),
  ...t.repeatSchema(t.integer, "days", "rows"),
  ...t.repeatSchema(t.textOrNull, "first_day", "last_day"),
  duration_ms: t.number,
});
export const DailyScoresStatus = t.defineMessage("DailyScoresStatus", {
  is_running: t.flag,
  share: t.makeOptional(t.withDescription(t.share, "Progress of the one that runs.")),
  last: t.makeOptional(DailyScoreRebuild),
});

export const CredibilityBatch = t.defineMessage("CredibilityBatch", {
  at: t.time,
  position: t.integer,
  records: t.integer,
  reason: t.text,
  duration_ms: t.number,
  figures: t.makeOptional(figures),
  ...t.repeatSchema(t.integer, "rings", "ring_members"),
});
export const CredibilityStatus = t.defineMessage("CredibilityStatus", {
  ...t.repeatSchema(t.flag, "is_wanted", "has_seeds", "in_force", "is_running"),
  last: t.makeOptional(CredibilityBatch),
  warning: t.makeOptional(t.text),
});

/** Reporters and who vouched for whom. `from` and `to` number the nodes of the same answer. */
export const CredibilityGraph = t.defineMessage("CredibilityGraph", {
  at: t.makeOptional(t.time),
  position: t.makeOptional(t.integer),
  reporters: t.integer,
  nodes: t.defineList(
    t.defineObject({
      id: t.text,
      kind: t.defineChoice(["seed", "believed", "stranger"]),
      credibility: t.share,
      mass: t.share,
      cluster: t.integer,
      reports: t.integer,
    }),
  ),
  edges: t.defineList(
    t.defineObject({
      ...t.repeatSchema(t.integer, "from", "to"),
      ...t.repeatSchema(t.number, "mass", "weight"),
    }),
  ),
});
