/* Stakes of failed outcomes by agent, and the largest single one.
   Run: npm run -s trustrank -- query "$(cat examples/analyst/money-lost.sql)" */
SELECT subject, round(sum(stakes), 2) AS lost, count(*) AS failures, max(stakes) AS largest,
  round(sum(stakes) FILTER (settled_at >= now()::TIMESTAMP - INTERVAL 30 DAYS), 2) AS lost_30d
FROM outcomes WHERE outcome = 0 AND agent_fault
GROUP BY subject ORDER BY lost DESC LIMIT 10;
