// Names of the documented views of SQL, as far as routes and commands know them, and of the formats
// that commands read and write.

/** Views whose old days do not change any more: exported as one file for each day. */
export const DATED_VIEWS = [
  "outcomes",
  "decisions",
  "assessments",
  "audit_events",
  "backtests",
  "provenance",
  "scores_daily",
] as const;
/** The others are exported as one file. */
export const WHOLE_VIEWS = [
  "agents",
  "agents_daily",
  "decisions_daily",
  "evidence_sources",
  "kaizen_runs",
  "policies",
  "reporters",
  "review_queue",
  "reviews",
  "usage",
] as const;

/** Views that can be exported: all there are. */
export const EXPORT_VIEWS = [...DATED_VIEWS, ...WHOLE_VIEWS] as const;
export type ExportView = (typeof EXPORT_VIEWS)[number];

/** Views that show scores: a list of them takes the same scope as one of them, `score:read`. */
export const SCORED_VIEWS: readonly string[] = ["agents", "scores_daily"];

/** Day of an outcome in exports: that of its recording, which never changes, or of its settling. */
export const EXPORT_DAYS = ["recorded", "settled"] as const;
export type ExportDay = (typeof EXPORT_DAYS)[number];

/** Formats in which `trustrank query` prints rows. */
export const QUERY_FORMATS = ["table", "csv", "json"] as const;
export type QueryFormat = (typeof QUERY_FORMATS)[number];

/** Formats in which `trustrank usage` gives rows; Parquet to a file only. */
export const USAGE_FORMATS = ["table", "csv", "json", "parquet"] as const;
export type UsageFormat = (typeof USAGE_FORMATS)[number];

/** Formats of files of outcomes that can be imported. */
export const IMPORT_FORMATS = ["ndjson", "csv", "snap-ratings"] as const;
export type ImportFormat = (typeof IMPORT_FORMATS)[number];
