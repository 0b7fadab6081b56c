/* Do reporters agree? How often each says otherwise than the others do of the same agents: 0 is full
   agreement, null where nobody else reports. Ten reports count for agreement beforehand, so that a
   careless or hostile reporter leads the list and not one with a single report. One pass: the others
   are everybody less the reporter's own.
   Run: npm run -s trustrank -- query "$(cat examples/analyst/reporter-agreement.sql)" */
WITH said AS (
  SELECT subject, reporter, avg(outcome) AS own, count(*) AS n FROM outcomes
  WHERE agent_fault GROUP BY ALL),
compared AS (
  SELECT reporter, own, n, sum(own * n) OVER everybody AS good, sum(n) OVER everybody AS total
  FROM said WINDOW everybody AS (PARTITION BY subject)),
distances AS (
  SELECT reporter, n, if(total > n, abs(own - (good - own * n) / (total - n)), NULL) AS distance
  FROM compared)
SELECT reporter, sum(n)::BIGINT AS outcomes, count(*) AS agents,
  round(sum(distance * n) / sum(n) FILTER (distance IS NOT NULL), 3) AS disagreement
FROM distances GROUP BY reporter
ORDER BY sum(distance * n) / (sum(n) FILTER (distance IS NOT NULL) + 10) DESC NULLS LAST LIMIT 10;
