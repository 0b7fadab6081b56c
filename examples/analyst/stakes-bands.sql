/* Do agents fail more often where more is at stake?
   Run: npm run -s trustrank -- query "$(cat examples/analyst/stakes-bands.sql)" */
WITH bands AS (
  SELECT unnest([0, 10, 100, 1000, 10000]) AS at_least,
    unnest([10, 100, 1000, 10000, 1e18]) AS below)
SELECT at_least, count(o.position) AS outcomes, count(DISTINCT o.subject) AS agents,
  round(avg(1 - o.outcome), 4) AS failure_rate, round(sum(o.stakes), 2) AS stakes
FROM bands LEFT JOIN outcomes AS o
  ON o.stakes >= at_least AND o.stakes < below AND o.agent_fault
GROUP BY at_least ORDER BY at_least;
