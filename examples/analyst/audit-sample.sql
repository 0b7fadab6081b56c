/* How right is it to hold back? Challenges by the probability of failure that was foretold, those that
   the policy's audit let through by lot, and how these came out: `expected` and `failed` should be close.
   Where `failed` stays well below, agents are held back without need.
   Run: npm run -s trustrank -- query "$(cat examples/analyst/audit-sample.sql)" */
WITH bins AS (
  SELECT unnest([0, .05, .1, .2, .4]) AS at_least, unnest([.05, .1, .2, .4, 1.01]) AS below),
held AS (
  SELECT failure_probability AS p, weight, NULL AS failed, false AS is_drawn
  FROM decisions WHERE verdict = 'CHALLENGE'
  UNION ALL
  SELECT d.failure_probability, d.weight, 1 - o.outcome, true
  FROM decisions AS d LEFT JOIN outcomes AS o ON o.request_id = d.request_id AND o.agent_fault
  WHERE d.log_reason = 'AUDIT_SAMPLE')
SELECT at_least, coalesce(sum(weight) FILTER (NOT is_drawn), 0)::BIGINT AS held_back,
  coalesce(sum(weight) FILTER (is_drawn), 0)::BIGINT AS let_through, count(failed) AS settled,
  round(sum(p * weight) FILTER (failed IS NOT NULL) / sum(weight) FILTER (failed IS NOT NULL), 3)
    AS expected,
  round(weighted_avg(failed, weight), 3) AS failed
FROM bins LEFT JOIN held ON p >= at_least AND p < below
GROUP BY at_least ORDER BY at_least;
