/* Was the probability right? Decisions joined to how it went, by tenths, safest first: `expected`
   and `observed` should be close. Needs outcomes that name the `request_id` of their decision.
   Run: npm run -s trustrank -- query "$(cat examples/analyst/calibration.sql)" */
WITH settled AS (
  SELECT d.failure_probability AS p, 1 - o.outcome AS failed,
    ntile(10) OVER (ORDER BY d.failure_probability) AS decile
  FROM decisions AS d JOIN outcomes AS o USING (request_id)
  WHERE d.leg = 'a_to_b' AND o.agent_fault)
SELECT decile, count(*) AS outcomes, round(avg(p), 4) AS expected,
  round(avg(failed), 4) AS observed
FROM settled GROUP BY decile ORDER BY decile;
