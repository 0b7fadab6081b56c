// Defaults of settings that rooms apply which load DuckDB or the schemas.
// The command line reads every setting before it knows which command runs, and must not load those rooms for it.

/** Between a signal and the close of the listeners: two failed checks of a balancer that asks every second, and some. */
export const DRAIN_MS = 5000;
export const STORE_MEMORY_MEGABYTES = 512;
export const QUERY_MEMORY_MEGABYTES = 1024;
/** Days that rows of a kind are kept; thirteen months, so that a year can be compared with the one before. */
export const DECISIONS_KEPT_DAYS = 90;
export const OUTCOMES_KEPT_DAYS = 396;
export const PROVENANCE_KEPT_DAYS = 396;
/** MiB of records of the decision log per day: some 15 million decisions of 560 bytes, 175 a second all day long. */
export const DECISIONS_MEBIBYTES_PER_DAY = 8192;
/** Rows of a run of kaizen at most. */
export const EVIDENCE_ROWS_MAX = 2_000_000;
/** Outcomes between snapshots. They are replayed in a second or two: the most that a start may cost on top. */
export const SNAPSHOT_OUTCOMES = 500_000;
