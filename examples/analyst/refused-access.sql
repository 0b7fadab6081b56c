/* Refused requests by reason and address: wrong keys, missing scopes, foreign namespaces. A reason
   that nobody met shows 0.
   Run: npm run -s trustrank -- query "$(cat examples/analyst/refused-access.sql)" */
WITH reasons AS (SELECT unnest(['no_key', 'malformed_key', 'unknown_key', 'wrong_secret',
  'expired_key', 'revoked_key', 'insufficient_scope', 'namespace_not_owned']) AS reason)
SELECT reason, detail->>'address' AS address, detail->>'route' AS route,
  coalesce(sum((detail->>'count')::BIGINT), 0)::BIGINT AS requests,
  max(recorded_at) AS last_recorded_at
FROM reasons LEFT JOIN audit_events ON event = 'access.denied' AND (detail->>'reason') = reason
GROUP BY ALL ORDER BY requests DESC LIMIT 20;
