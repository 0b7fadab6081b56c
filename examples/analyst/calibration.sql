/* Were the probabilities right? Decisions and how they came out, by what was foretold: `expected` and
   `observed` should be close in every row that has many outcomes. An outcome counts here when it names
   the `request_id` of its decision.
   Run: npm run -s trustrank -- query "$(cat examples/analyst/calibration.sql)" */
WITH bins AS (
  SELECT unnest([0, .01, .02, .05, .1, .2, .4]) AS at_least,
    unnest([.01, .02, .05, .1, .2, .4, 1.01]) AS below),
settled AS (
  SELECT d.failure_probability AS p, 1 - o.outcome AS failed, d.weight / d.stands_for AS w
  FROM decisions AS d JOIN outcomes AS o USING (request_id)
  WHERE d.leg = 'a_to_b' AND o.agent_fault)
SELECT at_least, count(p) AS outcomes, round(weighted_avg(p, coalesce(w, 1)), 4) AS expected,
  round(weighted_avg(failed, coalesce(w, 1)), 4) AS observed
FROM bins LEFT JOIN settled ON p >= at_least AND p < below
GROUP BY at_least ORDER BY at_least;
