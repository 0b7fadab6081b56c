// Metrics of evidence and of the files that hold it: outcomes, journal, disk, agent table, snapshots,
// store, decision log, vault. Names without their prefix.
import { BATCH_SIZE_BOUNDS } from "../../platform/histogram.ts";
import {
  defineCounter,
  defineDurationHistogram,
  defineGauge,
  defineSizeHistogram,
} from "./metric.ts";

export const EVIDENCE_METRICS = {
  outcomes_total: defineCounter(
    "outcomes recorded since the start, by the grade recorded and by who signed",
    "stands still while callers report",
    "grade",
    "signature",
  ),
  outcomes_pending: defineGauge("outcomes that wait for their sync", "grows: the disk is slow"),
  journal_position: defineGauge(
    "position of the newest durable record",
    "stands still while outcomes come in",
  ),
  journal_append_duration_seconds: defineDurationHistogram(
    "seconds from handing records to the journal until they are acknowledged as durable",
    "the 99th percentile above 20 ms: the disk",
  ),
  journal_sync_duration_seconds: defineDurationHistogram(
    "seconds of one sync of the journal",
    "the disk",
  ),
  journal_commit_records: defineSizeHistogram("records that share one sync", BATCH_SIZE_BOUNDS),
  journal_damages: defineGauge(
    "known damages in sealed segments",
    "alarm above 0: restore the file before the next start",
  ),
  journal_verified_timestamp_seconds: defineGauge(
    "time of the last whole look at sealed segments; absent before the first",
    "older than two days",
  ),
  snapshot_timestamp_seconds: defineGauge(
    "time of the newest snapshot of the agent table; absent before the first",
    "old while outcomes come in: the next start replays more",
  ),
  archive_age_seconds: defineGauge(
    "seconds since all that was durable had been shipped to the archive, or since the start; absent without an archive, as are the next four",
    "more than some intervals: what a lost disk would take with it",
  ),
  archive_interval_seconds: defineGauge("seconds between two shipments, as set"),
  archive_lag_records: defineGauge("durable records that the archive does not have yet", "grows"),
  archive_failures_total: defineCounter(
    "shipments that failed; each is tried again",
    "above 0: `archive_failed` in the log says why",
  ),
  archive_parted: defineGauge(
    "1 if the archive held another history than the journal when this process opened it",
    "1 without a restore on purpose: the wrong directory, or a lost end",
  ),
  disk_low: defineGauge("1 while outcomes are refused for want of room", "alarm on 1"),
  disk_free_bytes: defineGauge(
    "free space of the journal's file system; absent until it was looked at",
    "before it comes to `disk_low`",
  ),
  disk_ballast_bytes: defineGauge(
    "size of the ballast file",
    "0 where it should be whole: it was given up",
  ),
  agents: defineGauge("agents in the table", "memory: some 190 bytes each"),
  agents_scored: defineGauge(
    "agents by tier, at the last reading of all scores",
    "a tier's share moves: the weights, the evidence or the agents have changed",
    "tier",
  ),
  agents_scored_timestamp_seconds: defineGauge(
    "time of that reading: once a day, and when somebody asks for scores in SQL; absent before the first",
  ),
  table_share: defineGauge(
    "share of the agent table's room in use, 0 to 1, by agents like those there are",
    "alarm from 0.8",
  ),
  table_bytes: defineGauge("bytes that the table has taken; it grows by doubling"),
  table_bytes_max: defineGauge("bytes that it may take"),
  table_pairs: defineGauge("pairs of subject and reporter in the table"),
  table_overflow: defineGauge(
    "records of the journal that found no room and do not count",
    "alarm above 0: raise `TRUSTRANK_TABLE_MB`",
  ),
  keys_newcomers_limited: defineGauge(
    "keys that may name nothing new for now, for having named too much",
    "above 0: an attack, or a limit that is too low",
  ),
  notes_pending: defineGauge(
    "provenance records that wait for their sync",
    "towards 1,000: refused",
  ),
  notes_pending_bytes: defineGauge("their size", "towards 4 MiB new ones are refused"),
  assessments_recorded_total: defineCounter(
    "texts that failed for certain and were put on their agents' record",
    "a jump: look at the view `assessments`",
  ),
  assessments_repeated_total: defineCounter("those of a text that was counted before"),
  assessments_dropped_total: defineCounter(
    "those lost for want of room in the queue or on the disk",
    "above 0: the disk is slow or nearly full",
  ),
  store_position: defineGauge("position up to which DuckDB has followed"),
  store_lag_records: defineGauge("records of the journal that DuckDB does not have yet", "grows"),
  store_behind_seconds: defineGauge(
    "seconds since the store was last up with the journal; 0 while it is",
    "minutes: see the warnings of `/readyz`",
  ),
  store_reopenings_total: defineCounter(
    "times that DuckDB failed and the same files were opened again",
    "a steady rate: `TRUSTRANK_STORE_MEMORY_MB` is too small, or somebody attacks",
  ),
  store_rebuilds_total: defineCounter(
    "times that its files were set aside and built anew",
    "above 0: look at `store/broken-<n>`",
  ),
  store_restoring_files: defineGauge(
    "decision segments and kept files that a rebuilt store still lacks",
    "falls to 0",
  ),
  decisions_recorded_total: defineCounter("legs put into the decision log"),
  decisions_dropped_total: defineCounter(
    "legs that are not in the log: over its budget, or its ring filled; others carry their weight",
    "a high share: raise `TRUSTRANK_DECISIONS_MB_PER_DAY`",
  ),
  decisions_sample_one_in: defineGauge(
    "one in so many decisions is logged, of those that are sampled first; 1: all of them",
    "above 1 for long: raise `TRUSTRANK_DECISIONS_MB_PER_DAY`",
  ),
  limits_exceeded_total: defineCounter(
    "calls of agents beyond a limit of the policy, by limit and whether it is logged or enforced",
    "rises suddenly: look at `NEW_ACTIONS` and `EXPOSURE_ABOVE_CAP` in the decision log",
    "limit",
    "mode",
  ),
  decisions_counted_total: defineCounter(
    "denials counted in the row of an identical one",
    "rises: one key asks the same in a loop",
  ),
  decision_log_waiting_bytes: defineGauge(
    "bytes of logged decisions that are not rows yet; at 1 GiB no more are taken",
    "grows for minutes: more is denied than the store can write",
  ),
  decision_records_damaged_total: defineCounter(
    "decision records and blocks that could not be read",
    "above 0: the disk",
  ),
  decision_segments: defineGauge("compressed decision segments, as of the last daily look"),
  decision_segment_bytes: defineGauge("their size", "the disk"),
  evidence_unindexed: defineGauge(
    "registered texts that have no index yet",
    "falls to 0 after a start",
  ),
  vault_sources: defineGauge("sources in the vault, revoked ones included", "near its bound"),
  vault_sources_max: defineGauge("sources that fit"),
  vault_sources_revoked: defineGauge("revoked sources that give way to new ones"),
  vault_tenant_sources_highest: defineGauge(
    "sources of the tenant with the most",
    "towards `TRUSTRANK_SOURCES_PER_TENANT`",
  ),
  vault_sources_refused_total: defineCounter("registrations refused for want of room (507)"),
  nonces_outstanding: defineGauge("nonces for key proofs that may still be used"),
  nonces_lapsed_total: defineCounter(
    "nonces that lapsed for want of room",
    "above 0: somebody asks for very many",
  ),
} as const;
