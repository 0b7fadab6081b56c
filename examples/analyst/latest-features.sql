/* What decisions of each tier were judged from: the averages of their features over the last week. A
   tier without decisions shows 0.
   Run: npm run -s trustrank -- query "$(cat examples/analyst/latest-features.sql)" */
WITH tiers AS (SELECT unnest(['A', 'B', 'C', 'D', 'REVIEW']) AS tier)
SELECT tier, coalesce(sum(stands_for), 0)::BIGINT AS decisions,
  round(weighted_avg(internal_score, stands_for)) AS internal_score,
  round(weighted_avg(mean, stands_for), 3) AS mean,
  round(weighted_avg(mean_variance, stands_for), 3) AS mean_variance,
  round(weighted_avg(x_momentum, stands_for), 3) AS momentum,
  round(weighted_avg(x_recent_failure, stands_for), 3) AS recent_failure,
  round(weighted_avg(x_stakes_novelty, stands_for), 3) AS stakes_novelty,
  max(evaluated_at) AS latest
FROM tiers LEFT JOIN (
  FROM decisions WHERE evaluated_local >= now() - INTERVAL 7 DAYS) AS d USING (tier)
GROUP BY tier ORDER BY tier;
