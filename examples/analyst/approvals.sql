/* What share of what was asked is allowed, by day and kind? The daily counts stay when the rows of
   decisions expire. Before there are decisions each kind shows 0.
   Run: npm run -s trustrank -- query "$(cat examples/analyst/approvals.sql)" */
WITH kinds AS (SELECT unnest(['verify', 'check', 'handshake']) AS kind)
SELECT day, kind, coalesce(sum(decisions), 0)::BIGINT AS decisions,
  round(coalesce(sum(decisions) FILTER (effective = 'allow'), 0) / sum(decisions), 4) AS allowed_share,
  round(sum(stakes_total), 2) AS stakes
FROM kinds LEFT JOIN decisions_daily USING (kind)
GROUP BY day, kind ORDER BY day DESC, kind LIMIT 30;
