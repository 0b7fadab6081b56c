// Metrics of a cluster node; absent without a cluster. Names without prefix.
import { defineCounter, defineDurationHistogram, defineGauge } from "./metric.ts";

export const STREAM_METRICS = {
  stream_connected: defineGauge(
    "1 while this node has a connection to a server of the cluster's ordered log; absent without a cluster, as are all of these",
    "0: nothing is recorded here, and what this node answers gets older",
  ),
  stream_leader_known: defineGauge(
    "1 while a majority of the log's servers acknowledged a message or tick begun less than 4 s ago",
    "0 for longer than an election (10 s): most servers are down or cut off",
  ),
  stream_away: defineGauge(
    "1 while the log is known to take nothing: what would be recorded is refused at once with 503",
    "1 for longer than an election",
  ),
  stream_position: defineGauge(
    "last message of the log that this node has applied",
    "differs between nodes for longer than seconds: `stream_lag_seconds` says which one is late",
  ),
  stream_lag_messages: defineGauge("newer messages of the log that this node knows of", "grows"),
  stream_lag_seconds: defineGauge(
    "age of the newest moment whose log is known to be applied here: an upper bound of how old answers are; absent before the first",
    "above 5: a warning in `/readyz`; above 10 keys are refused, above 30 no traffic should come",
  ),
  stream_log_bytes: defineGauge(
    "bytes of the cluster's log, as its servers last told",
    "above 80 % of `stream_log_bytes_max`: full, nothing more is recorded",
  ),
  stream_log_bytes_max: defineGauge("bound of the log in bytes; 0 without one", ""),
  stream_tables_differ: defineGauge(
    "1 while agent tables of nodes with the same engine differ at a place of the log at which both told their hash",
    "1: `trustrank cluster status` says where and which",
  ),
  stream_applied_messages_total: defineCounter(
    "messages of the log that this node has applied, its own and ticks among them",
    "stands still while another node's rises",
  ),
  stream_decision_bytes_shipped_total: defineCounter(
    "bytes of this node's decisions that it has sent to nodes of role `analytics`",
    "stands still while `decisions_recorded_total` rises and such a node is there",
  ),
  stream_decision_bytes_collected_total: defineCounter(
    "bytes of other nodes' decisions that this node of role `analytics` has copied",
    "",
  ),
  stream_decision_parts_behind: defineGauge(
    "parts of other nodes' decisions that the stream has and this node does not",
    "grows: after seven days, or a full stream, the oldest are dropped unread",
  ),
  stream_publish_duration_seconds: defineDurationHistogram(
    "seconds from offering a message to the log until most of its servers had synced it",
    "the 99th percentile above 100 ms: the servers' disks",
  ),
  stream_publish_failures_total: defineCounter(
    "messages that found no place in the log in time; what they held was refused with 503",
    "rises: the log has no majority, or is full",
  ),
  stream_ignored_messages_total: defineCounter(
    "messages of the log that every node passes over: without a valid seal, or none of a node",
    "rises: somebody else has the credentials of the log's servers",
  ),
  stream_reconnects_total: defineCounter(
    "times that the connection to the log's servers was lost",
    "rises from hour to hour: a server that restarts, or the network",
  ),
  stream_readings_total: defineCounter(
    "times that this node began to read the log; the first is its start",
    "rises: its disk was full, or messages did not come in order",
  ),
} as const;
