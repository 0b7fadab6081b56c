/* Whose record depends on one reporter? Agents by the share of their outcomes that the busiest of their
   reporters has reported.
   Run: npm run -s trustrank -- query "$(cat examples/analyst/one-reporter.sql)" */
WITH counted AS (
  SELECT subject, reporter, count(*) AS n FROM outcomes WHERE agent_fault GROUP BY ALL)
SELECT subject, sum(n)::BIGINT AS outcomes, count(*) AS reporters, arg_max(reporter, n) AS busiest,
  round(max(n) / sum(n), 3) AS busiest_share
FROM counted GROUP BY subject ORDER BY busiest_share DESC, outcomes DESC, subject LIMIT 10;
