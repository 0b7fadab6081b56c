/* What the denials kept out and what got through anyway, by verdict and level. Needs outcomes that
   name the `request_id` of their decision.
   Run: npm run -s trustrank -- query "$(cat examples/analyst/losses-by-verdict.sql)" */
SELECT d.tool_level, d.verdict, d.effective, count(*) AS settled, sum(o.stakes) AS stakes,
  coalesce(sum(o.stakes) FILTER (o.outcome = 0), 0) AS lost
FROM decisions AS d JOIN outcomes AS o USING (request_id)
WHERE d.kind = 'verify' GROUP BY ALL ORDER BY lost DESC;
