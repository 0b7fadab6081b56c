/* One agent's trend: failures over seven days, and whether they rise. The agent with the most
   outcomes is shown; name another in the inner SELECT's place.
   Run: npm run -s trustrank -- query "$(cat examples/analyst/agent-trend.sql)" */
SELECT subject, day, outcomes, failures,
  sum(failures) OVER week / sum(outcomes) OVER week AS failure_rate_7d
FROM agents_daily
WHERE subject = (
  SELECT subject FROM agents_daily GROUP BY subject ORDER BY sum(outcomes) DESC LIMIT 1)
WINDOW week AS (PARTITION BY subject ORDER BY day RANGE BETWEEN INTERVAL 6 DAYS PRECEDING
  AND CURRENT ROW)
ORDER BY day DESC LIMIT 30;
