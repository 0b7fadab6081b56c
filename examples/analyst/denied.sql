/* What was denied at each level, and by which rule. `check` and `handshake` have no level. A level at
   which nothing was denied shows 0: ask for verdicts (examples/curl/first-verdicts.sh) to see others.
   Run: npm run -s trustrank -- query "$(cat examples/analyst/denied.sql)" */
WITH levels AS (SELECT unnest(['L0', 'L1', 'L2', 'L3', 'none']) AS level)
SELECT level, coalesce(verdict, decision) AS result, log_reason,
  coalesce(sum(d.weight), 0)::BIGINT AS denied
FROM levels LEFT JOIN decisions AS d
  ON coalesce(d.tool_level, 'none') = level AND effective = 'deny' AND leg = 'a_to_b'
GROUP BY ALL ORDER BY denied DESC, level;
