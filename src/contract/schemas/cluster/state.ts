// Messages about a cluster: its log and what each node has told of itself.
import * as t from "../schema.ts";

/** One node, as its last report has it. */
export const ClusterNode = t.defineMessage("ClusterNode", {
  node: t.text,
  generation: t.withDescription(t.integer, "Of the log that it follows."),
  place: t.withDescription(t.integer, "Last message of the log that it had applied."),
  lag_messages: t.withDescription(t.integer, "Messages that the log has beyond it."),
  position: t.withDescription(t.integer, "Last record of its journal."),
  chain: t.withDescription(
    t.text,
    "Hash of its journal up to there; equal on all nodes at the same place.",
  ),
  engine: t.withDescription(
    t.textOrNull,
    "Name of what makes its agent table (engine, base weights, key): tables are compared among nodes of one; null before its first thousandth message.",
  ),
  release: t.text,
  url: t.withDescription(t.textOrNull, "Where other nodes reach it (`TRUSTRANK_CLUSTER_URL`)."),
  role: t.withDescription(
    t.text,
    "`analytics`: it keeps the decisions of all nodes, for queries; `serve`: its own alone.",
  ),
  leads: t.withDescription(
    t.texts,
    "Jobs of the whole cluster that it does: `kaizen`, `credibility`.",
  ),
  reported_at: t.time,
  age_seconds: t.withDescription(t.number, "Age of its report; they come every 5 seconds."),
});
export type ClusterNode = t.MessageOf<typeof ClusterNode>;

/** `GET /v1/cluster`. */
export const ClusterState = t.defineMessage("ClusterState", {
  at: t.withDescription(t.time, "When the log was asked."),
  name: t.withDescription(t.text, "Prefix of the log's stream."),
  generation: t.withDescription(
    t.integer,
    "Generation of the log, from 1; rises when the log is rebuilt.",
  ),
  leader: t.withDescription(t.textOrNull, "Server that leads the log; null while there is none."),
  replicas: t.withDescription(
    t.defineList(
      t.defineObject({
        server: t.text,
        is_current: t.withDescription(t.flag, "Whether it has all that the leader has."),
        is_offline: t.flag,
        lag: t.withDescription(t.integer, "Operations that it is behind the leader."),
      }),
    ),
    "The log's other servers, as the leader has them.",
  ),
  first_message: t.withDescription(t.integer, "That the log still keeps."),
  last_message: t.integer,
  log_bytes: t.withDescription(t.integer, "Size of the log on each server."),
  log_bytes_max: t.withDescription(
    t.integer,
    "Its bound: full, nothing more is recorded; 0 without one.",
  ),
  is_sound: t.withDescription(t.flag, "Whether there are no problems."),
  problems: t.withDescription(t.texts, "What needs an operator."),
  chains: t.defineObject({
    agree: t.flag,
    compared: t.withDescription(
      t.integer,
      "Places of the log at which two nodes or more were compared.",
    ),
    newest: t.withDescription(t.integerOrNull, "The newest of these places."),
    diverged_at: t.withDescription(t.integerOrNull, "The newest place at which journals differ."),
  }),
  tables: t.defineObject({
    agree: t.flag,
    compared: t.withDescription(
      t.integer,
      "Places of the log at which the agent tables of two nodes or more were compared: their counts, and a part of their rows by turns.",
    ),
    newest: t.withDescription(t.integerOrNull, "The newest of these places."),
    differ_at: t.withDescription(t.integerOrNull, "The newest place at which tables differ."),
  }),
  nodes: t.defineList(ClusterNode),
});
export type ClusterState = t.MessageOf<typeof ClusterState>;
