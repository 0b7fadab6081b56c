/* Whose score moved most within a day, a week and 30 days, and which inputs of the score differ. The
   first day has nothing to compare with; after an import, or `trustrank scores rebuild`, there are earlier days.
   Run: npm run -s trustrank -- query "$(cat examples/analyst/movers.sql)" */
WITH spans AS (SELECT unnest([1, 7, 30]) AS span_days),
newest AS (FROM movers QUALIFY day = max(day) OVER (PARTITION BY span_days))
SELECT span_days, day, agent, score_before, score, change, tier_before, tier, moved, new_outcomes,
  round(failures_14d_change, 2) AS failures_14d_change
FROM spans LEFT JOIN newest USING (span_days)
QUALIFY row_number() OVER (PARTITION BY span_days ORDER BY abs(change) DESC, agent) <= 10
ORDER BY span_days, abs(change) DESC, agent;
