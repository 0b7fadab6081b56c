/* What failures cost: stakes of the failed outcomes by agent, in all and in the last 30 days of the
   data.
   Run: npm run -s trustrank -- query "$(cat examples/analyst/money-lost.sql)" */
WITH newest AS (SELECT max(settled_at) AS last_at FROM outcomes)
SELECT subject, round(sum(stakes), 2) AS lost, count(*) AS failures, max(stakes) AS largest,
  round(coalesce(sum(stakes) FILTER (settled_at >= last_at - INTERVAL 30 DAYS), 0), 2) AS lost_30d
FROM outcomes, newest WHERE outcome = 0 AND agent_fault
GROUP BY subject ORDER BY lost DESC LIMIT 10;
