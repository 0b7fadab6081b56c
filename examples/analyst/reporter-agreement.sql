/* Do reporters agree? How often each says otherwise than the others do of the same agents: 0 is
   full agreement. A careless or hostile reporter leads the list.
   Run: npm run -s trustrank -- query "$(cat examples/analyst/reporter-agreement.sql)" */
WITH said AS (
  SELECT subject, reporter, avg(outcome) AS own, count(*) AS n FROM outcomes
  WHERE agent_fault GROUP BY ALL),
compared AS (
  SELECT a.reporter, a.n, abs(a.own - sum(b.own * b.n) / sum(b.n)) AS distance
  FROM said AS a JOIN said AS b ON a.subject = b.subject AND a.reporter <> b.reporter
  GROUP BY a.reporter, a.subject, a.n, a.own)
SELECT reporter, sum(n) AS outcomes, count(*) AS agents,
  round(sum(distance * n) / sum(n), 3) AS disagreement
FROM compared GROUP BY reporter HAVING sum(n) >= 10 ORDER BY disagreement DESC LIMIT 10;
