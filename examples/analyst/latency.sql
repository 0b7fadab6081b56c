/* How long answers took lately, by route: verdicts and decisions of the last hour of the data, the slowest
   minute of each. An administrator's key; a minute is there once it is over.
   Run: npm run -s trustrank -- query "$(cat examples/analyst/latency.sql)" */
WITH routes AS (SELECT unnest(['verify', 'check', 'handshake', 'gateway_authorize', 'report_outcome']) AS route),
newest AS (FROM latency WHERE status_class = '2xx'
  AND minute > (SELECT max(minute) FROM latency) - INTERVAL 1 HOUR)
SELECT route, coalesce(sum(requests), 0)::BIGINT AS requests,
  round(sum(mean_ms * requests) / sum(requests), 3) AS mean_ms,
  max(p50_ms) AS worst_p50_ms, max(p99_ms) AS worst_p99_ms, max(p999_ms) AS worst_p999_ms,
  arg_max(minute, p99_ms) AS worst_minute
FROM routes LEFT JOIN newest USING (route)
GROUP BY route ORDER BY requests DESC, route;
