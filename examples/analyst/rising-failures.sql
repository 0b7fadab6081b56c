/* Whose failures rose: the last two weeks of the data against all that was before. `excess` are the
   failures beyond those that the earlier rate foretold, so that one bad day of a newcomer does not
   lead the list.
   Run: npm run -s trustrank -- query "$(cat examples/analyst/rising-failures.sql)" */
WITH lately AS (SELECT max(settled_at) - INTERVAL 14 DAYS AS since FROM outcomes),
counted AS (
  SELECT subject,
    count(*) FILTER (settled_at >= since) AS outcomes,
    avg(1 - outcome) FILTER (settled_at >= since) AS lately,
    avg(1 - outcome) FILTER (settled_at < since) AS before
  FROM outcomes, lately WHERE agent_fault GROUP BY subject)
SELECT *, round(outcomes * (lately - coalesce(before, 0)), 1) AS excess
FROM counted WHERE outcomes > 0 ORDER BY excess DESC LIMIT 10;
