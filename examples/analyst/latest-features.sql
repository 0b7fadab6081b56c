/* What decisions of each tier were judged from: the averages of their features over the last week. A
   tier without decisions shows 0.
   Run: npm run -s trustrank -- query "$(cat examples/analyst/latest-features.sql)" */
WITH tiers AS (SELECT unnest(['A', 'B', 'C', 'D', 'REVIEW']) AS tier)
SELECT tier, count(d.request_id) AS decisions, round(avg(internal_score)) AS internal_score,
  round(avg(mean), 3) AS mean, round(avg(mean_variance), 3) AS mean_variance,
  round(avg(x_momentum), 3) AS momentum, round(avg(x_recent_failure), 3) AS recent_failure,
  round(avg(x_stakes_novelty), 3) AS stakes_novelty, max(evaluated_at) AS latest
FROM tiers LEFT JOIN (
  FROM decisions WHERE evaluated_local >= now() - INTERVAL 7 DAYS) AS d USING (tier)
GROUP BY tier ORDER BY tier;
