/* Which reporters see fewer failures than others do of the same agents? `excess` is how many outcomes
   that is: the others' failure rate less their own, times their outcomes.
   Run: npm run -s trustrank -- query "$(cat examples/analyst/lenient-reporters.sql)" */
WITH said AS (
  SELECT subject, reporter, count(*) AS n, sum(outcome) AS good FROM outcomes
  WHERE agent_fault GROUP BY ALL),
compared AS (
  SELECT reporter, n, n - good AS own,
    n * (1 - (sum(good) OVER everybody - good) / nullif(sum(n) OVER everybody - n, 0)) AS expected
  FROM said WINDOW everybody AS (PARTITION BY subject)),
summed AS (
  SELECT reporter, sum(n)::BIGINT AS outcomes, count(*) AS agents,
    round(sum(own) / sum(n), 3) AS failure_rate,
    round(sum(expected) / sum(n) FILTER (expected IS NOT NULL), 3) AS failure_rate_of_others,
    round(sum(expected) - sum(own) FILTER (expected IS NOT NULL), 1) AS excess
  FROM compared GROUP BY reporter)
SELECT * FROM summed ORDER BY excess DESC NULLS LAST, reporter LIMIT 10;
