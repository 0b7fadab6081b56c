/* How everybody stands: the agents of each tier and the worst of them, with a bar for its risk. `as_of`
   says when the scores were read.
   Run: npm run -s trustrank -- query "$(cat examples/analyst/current-scores.sql)" */
SELECT tier, count(*) AS agents, arg_min(agent, internal_score) AS worst,
  round(max(failure_probability), 3) AS risk, bar(max(failure_probability), 0, 1, 20) AS of_all,
  sum(outcomes)::BIGINT AS outcomes, max(as_of) AS as_of
FROM agents GROUP BY tier ORDER BY risk DESC;
