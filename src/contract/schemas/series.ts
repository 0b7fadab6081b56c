// Messages about the service by the second and as a whole: what it did in the last minutes, and the state
// of each of its parts in one document.
import { DECISIONS, REASON_CLASSES, VERDICTS } from "../vocabulary.ts";
import * as t from "./schema.ts";

const integers = t.defineList(t.integer);
const quantiles = t.defineList(t.numberOrNull);

/** `GET /v1/service/series`: columns of equal length, oldest second first. */
export const ServiceSeries = t.defineMessage("ServiceSeries", {
  points_max: t.withDescription(t.integer, "Seconds that are kept."),
  at: t.withDescription(
    t.defineList(t.time),
    "When each second ended; `since` of the next question.",
  ),
  span_ms: t.withDescription(integers, "Time that each point stands for; about 1000."),
  let_through: t.withDescription(
    integers,
    "Verdicts `ALLOW`, and checks and handshakes that open a connection.",
  ),
  denied: t.withDescription(
    integers,
    "All other verdicts and decisions, those in shadow mode too.",
  ),
  verdicts: t.defineObject(t.repeatSchema(integers, ...VERDICTS)),
  decisions: t.withDescription(
    t.defineObject(t.repeatSchema(integers, ...DECISIONS)),
    "Of checks and handshakes; verifies are under `verdicts`.",
  ),
  denials_by_reason: t.withDescription(
    t.defineObject(t.repeatSchema(integers, ...REASON_CLASSES)),
    "Verdicts other than `ALLOW`, by class of reason.",
  ),
  outcomes: t.withDescription(integers, "Made durable."),
  outcomes_refused: integers,
  problems: t.withDescription(integers, "Requests answered with a problem."),
  store_lag_records: t.withDescription(
    integers,
    "Records that SQL did not show yet, at that moment.",
  ),
  p50_ms: t.withDescription(
    quantiles,
    "Of verify, check, handshake and gateways; null: nothing was asked.",
  ),
  p99_ms: quantiles,
  /** Over all points of this answer. */
  whole: t.defineObject({
    p50_ms: t.numberOrNull,
    p99_ms: t.numberOrNull,
    latency_bounds_ms: t.withDescription(
      t.defineList(t.number),
      "Upper bounds of buckets, inclusive.",
    ),
    latency_counts: t.withDescription(
      integers,
      "By bucket, not added up; the last is above all bounds.",
    ),
  }),
});
export type ServiceSeries = t.MessageOf<typeof ServiceSeries>;

/** A node's place along its cluster's ordered log. */
export const streamState = t.defineObject({
  node: t.text,
  generation: t.withDescription(
    t.integer,
    "Generation of the log; rises when the log is rebuilt from a journal.",
  ),
  position: t.withDescription(t.integer, "Last message that this node has applied."),
  lag_messages: t.withDescription(t.integer, "Newer messages that it knows of."),
  lag_ms: t.withDescription(
    t.numberOrNull,
    "Age of what it answers from, an upper bound; null: not known.",
  ),
  connected: t.withDescription(t.flag, "Whether it has a connection to a server of the log."),
  leader_known: t.withDescription(
    t.flag,
    "Whether a majority of the servers acknowledged something of it a moment ago.",
  ),
  away_since: t.withDescription(
    t.timeOrNull,
    "Since when records are refused at once; null while it takes them.",
  ),
});
export type StreamState = t.MessageOf<typeof streamState>;

/** `GET /v1/service/status`: each part of the service, as it is now. */
export const ServiceStatus = t.defineMessage("ServiceStatus", {
  at: t.time,
  version: t.text,
  runtime: t.withDescription(t.text, "Version of Node."),
  config_version: t.withDescription(t.text, "Of the live weights."),
  ready: t.flag,
  reasons: t.withDescription(t.texts, "Why it is not ready."),
  warnings: t.withDescription(t.texts, "What needs an operator."),
  http: t.defineObject({
    threads: t.integer,
    connections_max: t.withDescription(t.integer, "Over all threads."),
    queue_ms_max: t.withDescription(
      t.number,
      "Wait above which requests are rejected with 503; 0: load shedding is off.",
    ),
    console: t.withDescription(t.text, "Where the console is served: off, loopback or on."),
  }),
  journal: t.defineObject({
    position: t.integer,
    pending: t.withDescription(t.integer, "Outcomes on their way to the disk."),
    sync_p50_ms: t.numberOrNull,
    sync_p99_ms: t.withDescription(t.numberOrNull, "Since the start; null before the first sync."),
    damages: t.texts,
    verified_at: t.withDescription(t.timeOrNull, "When all sealed segments were last verified."),
    snapshot_at: t.withDescription(t.timeOrNull, "When the agent table was last written out."),
  }),
  disk: t.defineObject({
    is_low: t.flag,
    free_bytes: t.withDescription(t.numberOrNull, "null until it has been looked at."),
    ballast_bytes: t.withDescription(t.number, "Given back when the disk is full."),
  }),
  store: t.defineObject({
    position: t.integer,
    lag_records: t.integer,
    behind_seconds: t.number,
    is_rebuilding: t.flag,
    rebuilds: t.integer,
    reopenings: t.integer,
    failure: t.withDescription(t.textOrNull, "Why it does not follow the journal."),
  }),
  decisions: t.defineObject({
    segments: t.integer,
    bytes: t.number,
    waiting_bytes: t.withDescription(t.number, "Not yet in a segment."),
    damaged_records: t.integer,
    sample_one_in: t.withDescription(
      t.integer,
      "One in so many decisions is logged now, of those that are sampled first; 1: all of them.",
    ),
  }),
  table: t.defineObject({
    agents: t.integer,
    bytes: t.number,
    bytes_max: t.number,
    share: t.share,
  }),
  reviews: t.defineObject({ undecided: t.integer, oldest_seconds: t.number }),
  archive: t.defineObject({
    is_set: t.flag,
    age_seconds: t.numberOrNull,
    interval_seconds: t.numberOrNull,
    lag_records: t.integerOrNull,
    failures: t.integer,
    failure: t.withDescription(t.textOrNull, "Why the last shipment failed."),
  }),
  webhooks: t.withDescription(
    t.defineObject({
      endpoints: t.integer,
      failing: t.withDescription(t.integer, "Failing or stopped."),
      waiting: t.integer,
      dead: t.integer,
      oldest_seconds: t.number,
    }),
    "All 0 before the first endpoint.",
  ),
  stream: t.makeOptional(t.withDescription(streamState, "In a cluster.")),
});
export type ServiceStatus = t.MessageOf<typeof ServiceStatus>;
