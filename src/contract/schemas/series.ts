// Messages about the service by the second and as a whole: what it did in the last minutes, and the state
// of each of its parts in one document.
import { DECISIONS, REASON_CLASSES, VERDICTS } from "../vocabulary.ts";
import * as t from "./schema.ts";

const integers = t.list(t.integer);
const quantiles = t.list(t.numberOrNull);

/** `GET /v1/service/series`: columns of equal length, oldest second first. */
export const ServiceSeries = t.message("ServiceSeries", {
  points_max: t.said(t.integer, "Seconds that are kept."),
  at: t.said(t.list(t.time), "When each second ended; `since` of the next question."),
  span_ms: t.said(integers, "Time that each point stands for; about 1000."),
  let_through: t.said(
    integers,
    "Verdicts `ALLOW`, and checks and handshakes that open a connection.",
  ),
  denied: t.said(integers, "All other verdicts and decisions, those in shadow mode too."),
  verdicts: t.object(t.all(integers, ...VERDICTS)),
  decisions: t.said(
    t.object(t.all(integers, ...DECISIONS)),
    "Of checks and handshakes; verifies are under `verdicts`.",
  ),
  denials_by_reason: t.said(
    t.object(t.all(integers, ...REASON_CLASSES)),
    "Verdicts other than `ALLOW`, by class of reason.",
  ),
  outcomes: t.said(integers, "Made durable."),
  outcomes_refused: integers,
  problems: t.said(integers, "Requests answered with a problem."),
  store_lag_records: t.said(integers, "Records that SQL did not show yet, at that moment."),
  p50_ms: t.said(quantiles, "Of verify, check, handshake and gateways; null: nothing was asked."),
  p99_ms: quantiles,
  /** Over all points of this answer. */
  whole: t.object({
    p50_ms: t.numberOrNull,
    p99_ms: t.numberOrNull,
    latency_bounds_ms: t.said(t.list(t.number), "Upper bounds of buckets, inclusive."),
    latency_counts: t.said(integers, "By bucket, not added up; the last is above all bounds."),
  }),
});
export type ServiceSeries = t.MessageOf<typeof ServiceSeries>;

/** A node's place along its cluster's ordered log. */
export const streamState = t.object({
  node: t.text,
  generation: t.said(t.integer, "Of the log; rises when it is begun anew from a journal."),
  position: t.said(t.integer, "Last message that this node has applied."),
  lag_messages: t.said(t.integer, "Newer messages that it knows of."),
  lag_ms: t.said(t.numberOrNull, "Age of what it answers from, an upper bound; null: not known."),
  connected: t.said(t.flag, "Whether it has a connection to a server of the log."),
  leader_known: t.said(t.flag, "Whether one of the servers was said to lead a moment ago."),
  away_since: t.said(
    t.timeOrNull,
    "Since when records are refused at once; null while it takes them.",
  ),
});
export type StreamState = t.MessageOf<typeof streamState>;

/** `GET /v1/service/status`: each part of the service, as it is now. */
export const ServiceStatus = t.message("ServiceStatus", {
  at: t.time,
  version: t.text,
  runtime: t.said(t.text, "Version of Node."),
  config_version: t.said(t.text, "Of the live weights."),
  ready: t.flag,
  reasons: t.said(t.texts, "Why it is not ready."),
  warnings: t.said(t.texts, "What needs an operator."),
  http: t.object({
    threads: t.integer,
    connections_max: t.said(t.integer, "Over all threads."),
    queue_ms_max: t.said(t.number, "Longer waits turn requests away; 0: nobody is."),
    console: t.said(t.text, "Where the console is served: off, loopback or on."),
  }),
  journal: t.object({
    position: t.integer,
    pending: t.said(t.integer, "Outcomes on their way to the disk."),
    sync_p50_ms: t.numberOrNull,
    sync_p99_ms: t.said(t.numberOrNull, "Since the start; null before the first sync."),
    damages: t.texts,
    verified_at: t.said(t.timeOrNull, "When all sealed segments were last verified."),
    snapshot_at: t.said(t.timeOrNull, "When the agent table was last written out."),
  }),
  disk: t.object({
    is_low: t.flag,
    free_bytes: t.said(t.numberOrNull, "null until it has been looked at."),
    ballast_bytes: t.said(t.number, "Given back when the disk is full."),
  }),
  store: t.object({
    position: t.integer,
    lag_records: t.integer,
    behind_seconds: t.number,
    is_rebuilding: t.flag,
    rebuilds: t.integer,
    reopenings: t.integer,
    failure: t.said(t.textOrNull, "Why it does not follow the journal."),
  }),
  decisions: t.object({
    segments: t.integer,
    bytes: t.number,
    waiting_bytes: t.said(t.number, "Not yet in a segment."),
    damaged_records: t.integer,
  }),
  table: t.object({
    agents: t.integer,
    bytes: t.number,
    bytes_max: t.number,
    share: t.share,
  }),
  reviews: t.object({ undecided: t.integer, oldest_seconds: t.number }),
  archive: t.object({
    is_set: t.flag,
    age_seconds: t.numberOrNull,
    interval_seconds: t.numberOrNull,
    lag_records: t.integerOrNull,
    failures: t.integer,
    failure: t.said(t.textOrNull, "Why the last shipment failed."),
  }),
  webhooks: t.said(
    t.object({
      endpoints: t.integer,
      failing: t.said(t.integer, "Failing or stopped."),
      waiting: t.integer,
      dead: t.integer,
      oldest_seconds: t.number,
    }),
    "All 0 before the first endpoint.",
  ),
  stream: t.optional(t.said(streamState, "In a cluster.")),
});
export type ServiceStatus = t.MessageOf<typeof ServiceStatus>;
