/* What the denials kept out and what got through anyway: settled decisions of each level by verdict.
   A level without decisions shows 0. Of a sample each decision counts by its weight.
   Run: npm run -s trustrank -- query "$(cat examples/analyst/losses-by-verdict.sql)" */
WITH levels AS (SELECT unnest(['L0', 'L1', 'L2', 'L3']) AS tool_level)
SELECT tool_level, d.verdict, d.effective,
  coalesce(sum(each) FILTER (o.position IS NOT NULL), 0)::BIGINT AS settled,
  coalesce(sum(o.stakes * each), 0) AS stakes,
  coalesce(sum(o.stakes * each) FILTER (o.outcome = 0), 0) AS lost
FROM levels LEFT JOIN (
  SELECT *, coalesce(weight / stands_for, 1) AS each FROM decisions) AS d USING (tool_level)
LEFT JOIN outcomes AS o ON o.request_id = d.request_id
GROUP BY ALL ORDER BY lost DESC, tool_level;
