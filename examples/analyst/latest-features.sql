/* What decisions of each tier were judged from: the averages of their features over the last week. A
   tier without decisions shows 0.
   Run: npm run -s trustrank -- query "$(cat examples/analyst/latest-features.sql)" */
WITH tiers AS (SELECT unnest(['A', 'B', 'C', 'D', 'REVIEW']) AS tier)
SELECT tier, coalesce(sum(weight), 0)::BIGINT AS decisions,
  round(weighted_avg(internal_score, weight)) AS internal_score,
  round(weighted_avg(mean, weight), 3) AS mean,
  round(weighted_avg(mean_variance, weight), 3) AS mean_variance,
  round(weighted_avg(x_momentum, weight), 3) AS momentum,
  round(weighted_avg(x_recent_failure, weight), 3) AS recent_failure,
  round(weighted_avg(x_stakes_novelty, weight), 3) AS stakes_novelty,
  max(evaluated_at) AS latest
FROM tiers LEFT JOIN (
  FROM decisions WHERE evaluated_local >= now() - INTERVAL 7 DAYS) AS d USING (tier)
GROUP BY tier ORDER BY tier;
