/* Whose score fell: the newest daily score against the first of the last 30 days. On the first day
   there is one score each, and nothing has changed.
   Run: npm run -s trustrank -- query "$(cat examples/analyst/score-trend.sql)" */
SELECT agent, arg_min(score, day) AS before, arg_max(score, day) AS now,
  arg_max(score, day) - arg_min(score, day) AS change, count(*) AS days
FROM scores_daily WHERE day >= (SELECT max(day) FROM scores_daily) - INTERVAL 30 DAYS
GROUP BY agent ORDER BY change LIMIT 10;
