/* Agents whose failures rose most: the last two weeks against the months before. An average over
   the whole history hides these.
   Run: npm run -s trustrank -- query "$(cat examples/analyst/rising-failures.sql)" */
SELECT subject,
  avg(1 - outcome) FILTER (settled_at >= now()::TIMESTAMP - INTERVAL 14 DAYS) AS lately,
  avg(1 - outcome) FILTER (settled_at < now()::TIMESTAMP - INTERVAL 14 DAYS) AS before
FROM outcomes WHERE agent_fault
GROUP BY subject
HAVING count(*) FILTER (settled_at >= now()::TIMESTAMP - INTERVAL 14 DAYS) >= 5
ORDER BY lately - before DESC NULLS LAST
LIMIT 10;
