// Metrics of configs and re-fits, thread pools, reviews, webhooks, queries, usage and the clock. Names without
// prefix.
import { defineCounter, defineGauge } from "./metric.ts";

export const SERVICE_METRICS = {
  config_info: defineGauge(
    "always 1; the label names the live config",
    "a change is a promotion or a rollback",
    "version",
  ),
  kaizen_last_run_timestamp_seconds: defineGauge(
    "time at which the newest finished re-fit ended; absent before the first",
    "older than a week and a day: the schedule does not run",
  ),
  kaizen_last_run_info: defineGauge(
    "always 1; the label says how the newest finished re-fit ended",
    "`failed`",
    "state",
  ),
  kaizen_champion_timestamp_seconds: defineGauge(
    "time since which the live weights are live; absent while those shipped are",
    "very old: nothing better was found, or nothing is learned",
  ),
  kaizen_log_loss: defineGauge(
    "log-loss of the live weights on the newest 1,000 settled outcomes, as of the newest re-fit or daily comparison; absent before the first",
    "rises from week to week",
    "side",
  ),
  kaizen_calibration_error: defineGauge(
    "their calibration error on the same outcomes",
    "above 0.03: probabilities do not mean what they say",
    "side",
  ),
  kaizen_watch_loss_increase: defineGauge(
    "log-loss an outcome that the newest promotion has added since, compared with the weights it replaced; absent before the first comparison",
    "above 0 for days",
    "side",
  ),
  change_followers: defineGauge(
    "open streams and long polls of the change feed, over all threads",
    "falls while gateways run: they judge by verdicts that live ten seconds at most",
  ),
  pool_tasks_waiting: defineGauge(
    "tasks that wait for a thread, by pool",
    "towards 256 new ones are refused (10,000 signatures)",
    "pool",
  ),
  reviews_undecided: defineGauge(
    "agents that are held back and that nobody has decided on",
    "rises: nobody works through the queue",
  ),
  reviews_oldest_seconds: defineGauge(
    "age of the oldest undecided review; 0 without one",
    "above a day: `trustrank reviews list` has it first",
  ),
  reviews_waiting: defineGauge(
    "readers that wait for a decision",
    "towards 2,000 new ones are refused",
  ),
  reviews_unopened_total: defineCounter(
    "calls held back whose review could not be opened: no room, or the journal took nothing",
    "rises: decide on what is open, or look at the journal",
  ),
  webhook_endpoints: defineGauge(
    "webhook endpoints by state: `failing` since their last success, `paused` by an operator, `stopped` by themselves; absent before the first, as are the next five",
    "`stopped`: it is told nothing until somebody enables it",
    "state",
  ),
  webhook_attempts_total: defineCounter(
    "attempts to tell an endpoint, by what came of them (`delivered`, `failed`)",
    "`failed` rises: `trustrank webhooks list` names the endpoint",
    "result",
  ),
  webhook_events_waiting: defineGauge("events read for endpoints and not delivered"),
  webhook_dead_letters: defineGauge(
    "events that were tried for a day in vain",
    "above 0: mend the receiver, then `trustrank webhooks dead ID --redeliver`",
  ),
  webhook_oldest_seconds: defineGauge(
    "age of the oldest event that waits for an enabled endpoint; 0 without one",
    "minutes: a receiver is down or too slow",
  ),
  queries_waiting: defineGauge(
    "callers' queries that run or wait",
    "towards 64 new ones are refused",
  ),
  query_process_running: defineGauge("1 while the process for callers' SQL is there"),
  query_process_restarts_total: defineCounter(
    "how often it was killed or ended by itself",
    "rises: somebody sends queries that have to be stopped by force",
  ),
  query_process_memory_bytes: defineGauge(
    "its resident memory; 0 while it is not there",
    "always below `TRUSTRANK_QUERY_MEMORY_MB`",
  ),
  usage_rows_journaled_total: defineCounter(
    "rows of usage that were journaled: one for each key that has read since the last record",
    "stands still while paid reads are answered",
  ),
  usage_journal_failures_total: defineCounter(
    "records of usage that could not be journaled; their sums wait in memory",
    "rises: what is read now is not billed if the process dies",
  ),
  quota_used_ratio: defineGauge(
    "share of its monthly quota that a tenant has used; absent for tenants without one",
    "above 0.8: its end is near; 1 or more: paid reads are refused with 429",
    "tenant",
  ),
  thread_heap_used_bytes: defineGauge(
    "JavaScript heap in use by thread, uncollected garbage included; threads of one pool or name together; read every 10 s, as are the next four",
    "its lows rise for hours while what the service holds does not",
    "thread",
  ),
  thread_heap_committed_bytes: defineGauge(
    "JavaScript heap that is committed, by thread",
    "",
    "thread",
  ),
  thread_external_bytes: defineGauge(
    "array buffers and other memory outside the heap that a thread's objects hold; memory that threads share counts in each",
    "rises for hours",
    "thread",
  ),
  wasm_memory_bytes: defineGauge(
    "WebAssembly memory that threads share: the agent table and the index of registered texts",
    "doubles with the agents",
    "memory",
  ),
  store_memory_bytes: defineGauge(
    "memory that DuckDB counts against `TRUSTRANK_STORE_MEMORY_MB`, by its own tag; `base_table` is its cache of rows, which fills to the limit",
    "tags other than `base_table` near the limit for minutes",
    "tag",
  ),
  resident_memory_bytes: defineGauge(
    "resident memory of the process by kind (Linux); `anonymous` holds heaps, allocators, WebAssembly and DuckDB",
    "near the limit of the container",
    "kind",
  ),
  clock_lead_seconds: defineGauge(
    "lead of the system's clock over the service's; 0 while it is followed",
    "not 0: set the clock right",
  ),
  clock_confirmed: defineGauge(
    "0 for an hour after a jump that was followed and after a stop of more than a day: nothing is deleted by age",
  ),
} as const;
