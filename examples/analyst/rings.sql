/* Which closed groups praise one another and fail outsiders? Their members, and how they fare
   inside and outside. Found every hour, with or without seeds.
   Run: npm run -s trustrank -- query "$(cat examples/analyst/rings.sql)" */
SELECT ring, agent, members, round(closed_share, 2) AS closed_share, inside_outcomes,
  round(inside_failure_rate, 3) AS failed_inside, outside_outcomes,
  round(outside_failure_rate, 3) AS failed_outside
FROM rings ORDER BY ring, outside_failure_rate DESC NULLS LAST LIMIT 100;
