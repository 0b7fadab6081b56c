// Metrics of the HTTP layer and of what it answers. Names without their prefix.
import { defineCounter, defineDurationHistogram, defineGauge } from "./metric.ts";

export const HTTP_METRICS = {
  build_info: defineGauge(
    "always 1; the version of the service and of Node",
    "",
    "version",
    "node",
  ),
  http_requests_total: defineCounter(
    "answers by route and status; `unmatched` is any other path",
    "rate of 5xx; 401 and 403",
    "route",
    "status",
  ),
  http_request_duration_seconds: defineDurationHistogram(
    "seconds from a whole request to its answer, by route and class of status; what is refused before its body was read is not in it",
    "the 99th percentile of `verify` and `check`",
    "route",
    "status_class",
  ),
  http_thread_requests_total: defineCounter(
    "answers by HTTP thread",
    "one thread far above the others: open more connections",
    "thread",
  ),
  http_thread_busy_seconds_total: defineCounter(
    "seconds in which an HTTP thread's event loop was not idle",
    "a rate near 1: the thread is full",
    "thread",
  ),
  http_faults_total: defineCounter(
    "requests answered with a problem, by its code, those of items of a batch not among them",
    "rate of `internal`, `overloaded`, `journal_unavailable`",
    "code",
  ),
  http_aborted_total: defineCounter(
    "connections that ended before their answer",
    "clients whose time limit is too short",
  ),
  http_framing_refused_total: defineCounter(
    "requests refused for doubtful framing",
    "any steady rate: a proxy or an attack",
  ),
  http_inflight: defineGauge(
    "asynchronous answers under way",
    "towards 10,000 new ones are refused",
  ),
  http_connections: defineGauge(
    "open connections over all threads",
    "near the bound: strangers, or a low descriptor limit",
  ),
  http_connections_max: defineGauge("their bound"),
  http_connections_refused_total: defineCounter(
    "new connections closed at the bound",
    "rises: raise the limit, or look for who holds them",
  ),
  http_connections_closed_idle_total: defineCounter(
    "connections closed while idle to make room for new ones (node:http)",
    "the same",
  ),
  access_refused_total: defineCounter(
    "refused authorisations by reason; `other` are those of too many sources to tell apart",
    "a jump: a leaked or wrong key, or somebody who tries keys",
    "reason",
  ),
  verdicts_total: defineCounter(
    "verdicts of verify, its batch, gateways and AuthZEN, by tool level and by the kind of reason that decided",
    "a sudden change of the mix",
    "level",
    "verdict",
    "reason",
  ),
  check_decisions_total: defineCounter("decisions of check", "the same", "decision"),
  handshake_decisions_total: defineCounter(
    "combined decisions of handshakes",
    "the same",
    "decision",
  ),
  outcomes_repeated_total: defineCounter(
    "reports of an outcome that was recorded before, answered with its first receipt",
  ),
  outcomes_refused_total: defineCounter(
    "reports of outcomes answered with a problem, by its code, each item of a batch by itself",
    "`table_full`, `journal_unavailable`, `overloaded`: the service; `newcomers_limited`, `signature_...`: the caller",
    "code",
  ),
} as const;
