/* Value at risk by day, and the share of it that failed.
   Run: npm run -s trustrank -- query "$(cat examples/analyst/value-at-risk.sql)" */
SELECT day, sum(stakes_total) AS stakes, sum(stakes_failed) / sum(stakes_total) AS failed_share
FROM agents_daily GROUP BY day ORDER BY day DESC LIMIT 30;
