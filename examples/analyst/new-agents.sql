/* Which agents came last, and how do they do?
   Run: npm run -s trustrank -- query "$(cat examples/analyst/new-agents.sql)" */
SELECT subject, min(settled_at) AS first_at, count(*) AS outcomes,
  count(DISTINCT reporter) AS reporters, count(*) FILTER (outcome = 0) AS failures,
  max(stakes) AS largest_stakes
FROM outcomes WHERE agent_fault GROUP BY subject ORDER BY first_at DESC, subject LIMIT 10;
