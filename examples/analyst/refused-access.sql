/* Refused requests by reason and address: wrong keys, missing scopes, foreign namespaces. Needs one:
   ask with a wrong key, wait a second or two.
   Run: npm run -s trustrank -- query "$(cat examples/analyst/refused-access.sql)" */
SELECT detail->>'reason' AS reason, detail->>'address' AS address, detail->>'route' AS route,
  sum((detail->>'count')::BIGINT) AS requests, max(recorded_at) AS last_recorded_at
FROM audit_events WHERE event = 'access.denied'
GROUP BY ALL ORDER BY requests DESC LIMIT 20;
