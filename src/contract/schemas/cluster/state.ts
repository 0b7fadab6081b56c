// Messages about a cluster: its log and what each node has told of itself.
import * as t from "../schema.ts";

/** One node, as its last report has it. */
export const ClusterNode = t.message("ClusterNode", {
  node: t.text,
  generation: t.said(t.integer, "Of the log that it follows."),
  place: t.said(t.integer, "Last message of the log that it had applied."),
  lag_messages: t.said(t.integer, "Messages that the log has beyond it."),
  position: t.said(t.integer, "Last record of its journal."),
  chain: t.said(t.text, "Hash of its journal up to there; equal on all nodes at the same place."),
  engine: t.said(
    t.textOrNull,
    "Name of what makes its agent table (engine, base weights, key): tables are compared among nodes of one; null before its first thousandth message.",
  ),
  release: t.text,
  url: t.said(t.textOrNull, "Where other nodes reach it (`TRUSTRANK_CLUSTER_URL`)."),
  role: t.said(
    t.text,
    "`analytics`: it keeps the decisions of all nodes, for queries; `serve`: its own alone.",
  ),
  leads: t.said(t.texts, "Jobs of the whole cluster that it does: `kaizen`, `credibility`."),
  reported_at: t.time,
  age_seconds: t.said(t.number, "Age of its report; they come every 5 seconds."),
});
export type ClusterNode = t.MessageOf<typeof ClusterNode>;

/** `GET /v1/cluster`. */
export const ClusterState = t.message("ClusterState", {
  at: t.said(t.time, "When the log was asked."),
  name: t.said(t.text, "Prefix of the log's stream."),
  generation: t.said(t.integer, "How often the log was begun anew; from 1."),
  leader: t.said(t.textOrNull, "Server that leads the log; null while there is none."),
  replicas: t.said(
    t.list(
      t.object({
        server: t.text,
        is_current: t.said(t.flag, "Whether it has all that the leader has."),
        is_offline: t.flag,
        lag: t.said(t.integer, "Operations that it is behind the leader."),
      }),
    ),
    "The log's other servers, as the leader has them.",
  ),
  first_message: t.said(t.integer, "That the log still keeps."),
  last_message: t.integer,
  log_bytes: t.said(t.integer, "Size of the log on each server."),
  log_bytes_max: t.said(t.integer, "Its bound: full, nothing more is recorded; 0 without one."),
  is_sound: t.said(t.flag, "Whether there are no problems."),
  problems: t.said(t.texts, "What needs an operator."),
  chains: t.object({
    agree: t.flag,
    compared: t.said(t.integer, "Places of the log at which two nodes or more were compared."),
    newest: t.said(t.integerOrNull, "The newest of these places."),
    diverged_at: t.said(t.integerOrNull, "The newest place at which journals differ."),
  }),
  tables: t.object({
    agree: t.flag,
    compared: t.said(
      t.integer,
      "Places of the log at which the agent tables of two nodes or more were compared: their counts, and a part of their rows by turns.",
    ),
    newest: t.said(t.integerOrNull, "The newest of these places."),
    differ_at: t.said(t.integerOrNull, "The newest place at which tables differ."),
  }),
  nodes: t.list(ClusterNode),
});
export type ClusterState = t.MessageOf<typeof ClusterState>;
