// Names of the documented views of SQL, as far as routes and commands know them, and of the formats
// that commands read and write.

/** Views whose old days do not change any more: exported as one file for each day. */
export const DATED_VIEWS = [
  "outcomes",
  "decisions",
  "decisions_minutely",
  "assessments",
  "audit_events",
  "backtests",
  "latency",
  "movers",
  "provenance",
  "scores_daily",
] as const;
/** The others are exported as one file. */
export const WHOLE_VIEWS = [
  "agents",
  "agents_daily",
  "conditions",
  "decisions_daily",
  "evidence_sources",
  "findings",
  "kaizen_runs",
  "policies",
  "repeated_reports",
  "reporter_severity",
  "reporters",
  "review_queue",
  "reviews",
  "rings",
  "usage",
] as const;

/** Views that can be exported: all there are. */
export const EXPORT_VIEWS = [...DATED_VIEWS, ...WHOLE_VIEWS] as const;
export type ExportView = (typeof EXPORT_VIEWS)[number];

/**
 * Scores in a view's rows. `current`: of agents whether or not anyone asked about them; such a read is
 * paid. `logged`: as they were given, and paid, with a decision of the tenant's own.
 */
type ViewScores = "none" | "logged" | "current";

const VIEW_SCORES: Readonly<Record<ExportView, ViewScores>> = {
  agents: "current",
  agents_daily: "none",
  assessments: "none",
  audit_events: "none",
  backtests: "none",
  conditions: "none",
  decisions: "logged",
  decisions_daily: "none",
  decisions_minutely: "none",
  evidence_sources: "none",
  findings: "none",
  kaizen_runs: "none",
  latency: "none",
  movers: "current",
  outcomes: "none",
  policies: "none",
  provenance: "none",
  repeated_reports: "none",
  reporter_severity: "none",
  reporters: "none",
  review_queue: "none",
  reviews: "logged",
  rings: "none",
  scores_daily: "current",
  usage: "none",
};

/** Views with scores: reading one takes `score:read` as well, as the routes of the same rows do. */
export const SCORED_VIEWS: readonly ExportView[] = EXPORT_VIEWS.filter(
  (view) => VIEW_SCORES[view] !== "none",
);
/** Views of which each query and each exported file is a paid read. */
export const PAID_VIEWS: readonly ExportView[] = EXPORT_VIEWS.filter(
  (view) => VIEW_SCORES[view] === "current",
);

/** Day of an outcome in exports: that of its recording, which never changes, or of its settling. */
export const EXPORT_DAYS = ["recorded", "settled"] as const;
export type ExportDay = (typeof EXPORT_DAYS)[number];

/** Formats in which `trustrank query` prints rows. */
export const QUERY_FORMATS = ["table", "csv", "json", "ndjson", "parquet"] as const;
export type QueryFormat = (typeof QUERY_FORMATS)[number];

/** Formats in which `trustrank usage` gives rows; Parquet to a file only. */
export const USAGE_FORMATS = ["table", "csv", "json", "parquet"] as const;
export type UsageFormat = (typeof USAGE_FORMATS)[number];

/** Formats of files of outcomes that can be imported. */
export const IMPORT_FORMATS = ["ndjson", "csv", "snap-ratings"] as const;
export type ImportFormat = (typeof IMPORT_FORMATS)[number];
