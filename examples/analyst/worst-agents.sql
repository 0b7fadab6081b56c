/* The agents that fail most, by the failure rate that their record supports: the lower end of the
   95 % interval (Wilson), so that one failure of one outcome does not lead the list.
   Run: npm run -s trustrank -- query "$(cat examples/analyst/worst-agents.sql)" */
WITH counted AS (
  SELECT subject, count(*) AS n, avg(1 - outcome) AS rate, count(DISTINCT reporter) AS reporters
  FROM outcomes WHERE agent_fault GROUP BY subject)
SELECT subject, n AS outcomes, reporters, round(rate, 3) AS failure_rate,
  round((rate + 1.92 / n - 1.96 * sqrt(rate * (1 - rate) / n + 0.96 / n ** 2)) / (1 + 3.84 / n), 3)
    AS at_least
FROM counted ORDER BY at_least DESC LIMIT 10;
