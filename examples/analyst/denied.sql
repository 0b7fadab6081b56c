/* What was denied: by which tenant it was asked, at which level, and the rule that decided. Needs
   decisions: ask for a few verdicts first (examples/curl/first-verdicts.sh).
   Run: npm run -s trustrank -- query "$(cat examples/analyst/denied.sql)" */
SELECT tenant, tool_level, coalesce(verdict, decision) AS result, log_reason, count(*) AS denied
FROM decisions WHERE effective = 'deny' AND leg = 'a_to_b'
GROUP BY ALL ORDER BY denied DESC;
